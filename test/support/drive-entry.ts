import { advanceEntries } from '../../src/migration/batch/scheduler.ts'
import type { Logger } from '../../src/process/log.ts'
import { entryOf } from './entry-world.ts'
import { quietLog } from './events.ts'
import { jobOf } from './ledger.ts'
import type { VerifyWorld } from './verify-world.ts'

/**
 * The conductor's look at every entry, now. Where it could not decide, the test fails. `endedWithinSeconds`: how far
 * back it sees the ends of jobs.
 */
export const lookNow = async (
  { db }: Pick<VerifyWorld, 'db'>,
  options: { readonly endedWithinSeconds?: number } = {},
): Promise<void> => {
  const failed: unknown[] = []
  const log = Object.assign(Object.create(quietLog) as Logger, {
    warn: ({ err }: { readonly err: unknown }) => void failed.push(err),
  })
  // Moments are stored rounded to the millisecond: one of now may lie ahead.
  await db`update entry set look_at = now() - interval '1 second', tries = 0`
  await advanceEntries({ db, log, ...options })
  if (failed.length > 0) throw new AggregateError(failed, 'The scheduler could not decide.')
}

/** What conductor and workers do for an entry, turn by turn, until it rests in one of these states. */
export const driveEntry = async (
  world: Pick<VerifyWorld, 'db' | 'worker'>,
  id: string,
  states: readonly string[],
): Promise<void> => {
  for (let turns = 0; turns < 40; turns += 1) {
    const { jobId, state } = await entryOf(world.db, id)
    const job = jobId === null ? undefined : await jobOf(world.db, jobId)
    if (job && job.finishedAt === null) await world.worker.finish(job.id)
    else if (states.includes(state) && jobId === null) return
    else await lookNow(world)
  }
  const { state, stage, reason, message } = await entryOf(world.db, id)
  throw new Error(
    `Entry ${id} did not come to ${states.join(' or ')}: ${state}/${stage}, ${reason}: ${message}`,
  )
}
