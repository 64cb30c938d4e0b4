import { expect } from 'vitest'
import type { TestBatch } from './batch-world.ts'
import { ownSnapshots } from './batch-world.ts'
import { checkCopies } from './copy-invariants.ts'
import { type EntryWorld, overlapsOf } from './entry-world.ts'
import type { Armed, Fleet } from './fleet.ts'
import { checkInvariants } from './invariants.ts'
import { checkMigration } from './migration-invariants.ts'
import type { TestProcess } from './processes.ts'
import { until } from './wait.ts'

const deathMs = 8_000
const patienceMs = 400_000

/** An armed worker has this long to come to its point; then it is killed wherever it is. */
export const dies = async (worker: TestProcess, orEnough: () => boolean = () => false): Promise<void> => {
  const gone = () => !worker.running || orEnough()
  await until(gone, { what: 'the worker to reach its point', withinMs: deathMs }).catch(() => worker.crash())
}

/**
 * Workers that die one after another, side by side as many as there are lists, as long as there is work. Each list
 * ends with a worker that lives.
 */
export const dieAndReturn = async (
  fleet: Fleet,
  hands: readonly (readonly Armed[])[],
  enough: () => boolean,
): Promise<void> => {
  await Promise.all(
    hands.map(async (points) => {
      for (const point of points) if (!enough()) await dies(await fleet.worker(point), enough)
      await fleet.worker()
    }),
  )
}

/** Nobody waits out the pauses between tries: time passes faster for what is put off. */
const hurry = async ({ db }: EntryWorld): Promise<void> => {
  await db`update job set run_after = now(), bell = 'due' where state = 'ready' and run_after > now()`
  await db`update entry set look_at = now(), tries = 0
    where look_at > now() and job_id is null and state not in ('finished', 'error', 'canceled')`
  await db`update effect set next_try_at = now() where state = 'debt' and next_try_at > now()`
}

/** Waits in a hurry; says how entries, jobs and effects stand when it is in vain. */
export const hurryUntil = async (
  world: EntryWorld,
  what: string,
  condition: () => Promise<boolean>,
): Promise<void> => {
  const look = async () => {
    await hurry(world)
    return condition()
  }
  await until(look, { what, withinMs: patienceMs, everyMs: 250 }).catch(async (error: Error) => {
    const { db } = world
    const entries = await db`
      select facts ->> 'ref' as ref, state, stage, reason, message from entry where state <> 'finished'`
    const jobs = await db`
      select id, kind, state, error, wait_reason, run_after from job where finished_at is null`
    const effects = await db`
      select kind, name, state, attempts, error from effect where state not in ('done', 'undone')`
    throw new Error(`${error.message} Now: ${JSON.stringify({ entries, jobs, effects }, null, 1)}`)
  })
}

/** Waits until these machines' entries are in these states. */
export const settles = (
  world: EntryWorld,
  batch: TestBatch,
  wanted: Readonly<Record<string, string>>,
): Promise<void> =>
  hurryUntil(world, 'the entries to come where they belong', async () => {
    const seen = new Map((await batch.entries()).map(({ facts, state }) => [facts.ref, state]))
    return Object.entries(wanted).every(([ref, state]) => seen.get(ref) === state)
  })

/** Nothing is under way or owed any more, nothing is left behind, and no law was broken. */
export const expectClean = async (world: EntryWorld): Promise<void> => {
  const { db, lab } = world
  await hurryUntil(world, 'all to be put right', async () => {
    const [left] = await db<{ count: number }[]>`
      select ((select count(*) from job where finished_at is null)
        + (select count(*) from effect where state not in ('done', 'undone')))::int as count`
    return left?.count === 0
  })
  expect(await overlapsOf(lab)).toEqual([])
  expect(await ownSnapshots(world)).toEqual([])
  expect(await checkMigration(db)).toEqual([])
  expect(await checkCopies(db, lab)).toEqual([])
  expect(await checkInvariants(db)).toEqual([])
}
