import { z } from 'zod'
import type { Queryable } from '../../../db/client.ts'
import { listFormerKeys } from '../../../db/queries/seals/former-keys.ts'
import type { PruneStatement, StoredSeal } from '../../../db/queries/seals/verify-seals.ts'
import { hmac, type Sealer, sameBytes } from '../../seal/seal.ts'
import { formerKeyPlace } from '../../seal/seal-places.ts'
import { pruneText, sealText } from './seal-texts.ts'

/**
 * A replaced sealing key, as far as seals of events need it: its MAC key, the last seal that it made, and that seal's
 * hash, which covers everything before. All of it is sealed with the current key, so that a person who finds the old
 * key later can sign nothing after that seal and change nothing before it.
 */
export interface FormerKey {
  readonly id: string
  /** Null: the key was lost; its seals are held by the hash alone. */
  readonly macKey: Buffer | null
  /** The newest seal when the key was replaced; 0: there was none. */
  readonly seq: number
  readonly hash: string
  /** Up to which seal events had been pruned when it was replaced. */
  readonly prunedSeq: number
}

const stored = z.object({
  mac: z.string().nullable(),
  seq: z.int(),
  hash: z.string(),
  pruned: z.int(),
})

/** The keys that can be opened: the seals of any other key then fail by their MACs. */
const readFormerKeys = async (db: Queryable, sealer: Pick<Sealer, 'open'>): Promise<FormerKey[]> => {
  const rows = await listFormerKeys(db)
  return rows.flatMap(({ id, sealed }) => {
    try {
      const { mac, seq, hash, pruned } = stored.parse(JSON.parse(sealer.open(sealed, formerKeyPlace(id))))
      return [{ id, macKey: mac === null ? null : Buffer.from(mac, 'base64'), seq, hash, prunedSeq: pruned }]
    } catch {
      return []
    }
  })
}

export const sealFormerKey = (sealer: Sealer, { id, macKey, seq, hash, prunedSeq }: FormerKey): Buffer =>
  sealer.seal(
    JSON.stringify({
      mac: macKey?.toString('base64') ?? null,
      seq,
      hash,
      pruned: prunedSeq,
    } satisfies z.infer<typeof stored>),
    formerKeyPlace(id),
  )

/** What the current and former keys of this installation have signed about the history of events. */
export interface SealKeys {
  /** The newest seal at each replacement of a key. */
  readonly heads: readonly { readonly seq: number; readonly hash: string }[]
  /** Up to this seal a key was lost: the hash alone holds the seals. 0: none was lost. */
  readonly unprovedTo: number
  proveSeal(seal: StoredSeal): boolean
  proveStatement(statement: PruneStatement): boolean
}

export const sealKeys = async (db: Queryable, sealer: Pick<Sealer, 'isMac' | 'open'>): Promise<SealKeys> => {
  const former = await readFormerKeys(db, sealer)
  const prove = (
    text: Buffer,
    mac: Buffer,
    holds: (key: FormerKey) => boolean,
    lost: (key: FormerKey) => boolean,
  ) =>
    sealer.isMac(text, mac) ||
    former.some((key) =>
      key.macKey === null ? lost(key) : holds(key) && sameBytes(hmac(key.macKey, text), mac),
    )
  return {
    heads: former.filter(({ seq }) => seq > 0),
    unprovedTo: Math.max(0, ...former.filter(({ macKey }) => macKey === null).map(({ seq }) => seq)),
    proveSeal: (seal) => {
      const held = ({ seq }: FormerKey) => seal.seq <= seq
      return prove(sealText(seal, seal, seal.sealedAtMs), seal.mac, held, held)
    },
    // The hash of the chain holds no statements: without the key, only those that existed when it was lost count.
    proveStatement: (said) =>
      prove(
        pruneText(said),
        said.mac,
        ({ seq }) => said.toSeq <= seq,
        ({ prunedSeq }) => said.toSeq <= prunedSeq,
      ),
  }
}
