import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../../../db/client.ts'
import { ensureLedgerFact } from '../../../db/queries/events/ensure-ledger-fact.ts'

/** The tags of our machines on a target: the entry and the installation. */
export const ownerOfEntry = async (db: Queryable, entryId: string): Promise<Record<string, string>> => ({
  'drover.entry': entryId,
  'drover.install': await installationId(db),
})

/** The id of this installation: two installations with the same target leave each other's machines alone. */
export const installationId = (db: Queryable): Promise<string> =>
  ensureLedgerFact(db, 'installation-id', uuidv7())
