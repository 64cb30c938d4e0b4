import { expect, test } from 'vitest'
import type { Db } from '../../db/client.ts'
import { onEachBell } from '../support/bells.ts'
import { addLoad, allEnded, countStates, expectWhole, someDone } from '../support/load.ts'
import { expectAlive, startRoles } from '../support/roles.ts'

const batchJobs = 20_000
const urgentJobs = 9

await onEachBell('a batch of 20,000 jobs', (bell) => {
  // promise: fair-share
  test('does not delay a single high-priority job of another lane by more than a second', async () => {
    const { conductors, workers } = await startRoles({ ...bell.env, DROVER_CONCURRENCY: 'self-test=8' })
    const { db } = bell.database
    const batch = await addLoad(db, { jobs: batchJobs, steps: 1, stepMs: 10, lane: 'batch/large' })
    await someDone(db, batch, 100)
    const urgent: string[] = []
    for (let at = 0; at < urgentJobs; at += 1) {
      const ids = await addLoad(db, { jobs: 1, lane: 'batch/urgent', priority: 50 })
      await allEnded(db, ids)
      urgent.push(...ids)
    }
    const waits = await waitsOf(db, urgent)
    console.info(
      `urgent among ${batchJobs}: waited ${waits.map((wait) => wait.ms).join(', ')} ms; ` +
        `overtaken by ${waits.map((wait) => wait.overtaken).join(', ')} jobs; ` +
        `unstarted then ${waits.map((wait) => wait.unstarted).join(', ')}`,
    )
    // Seconds depend on the machine; who goes first does not.
    expect(waits[0]?.unstarted).toBeGreaterThan(batchJobs * 0.9)
    expect(median(waits.map((wait) => wait.overtaken))).toBeLessThan(batchJobs * 0.05)
    expect(median(waits.map((wait) => wait.ms))).toBeLessThan(1_000 * slack)
    // The rest of the batch would only take time: nothing of it may have gone wrong so far.
    const { ready = 0, running = 0, succeeded = 0 } = await countStates(db, batch)
    expect(ready + running + succeeded).toBe(batchJobs)
    await expectWhole(db, urgent)
    expectAlive(...conductors, ...workers)
  })
})

/** The bound is a second on an idle machine; this one may be shared. */
const slack = 5

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.POSITIVE_INFINITY

interface Wait {
  readonly ms: number
  /** Jobs of the batch that started while the urgent one stood in line. */
  readonly overtaken: number
  /** Jobs of the batch that had not started when the urgent one did. */
  readonly unstarted: number
}

const waitsOf = (db: Db, urgent: readonly string[]): Promise<Wait[]> =>
  db<Wait[]>`
    select (extract(epoch from u.started_at - u.created_at) * 1000)::int as ms,
      (select count(*)::int from job b where b.lane = 'batch/large' and b.started_at between u.created_at and u.started_at)
        as overtaken,
      (select count(*)::int from job b where b.lane = 'batch/large'
        and (b.started_at is null or b.started_at > u.started_at)) as unstarted
    from job u where u.id = any(${urgent as string[]}::uuid[]) order by u.created_at`
