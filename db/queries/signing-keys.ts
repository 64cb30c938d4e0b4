import type { Queryable, Tx } from '../client.ts'
import type { signingKey } from '../schema/migration.ts'

export type SigningKeyRow = typeof signingKey.$inferSelect

/** Without the private half. */
export const listSigningKeys = async (db: Queryable): Promise<Omit<SigningKeyRow, 'privateKey'>[]> =>
  db<
    Omit<SigningKeyRow, 'privateKey'>[]
  >`select id, public_key, created_at from signing_key order by created_at desc, id`

/** The newest key, which is the one that signs. */
export const findSigningKey = async (db: Queryable): Promise<SigningKeyRow | undefined> => {
  const [row] = await db<SigningKeyRow[]>`select * from signing_key order by created_at desc, id limit 1`
  return row
}

/** One at a time until the transaction ends: an installation makes its first key once. */
export const lockSigningKeys = async (tx: Tx): Promise<void> => {
  await tx`select pg_advisory_xact_lock(hashtext('drover/signing-key'))`
}

export const insertSigningKey = async (
  tx: Tx,
  key: { readonly id: string; readonly publicKey: Buffer; readonly privateKey: Buffer },
): Promise<void> => {
  await tx`insert into signing_key (id, public_key, private_key)
    values (${key.id}, ${key.publicKey}, ${key.privateKey})`
}
