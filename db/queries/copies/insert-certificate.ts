import type { Tx } from '../../client.ts'
import type { certificate } from '../../schema/migration.ts'

export const insertCertificate = async (
  tx: Tx,
  row: Omit<typeof certificate.$inferSelect, 'createdAt'>,
): Promise<void> => {
  await tx`
    insert into certificate (id, entry_id, instance_id, batch_name, instance_name, document, signature, key_id)
    values (${row.id}::uuid, ${row.entryId}::uuid, ${row.instanceId}::uuid, ${row.batchName}, ${row.instanceName},
      ${JSON.stringify(row.document)}::text::jsonb, ${row.signature}, ${row.keyId})`
}
