import type { Queryable } from '../../../db/client.ts'
import { installationId } from '../../ledger/installation.ts'

/** The tags of our machines on a target: the entry and the installation. */
export const ownerOfEntry = async (db: Queryable, entryId: string): Promise<Record<string, string>> => ({
  'drover.entry': entryId,
  'drover.install': await installationId(db),
})
