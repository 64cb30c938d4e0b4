import type { SealRange } from '../../../db/queries/seals/seal-events.ts'
import type { PruneStatement } from '../../../db/queries/seals/verify-seals.ts'
import type { Sealer } from '../../seal/seal.ts'

/** Signs with the current key of this installation. */
export type Signer = Pick<Sealer, 'mac'>

/**
 * The text that the key signs: not only the hash but every column of the link, so that a link with pruned events can
 * still be proved.
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

/** The text that the key signs when retention removes events. The hash of its last seal ties it to one chain. */
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
