import type { Db } from '../../db/client.ts'
import { waiveOpenEffect } from '../../db/queries/effects/effects.ts'
import type { CancelRequest } from '../../db/queries/jobs/cancel-job.ts'
import { type CancelOutcome, cancelInTransaction, nudgeCancel } from '../../src/ledger/jobs/cancel.ts'
import { nudge } from '../../src/ledger/jobs/nudge.ts'
import { type RedriveOutcome, redriveInTransaction } from '../../src/ledger/jobs/redrive.ts'

/** The verbs of people, as the API does them, each in a transaction of its own. */

export const requestCancel = async (
  db: Db,
  jobId: string,
  request: CancelRequest,
): Promise<CancelOutcome> => {
  const outcome = (await db.begin((tx) => cancelInTransaction(tx, jobId, request))) as CancelOutcome
  nudgeCancel(db, outcome)
  return outcome
}

export const redrive = async (db: Db, jobId: string, by: { by: string }): Promise<RedriveOutcome> => {
  const outcome = (await db.begin((tx) => redriveInTransaction(tx, jobId, by))) as RedriveOutcome
  if (outcome.outcome === 'ready') nudge(db)
  return outcome
}

export const waiveEffect = async (
  db: Db,
  effectId: string,
  waiver: { by: string; reason: string },
): Promise<boolean> => (await db.begin((tx) => waiveOpenEffect(tx, { id: effectId, ...waiver }))) as boolean
