import { randomUUID } from 'node:crypto'
import { type Db, openDb } from '../../../db/client.ts'
import { markRung } from '../../../db/queries/bell/mark-rung.ts'
import { findDueJobs } from '../../../db/queries/jobs/find-due-jobs.ts'
import { claimJobs } from '../../../db/queries/leases/claim-jobs.ts'
import { finishJobs } from '../../../db/queries/leases/finish-jobs.ts'
import { enqueue } from '../../../src/ledger/jobs/enqueue.ts'
import { say, sayBar, saySection, sayTable, shortNumber } from '../report.ts'
import { median } from '../samples.ts'
import type { Bench } from './contender.ts'
import { createLedger } from './fleet.ts'

const sides = ['empty', 'full'] as const
type Side = (typeof sides)[number]
const steps = ['enqueue', 'find due', 'mark rung', 'claim', 'finish'] as const
type Step = (typeof steps)[number]
const groups = [1, 50] as const

type Samples = Record<Side, Record<Step, number[]>>

/** Whether a long past makes the present slow: the verbs of a job's life on an empty and on a full table. */
export const runFinishedJobs = async (bench: Bench): Promise<void> => {
  const { finished, latencySamples } = bench.options
  saySection(
    `${finished} finished jobs in the table: median milliseconds of ${latencySamples} calls, interleaved`,
  )
  if (finished < 5_000_000)
    say('Fewer than the 5,000,000 of the design: BENCH_FINISHED or --quick set it so.')
  const dbs = await openSides(bench, finished)
  const ratios: number[] = []
  for (const group of groups) {
    const samples = newSamples()
    for (let at = 0; at < latencySamples + 10; at += 1)
      for (const side of at % 2 === 0 ? sides : [...sides].reverse()) {
        const times = await liveThrough(dbs[side], group)
        // The first calls plan and warm up.
        if (at >= 10) for (const step of steps) samples[side][step].push(times[step])
      }
    sayComparison(group, samples)
    ratios.push(median(samples.full.claim) / median(samples.empty.claim))
  }
  for (const side of sides) {
    await dbs[side].end({ timeout: 5 })
    await bench.postgres.dropDatabase(`past_${side}`)
  }
  sayBar({ name: 'claim-with-finished', measured: Math.max(...ratios), bar: 1.2, atLeast: false, unit: 'x' })
}

const openSides = async (bench: Bench, finished: number): Promise<Record<Side, Db>> => {
  const open = async (side: Side) =>
    openDb({
      // As a worker does.
      planOnce: true,
      url: await createLedger(bench.postgres, `past_${side}`),
      max: 1,
      applicationName: 'drover-bench',
      statementMs: 3_600_000,
    })
  const dbs = { empty: await open('empty'), full: await open('full') }
  const start = performance.now()
  await fill(dbs.full, finished)
  say(`filled in ${((performance.now() - start) / 1_000).toFixed(0)} s, ${await sizeOf(dbs.full)}`)
  for (const side of sides) await dbs[side]`vacuum analyze`
  await bench.postgres.admin`checkpoint`
  return dbs
}

const chunk = 250_000

/** Rows as a year of work leaves them. The indexes are made afterwards, which is ten times as fast. */
const fill = async (db: Db, finished: number): Promise<void> => {
  const indexes = await db<{ name: string; definition: string }[]>`
    select indexname as name, indexdef as definition from pg_indexes
    where schemaname = 'public' and tablename = 'job' and indexname <> 'job_pkey'`
  for (const { name } of indexes) await db`drop index ${db(name)}`
  await db`set synchronous_commit = off`
  for (let from = 1; from <= finished; from += chunk) {
    const to = Math.min(finished, from + chunk - 1)
    await db`
      insert into job (id, kind, subject_type, subject_id, payload, payload_version, state, bell, lane, publish,
        published_at, lease_epoch, worker_id, result, created_by, created_at, claimed_at, started_at, finished_at)
      select uuidv7(at - now()), 'self-test', 'bench', 'old-' || n, '{"outcome":"succeed"}', 1, 'succeeded', 'rung',
        'batch/old-' || n % 200, 2, at, 1, gen_random_uuid(), '{"steps":0}', 'bench', at, at, at,
        at + interval '1 second'
      from (select n, now() - (${finished} - n) * interval '6 seconds' as at
            from generate_series(${from}::int, ${to}::int) n) past`
  }
  await db`set synchronous_commit = on`
  for (const { definition } of indexes) await db.unsafe(definition)
}

const sizeOf = async (db: Db): Promise<string> => {
  const [row] = await db<{ heap: string; indexes: string }[]>`
    select pg_size_pretty(pg_table_size('job')) as heap, pg_size_pretty(pg_indexes_size('job')) as indexes`
  return `${row?.heap} of rows and ${row?.indexes} of indexes`
}

const newSamples = (): Samples => {
  const side = () => Object.fromEntries(steps.map((step) => [step, []])) as unknown as Record<Step, number[]>
  return { empty: side(), full: side() }
}

const workerId = randomUUID()

/** One group of jobs from enqueue to finish, every verb timed. */
const liveThrough = async (db: Db, group: number): Promise<Record<Step, number>> => {
  const times: Partial<Record<Step, number>> = {}
  const timed = async <Value>(step: Step, work: () => Promise<Value>): Promise<Value> => {
    const start = performance.now()
    const value = await work()
    times[step] = performance.now() - start
    return value
  }
  const jobs = Array.from({ length: group }, (_, at) => ({
    kind: 'self-test',
    payload: {},
    subject: { type: 'bench', id: String(at) },
    createdBy: 'bench',
  }))
  await timed('enqueue', () => db.begin((tx) => enqueue(tx, jobs)))
  const due = await timed('find due', () =>
    findDueJobs(db, { windows: [{ kind: 'self-test', window: 400, slots: null }], silentMs: 10_000 }),
  )
  await timed('mark rung', () => markRung(db, due))
  const asks = due.map((job) => ({ id: job.id, generation: job.generation, version: 1 }))
  const claimed = await timed('claim', () => claimJobs(db, asks, { workerId, leaseMs: 15_000 }))
  if (claimed.length !== group) throw new Error(`${claimed.length} of ${group} jobs were claimed.`)
  await timed('finish', () =>
    finishJobs(
      db,
      claimed.map((job) => ({ id: job.id, epoch: job.leaseEpoch, result: null })),
      'bench',
    ),
  )
  return times as Record<Step, number>
}

const sayComparison = (group: number, samples: Samples): void =>
  sayTable([
    [`groups of ${group}`, ...sides, 'full/empty'],
    ...steps.map((step) => {
      const [empty, full] = [median(samples.empty[step]), median(samples.full[step])]
      return [step, empty.toFixed(3), full.toFixed(3), `${shortNumber(full / empty)}x`]
    }),
  ])
