import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../../../db/client.ts'
import { ensureLedgerFact } from '../../../db/queries/events/ensure-ledger-fact.ts'

/** What our machines on a target carry: which entry they are of, and which installation made them. */
export const ownerOfEntry = async (db: Queryable, entryId: string): Promise<Record<string, string>> => ({
  'drover.entry': entryId,
  'drover.install': await installationId(db),
})

/** This installation's own name for itself: two of them on one target do not touch each other's machines. */
export const installationId = (db: Queryable): Promise<string> =>
  ensureLedgerFact(db, 'installation-id', uuidv7())
