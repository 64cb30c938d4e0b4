import type { Queryable } from '../../../db/client.ts'
import { installationId } from '../../ledger/installation.ts'

/** What our machines on a target carry: which entry they are of, and which installation made them. */
export const ownerOfEntry = async (db: Queryable, entryId: string): Promise<Record<string, string>> => ({
  'drover.entry': entryId,
  'drover.install': await installationId(db),
})
