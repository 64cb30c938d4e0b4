import type { Db } from '../../../db/client.ts'
import { takeDueDebts, turnEffectsIntoDebt } from '../../../db/queries/effects/effects.ts'
import { loseSilentWorkers } from '../../../db/queries/fleet/workers.ts'
import { findSilentJobs, takeBackJobs } from '../../../db/queries/leases/expire-leases.ts'
import { failOverdueJobs, findOverdueJobs } from '../../../db/queries/leases/fail-past-deadline.ts'
import { wakeTimedOutWaits } from '../../../db/queries/leases/wake-timed-out-waits.ts'
import type { Clock } from '../../clock.ts'
import { limits } from '../../config/config.ts'
import { crashPoint } from '../../crash-point.ts'
import { pastDeadline, whyGivenUp } from '../../domain/job/ends.ts'
import { jobKinds } from '../../domain/job/kinds/registry.ts'
import { backoffMs } from '../../domain/job/retry.ts'
import type { Logger } from '../../process/log.ts'
import { Loop, type Service } from '../../process/service.ts'
import { lapseReservations, readmitAll, releaseAndAdmit } from '../jobs/admission.ts'
import { closeForgottenIntents } from '../jobs/close-intents.ts'
import { enqueue } from '../jobs/enqueue.ts'

export interface SweepOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly silentMs: number
  /** Called when a sweep made jobs due. */
  readonly onDue: () => void
}

const sweepBatch = 500
const expireMs = 250
const reservedMs = 15_000
const intentsMs = 15_000
const debtPauseMs = 60_000
const debtCapMs = 3_600_000

const lostMax: ReadonlyMap<string, number> = new Map(jobKinds.map((kind) => [kind.kind, kind.retry.lostMax]))

const keepers: ReadonlySet<string> = new Set(
  jobKinds.filter(({ keepsTokens }) => keepsTokens).map(({ kind }) => kind),
)

/** Takes jobs back from silent workers, and passes on their tokens. */
export const sweepLeases = async (db: Db): Promise<number> => {
  crashPoint('conductor-before-sweep')
  const expired = await db.begin(async (tx) => {
    const silent = await findSilentJobs(tx, sweepBatch)
    const jobs = silent.map((job) => ({ ...job, error: whyGivenUp(job.lost, lostMax.get(job.kind)) }))
    await takeBackJobs(tx, jobs)
    if (jobs.length > 0) crashPoint('conductor-mid-sweep')
    const failed = jobs.filter(({ error }) => error !== undefined).map((job) => job.id)
    const why = 'the job failed while no worker held it'
    if (failed.length > 0) await turnEffectsIntoDebt(tx, failed, { why, delayMs: 0 })
    const lost = jobs.filter((job) => job.tokens.length > 0)
    const goesOn = ({ kind, error }: (typeof jobs)[number]) => error === undefined && keepers.has(kind)
    await releaseAndAdmit(
      tx,
      lost.filter((job) => !goesOn(job)).map((job) => job.id),
    )
    return jobs.length
  })
  crashPoint('conductor-after-sweep')
  return expired as number
}

/**
 * Fails jobs that did not end in time; what they left outside becomes debt. A running handler notices with its next
 * heartbeat and may be in the middle of a call until then, so its debts rest for `graceMs`.
 */
export const sweepDeadlines = async (db: Db, graceMs: number): Promise<number> =>
  (await db.begin(async (tx) => {
    const found = await findOverdueJobs(tx, sweepBatch)
    if (found.length === 0) return 0
    await failOverdueJobs(
      tx,
      found.map(({ id, state }) => ({ id, error: pastDeadline(state) })),
    )
    const overdue = found.map((job) => ({ ...job, ran: job.state === 'running' }))
    for (const ran of [true, false]) {
      const ids = overdue.filter((job) => job.ran === ran).map((job) => job.id)
      const why = 'the job did not end by its deadline'
      if (ids.length > 0) await turnEffectsIntoDebt(tx, ids, { why, delayMs: ran ? graceMs : 0 })
    }
    await releaseAndAdmit(
      tx,
      // A job that ran may still be active: its tokens lapse when it must have noticed (lapseReservations).
      overdue.filter((job) => job.tokens.length > 0 && !job.ran).map((job) => job.id),
    )
    return overdue.length
  })) as number

/** Sends a job for every debt that is due; each further try of a debt comes later than the last. */
export const sweepDebts = async (db: Db): Promise<number> =>
  (await db.begin(async (tx) => {
    const debts = await takeDueDebts(tx, sweepBatch, debtPauseMs)
    await enqueue(
      tx,
      debts.map((debt) => ({
        kind: 'settle-debt',
        payload: { effect_id: debt.id },
        subject: { type: 'effect', id: debt.id },
        // A stalled undo depends on its platform, and takes no more than that platform's share.
        lane: `debts/${debt.platform}`,
        priority: -10,
        idempotencyKey: `settle-debt/${debt.id}/${debt.attempts}`,
        createdBy: 'conductor',
      })),
    )
    return debts.length
  })) as number

/** Closes intents of jobs that ended without closing them: ended by a worker of an older version. */
export const sweepIntents = async (db: Db): Promise<number> =>
  (await db.begin((tx) => closeForgottenIntents(tx, sweepBatch, 'conductor'))) as number

/** How long a debt rests after a failed try to settle it. */
export const debtDelayMs = (attempts: number, random: number): number =>
  backoffMs(attempts, 10_000, debtCapMs, random)

/** Every sweep as a service of its own: a slow or stuck sweep does not delay the others. */
export const createSweeps = (options: SweepOptions): Service[] => {
  const sweep = (name: string, intervalMs: number, run: () => Promise<number>): Loop =>
    new Loop({
      name,
      intervalMs,
      clock: options.clock,
      log: options.log,
      runOnce: async () => {
        const found = await run()
        if (found === 0) return false
        options.log.info({ sweep: name, found }, 'sweep')
        options.onDue()
        return found >= sweepBatch
      },
    })
  return [
    sweep('leases', expireMs, () => sweepLeases(options.db)),
    sweep('deadlines', limits.conductorTickMs, () => sweepDeadlines(options.db, options.silentMs)),
    sweep('waits', limits.conductorTickMs, () => wakeTimedOutWaits(options.db, sweepBatch)),
    sweep('admission', limits.conductorTickMs, async () => {
      await lapseReservations(options.db, reservedMs)
      return readmitAll(options.db)
    }),
    sweep('debts', limits.conductorTickMs, () => sweepDebts(options.db)),
    sweep('intents', intentsMs, () => sweepIntents(options.db)),
    sweep(
      'workers',
      limits.conductorTickMs,
      async () => (await loseSilentWorkers(options.db, options.silentMs)).length,
    ),
  ]
}
