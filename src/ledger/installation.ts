import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../../db/client.ts'
import { ensureLedgerFact } from '../../db/queries/events/ensure-ledger-fact.ts'

/** This installation's own name for itself: two of them on one target do not touch what is the other's. */
export const installationId = (db: Queryable): Promise<string> =>
  ensureLedgerFact(db, 'installation-id', uuidv7())
