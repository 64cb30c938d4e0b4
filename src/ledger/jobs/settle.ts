import { type Db, isDeadlock, type Tx } from '../../../db/client.ts'
import { findIntending } from '../../../db/queries/effects/close-intents.ts'
import { isCancelRequested, type JobSettlement, settleJob } from '../../../db/queries/jobs/settle-job.ts'
import { lockSignal, wasSignalled } from '../../../db/queries/jobs/wake-by-signal.ts'
import { finishJobs, type JobFinish } from '../../../db/queries/leases/finish-jobs.ts'
import { isTerminal, jobTable } from '../../domain/job/state.ts'
import { requireTransition } from '../../domain/table/state-table.ts'
import { FencedError } from '../../errors.ts'
import type { DomainChange } from '../job.ts'
import { releaseAndAdmit, releaseDropped } from './admission.ts'
import { closeIntents } from './close-intents.ts'

export interface SettledWith {
  readonly change?: DomainChange
  /** Runs before the job's own lock: for locks that others take before they cancel the job. */
  readonly lock?: DomainChange
  /** A job that goes on holds the tokens that it still needs until its next turn. */
  readonly keepsTokens?: boolean
}

/**
 * Ends a running job's turn, fenced: outcome, tokens, events and the domain's change in one transaction.
 * Throws FencedError, and writes nothing, when the epoch no longer holds.
 */
export const settle = async (
  db: Db,
  settlement: JobSettlement,
  { change, lock, keepsTokens = false }: SettledWith = {},
): Promise<void> => {
  await db.begin(async (tx) => {
    await lock?.(tx)
    const final = await endWaitBeforeItBegins(tx, settlement).then((s) => hurryCanceled(tx, s))
    // The fence before the change: it locks the row, so the domain's change runs under a lease that cannot move.
    if (!(await settleJob(tx, final))) throw new FencedError(settlement.id, settlement.epoch)
    await change?.(tx)
    const over = isTerminal(requireTransition(jobTable, 'running', final.event).to)
    if (over) await closeIntents(tx, [settlement.id], settlement.actor)
    await (keepsTokens && !over ? releaseDropped : releaseAndAdmit)(tx, [settlement.id])
  })
}

/** A signal that came while the handler decided to wait for it must not be lost. */
const endWaitBeforeItBegins = async (tx: Tx, settlement: JobSettlement): Promise<JobSettlement> => {
  const signal = settlement.wait?.signal
  if (!signal) return settlement
  await lockSignal(tx, signal)
  if (!(await wasSignalled(tx, signal, settlement.id))) return settlement
  return { ...settlement, event: 'wait-over', wait: null, reason: `${signal} came while the wait began` }
}

/** A job with a pending cancel neither waits nor rests before its next turn: that turn ends it. */
const hurryCanceled = async (tx: Tx, settlement: JobSettlement): Promise<JobSettlement> => {
  const waits = settlement.event === 'wait'
  const rests = waits || (settlement.delayMs ?? 0) > 0
  if (!rests || !(await isCancelRequested(tx, settlement))) return settlement
  return { ...settlement, ...(waits ? { event: 'wait-over' } : {}), wait: null, delayMs: 0 }
}

/** A plain success. */
export interface PlainFinish extends JobFinish {
  /** It has changed nothing outside, in this turn or an earlier one: nothing is looked for. */
  readonly touchedNothing?: boolean
}

/** Ends plain successes in one statement. Returns for each whether it was accepted (false: fenced). */
export const finishGroup = async (
  db: Db,
  finishes: readonly PlainFinish[],
  actor: string,
): Promise<readonly boolean[]> => {
  const finish = () => finishAndClose(db, finishes, actor)
  // Without a retry, one deadlock would lose all of these outcomes, and their jobs would run again.
  const accepted = await finish().catch((error: unknown) => {
    if (!isDeadlock(error)) throw error
    return finish()
  })
  return finishes.map((finish) => accepted.has(finish.id))
}

const finishAndClose = async (
  db: Db,
  finishes: readonly PlainFinish[],
  actor: string,
): Promise<ReadonlySet<string>> => {
  const touched = finishes.filter(({ touchedNothing }) => touchedNothing !== true).map(({ id }) => id)
  // Nearly always no intent is open: then the end is one statement for the whole group.
  const intending = touched.length === 0 ? [] : await findIntending(db, touched)
  if (intending.length === 0) return finishJobs(db, finishes, actor)
  return (await db.begin(async (tx) => {
    const accepted = await finishJobs(tx, finishes, actor)
    const ended = intending.filter((id) => accepted.has(id))
    if (ended.length > 0) await closeIntents(tx, ended, actor)
    return accepted
  })) as ReadonlySet<string>
}
