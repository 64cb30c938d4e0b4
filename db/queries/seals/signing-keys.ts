import type { Queryable, Tx } from '../../client.ts'
import type { signingKey } from '../../schema/migration.ts'

export type SigningKeyRow = typeof signingKey.$inferSelect

/** Without the private key. */
export interface ListedSigningKey extends Omit<SigningKeyRow, 'privateKey'> {
  /** Whether `findSigningKey` returns it. */
  readonly signs: boolean
}

export const listSigningKeys = async (db: Queryable): Promise<ListedSigningKey[]> => db<ListedSigningKey[]>`
  select id, public_key, created_at, retired_at, follows, vouched,
    id is not distinct from (${signingId(db)}) as signs
  from signing_key order by retired_at desc nulls first, created_at desc, id`

const signingId = (db: Queryable) =>
  db`select id from signing_key where retired_at is null order by created_at, id limit 1`

/**
 * The signing key: the one that is not retired. Of several the oldest, because a role's login may add keys: an added
 * key stops nothing.
 */
export const findSigningKey = async (db: Queryable): Promise<SigningKeyRow | undefined> => {
  const [row] = await db<SigningKeyRow[]>`select * from signing_key where id = (${signingId(db)})`
  return row
}

/** Exclusive until the transaction ends: an installation makes its first key once. */
export const lockSigningKeys = async (tx: Tx): Promise<void> => {
  await tx`select pg_advisory_xact_lock(hashtext('drover/signing-key'))`
}

export const insertSigningKey = async (
  tx: Tx,
  key: Pick<SigningKeyRow, 'id' | 'publicKey' | 'privateKey' | 'follows' | 'vouched'>,
): Promise<void> => {
  await tx`insert into signing_key (id, public_key, private_key, follows, vouched)
    values (${key.id}, ${key.publicKey}, ${key.privateKey}, ${key.follows}, ${key.vouched})`
}

/** Retires all signing keys: their private keys are removed. */
export const retireSigningKeys = async (tx: Tx): Promise<void> => {
  await tx`update signing_key set retired_at = now(), private_key = null where retired_at is null`
}
