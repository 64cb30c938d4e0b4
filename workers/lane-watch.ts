import { isLanePaused } from '../db/queries/is-lane-paused.ts'
import { systemClock } from '../src/clock.ts'
import { type JobContext, ReleaseRequest } from './context.ts'

const lookEveryMs = 500

/**
 * A safe point for long work: lets go, uncharged, also when somebody has stopped the job's lane. Asks Postgres at most
 * twice a second, however often it is called.
 */
export const laneWatch = (ctx: Pick<JobContext, 'safePoint' | 'job' | 'db'>): (() => Promise<void>) => {
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let paused = false
  return async () => {
    ctx.safePoint()
    const now = systemClock.monotonicMs()
    if (!paused && now - lookedAtMs >= lookEveryMs) {
      lookedAtMs = now
      paused = ctx.job.lane !== null && (await isLanePaused(ctx.db, ctx.job.lane))
      ctx.safePoint()
    }
    if (paused) throw new ReleaseRequest(`${ctx.job.lane} is stopped`)
  }
}
