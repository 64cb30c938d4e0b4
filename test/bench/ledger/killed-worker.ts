import type { Db } from '../../../db/client.ts'
import { until } from '../../support/wait.ts'
import { say, sayBar, saySection } from '../report.ts'
import type { Bench } from './contender.ts'
import { type BellStore, bells, startFleet } from './fleet.ts'

const slots = 16

/** How soon the jobs of a worker that was killed run elsewhere. */
export const runKilledWorker = async (bench: Bench): Promise<void> => {
  const rounds = Math.min(3, bench.options.rounds)
  const { leaseMs } = bench.options
  saySection(`Worker killed with jobs running: ${rounds} rounds a bell, lease ${leaseMs} ms`)
  say('From kill -9 until the last of its jobs is claimed by the other worker, which has hands free.')
  for (const bell of bells) {
    let worst = Number.NEGATIVE_INFINITY
    for (let round = 0; round < rounds; round += 1) {
      const { jobs, elsewhereMs } = await runOnce(bench, bell, `killed_${bell}_${round}`)
      const overMs = elsewhereMs - leaseMs
      worst = Math.max(worst, overMs)
      say(
        `bell on ${bell}: ${jobs} jobs ran elsewhere after ${seconds(elsewhereMs)}, lease ${signed(overMs)}`,
      )
    }
    sayBar({ name: `killed-over-lease-${bell}`, measured: worst / 1_000, bar: 1, atLeast: false, unit: 's' })
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`
const signed = (ms: number) => `${ms < 0 ? '-' : '+'}${seconds(Math.abs(ms))}`

const runOnce = async (
  bench: Bench,
  bell: BellStore,
  database: string,
): Promise<{ jobs: number; elsewhereMs: number }> => {
  const { leaseMs } = bench.options
  const fleet = await startFleet(bench, { bell, database, workers: 2, concurrency: slots })
  try {
    const [victim] = fleet.workers
    if (!victim) throw new Error('There is no worker to kill.')
    const stepMs = 100
    await fleet.enqueue(slots, { steps: Math.ceil((leaseMs * 3) / stepMs), step_ms: stepMs })
    const running = await until(() => jobsOf(fleet.db, victim.pid), {
      what: 'jobs to run on the worker that will be killed',
      withinMs: 30_000,
    })
    const [killed] = await fleet.db<{ at: Date }[]>`select clock_timestamp() as at`
    victim.signal('SIGKILL')
    const elsewhereMs = await until(() => elsewhereAfterMs(fleet.db, running, killed?.at ?? new Date()), {
      what: 'the jobs of the killed worker to run elsewhere',
      withinMs: leaseMs * 2 + 30_000,
      everyMs: 100,
    })
    return { jobs: running.length, elsewhereMs }
  } finally {
    for (const worker of fleet.workers) worker.signal('SIGKILL')
    await fleet.close()
    await bench.postgres.dropDatabase(database)
  }
}

interface Held {
  readonly id: string
  readonly epoch: number
}

/** What the worker holds, once everything has been claimed by somebody. */
const jobsOf = async (db: Db, pid: number): Promise<Held[] | undefined> => {
  const [ready] = await db`select 1 from job where state <> 'running' limit 1`
  if (ready) return undefined
  const held = await db<Held[]>`
    select j.id, j.lease_epoch as epoch from job j join worker w on w.id = j.worker_id where w.pid = ${pid}`
  if (held.length === 0) throw new Error('The other worker took all the jobs.')
  return held
}

/** Milliseconds from the kill until the last claim, or undefined while one is missing. */
const elsewhereAfterMs = async (db: Db, held: readonly Held[], killed: Date): Promise<number | undefined> => {
  const [row] = await db<{ moved: number; ms: number }[]>`
    select count(*)::int as moved,
      extract(epoch from max(claimed_at) - ${killed}::timestamptz)::float8 * 1000 as ms
    from job j join unnest(${held.map((job) => job.id)}::uuid[], ${held.map((job) => job.epoch)}::bigint[])
      h(id, epoch) using (id)
    where j.lease_epoch > h.epoch and (j.state = 'running' or j.finished_at is not null)`
  return row?.moved === held.length ? row.ms : undefined
}
