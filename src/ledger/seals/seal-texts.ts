import type { SealRange } from '../../../db/queries/seals/seal-events.ts'
import type { PruneStatement } from '../../../db/queries/seals/verify-seals.ts'
import type { Sealer } from '../../seal/seal.ts'

/** Signs with this installation's key of today. */
export type Signer = Pick<Sealer, 'mac'>

/**
 * What the key signs: not the hash alone but every column of the link, so that a link whose events were pruned
 * can still be proved.
 */
export const sealText = (
  range: SealRange,
  digest: { readonly events: number; readonly hash: Buffer; readonly version: number },
  atMs: number,
): Buffer =>
  Buffer.from(
    [
      `drover-seal-${digest.version}`,
      range.seq,
      range.era,
      range.fromXid,
      range.toXid,
      digest.events,
      atMs,
      range.previousHash.toString('hex'),
      digest.hash.toString('hex'),
    ].join('\n'),
  )

/** What the key signs when retention takes events away. The hash of its last seal ties it to one chain. */
export const pruneText = (statement: Omit<PruneStatement, 'mac'>): Buffer =>
  Buffer.from(
    [
      'drover-prune-1',
      statement.kind,
      statement.fromSeq,
      statement.toSeq,
      statement.throughHash.toString('hex'),
      statement.keptDays,
      statement.atMs,
      statement.prunedBy,
    ].join('\n'),
  )
