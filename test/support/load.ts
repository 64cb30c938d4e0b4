import { v7 as uuidv7 } from 'uuid'
import { expect } from 'vitest'
import type { Db } from '../../db/client.ts'
import { enqueue } from '../../src/ledger/jobs/enqueue.ts'
import { nudge } from '../../src/ledger/jobs/nudge.ts'
import { checkInvariants } from './invariants.ts'
import { until } from './wait.ts'

export interface LoadOptions {
  readonly jobs: number
  readonly steps?: number
  readonly stepMs?: number
  readonly effects?: number
  readonly lane?: string
  readonly priority?: number
}

/** Adds self-test jobs, each with a subject of its own. Returns their ids. */
export const addLoad = async (db: Db, options: LoadOptions): Promise<string[]> => {
  const { jobs, lane = 'load', priority = 0, steps = 0, stepMs = 0, effects = 0 } = options
  const added = await db.begin((tx) =>
    enqueue(
      tx,
      Array.from({ length: jobs }, () => ({
        kind: 'self-test',
        payload: { steps, step_ms: stepMs, effects },
        subject: { type: 'self-test', id: uuidv7() },
        lane,
        priority,
        createdBy: 'test',
      })),
    ),
  )
  nudge(db)
  return (added as { id: string }[]).map((job) => job.id)
}

/** How many of these jobs are in each state. */
export const countStates = async (db: Db, ids: readonly string[]): Promise<Record<string, number>> => {
  const rows = await db<{ state: string; jobs: number }[]>`
    select state, count(*)::int as jobs from job where id = any(${ids as string[]}::uuid[]) group by state`
  return Object.fromEntries(rows.map((row) => [row.state, row.jobs]))
}

/** Waits until at least `jobs` of them have succeeded: the moment to break something under load. */
export const someDone = (db: Db, ids: readonly string[], jobs: number, withinMs = 120_000): Promise<number> =>
  until(
    async () => {
      const { succeeded = 0 } = await countStates(db, ids)
      return succeeded >= jobs ? succeeded : 0
    },
    { what: `${jobs} jobs to be done`, withinMs },
  )

/** Waits until all of them have ended, in whatever way. Says how long that took. */
export const allEnded = async (db: Db, ids: readonly string[], withinMs = 150_000): Promise<number> => {
  const beganMs = performance.now()
  let states: Record<string, number> = {}
  const { error } = await until(
    async () => {
      states = await countStates(db, ids)
      const ended = (states.succeeded ?? 0) + (states.failed ?? 0) + (states.canceled ?? 0)
      return ended === ids.length ? { error: undefined } : undefined
    },
    { what: `${ids.length} jobs to end`, withinMs, everyMs: 50 },
  ).catch((cause: Error) => ({ error: cause }))
  if (error) throw new Error(`${error.message} They are: ${JSON.stringify(states)}.`, { cause: error })
  return Math.round(performance.now() - beganMs)
}

/**
 * Nothing lost, nothing repeated: every job succeeded, with one accepted outcome, its effects were made once
 * each, and the checker finds nothing wrong in the whole database, but for sentences that are `allowed`.
 */
export const expectWhole = async (
  db: Db,
  ids: readonly string[],
  effects = 0,
  allowed = /^(?!)/,
): Promise<void> => {
  expect(await countStates(db, ids)).toEqual({ succeeded: ids.length })
  const outcomes = await db<{ outcomes: number }[]>`
    select count(*)::int as outcomes from event
    where type = 'job.succeeded' and job_id = any(${ids as string[]}::uuid[]) group by job_id having count(*) > 1`
  expect(outcomes, 'jobs with more than one accepted outcome').toEqual([])
  const calls = await db<{ made: number; names: number; removed: number }[]>`
    select count(*) filter (where action = 'made')::int as made, count(distinct name)::int as names,
      count(*) filter (where action = 'removed')::int as removed
    from self_test.call where job_id = any(${ids as string[]}::uuid[])`
  const wanted = ids.length * effects
  expect(calls, 'effects').toEqual([{ made: wanted, names: wanted, removed: 0 }])
  expect((await checkInvariants(db)).filter((sentence) => !allowed.test(sentence))).toEqual([])
}

/** The longest time in which no job of the load was claimed while some still could be, in milliseconds. */
export const largestGap = async (db: Db, ids: readonly string[]): Promise<number> => {
  const [row] = await db<{ gap: number }[]>`
    select coalesce(max(gap), 0)::int as gap from (
      select extract(epoch from at - lag(at) over (order by at)) * 1000 as gap from event
      where type = 'job.running' and job_id = any(${ids as string[]}::uuid[])) g`
  return row?.gap ?? 0
}
