import type { Queryable } from '../../client.ts'
import type { certificate } from '../../schema/migration.ts'

/** A certificate with the public key of its signature. */
export type StoredCertificate = typeof certificate.$inferSelect & { readonly publicKey: Buffer }

export interface CertificateFilter {
  readonly batch?: string | undefined
  readonly instanceId?: string | undefined
}

const columns = (db: Queryable) => db`
  c.id, c.entry_id, c.instance_id, c.batch_name, c.instance_name, c.document, c.signature, c.key_id, k.public_key,
  c.created_at from certificate c join signing_key k on k.id = c.key_id`

export const readCertificate = async (db: Queryable, id: string): Promise<StoredCertificate | undefined> => {
  const [row] = await db<StoredCertificate[]>`select ${columns(db)} where c.id = ${id}::uuid`
  return row
}

/** Certificates, the newest first. */
export const listCertificates = async (
  db: Queryable,
  filter: CertificateFilter,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<StoredCertificate[]> => db<StoredCertificate[]>`
  select ${columns(db)}
  where ${filter.batch === undefined ? db`true` : db`c.batch_name = ${filter.batch}`}
    and ${filter.instanceId === undefined ? db`true` : db`c.instance_id = ${filter.instanceId}::uuid`}
    and ${page.before === undefined ? db`true` : db`c.id < ${page.before}::uuid`}
  order by c.id desc limit ${page.limit}`
