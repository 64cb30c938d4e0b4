import type { Db } from '../../../db/client.ts'
import { say, sayBar, saySection } from '../report.ts'
import { pauseMs } from '../samples.ts'
import type { Bench } from './contender.ts'
import { type BellStore, bells, type Fleet, startFleet } from './fleet.ts'

interface FlushResult {
  /** Bells that were out when the store was emptied. */
  readonly out: number
  /** Until no job waits for a bell that is gone. */
  readonly noticedMs: number
  /** Until every worker has taken a job since then. */
  readonly resumedMs: number
  readonly doneMs: number
  readonly lost: number
  readonly repeated: number
}

const longestMs = 180_000

/** What an emptied bell store costs, under load: time, and nothing else. */
export const runFlush = async (bench: Bench): Promise<void> => {
  const rounds = Math.min(3, bench.options.rounds)
  const jobs = Math.max(100, Math.ceil(bench.options.jobs / 4))
  saySection(`Bell store emptied under load: ${jobs} jobs with one effect each, ${rounds} rounds`)
  say('When a quarter is done the store is emptied (FLUSHALL; drop schema bullmq cascade). noticed: no job')
  say('waits for a lost bell any more; resumed: every worker has taken a job since then.')
  for (const bell of bells) {
    const results: FlushResult[] = []
    for (let round = 0; round < rounds; round += 1) {
      const result = await runOnce(bench, bell, jobs, `flush_${bell}_${round}`)
      results.push(result)
      say(
        `bell on ${bell}: ${result.out} bells out, noticed ${seconds(result.noticedMs)}, resumed ` +
          `${seconds(result.resumedMs)}, all done ${seconds(result.doneMs)} after the flush`,
      )
    }
    sayBars(bell, results)
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`

const runOnce = async (
  bench: Bench,
  bell: BellStore,
  jobs: number,
  database: string,
): Promise<FlushResult> => {
  const fleet = await startFleet(bench, { bell, database, concurrency: 16 })
  try {
    for (let left = jobs; left > 0; left -= bench.options.batch)
      await fleet.enqueue(Math.min(left, bench.options.batch), { effects: 1, steps: 1, step_ms: 5 })
    await untilFinished(fleet.db, Math.ceil(jobs / 4))
    const out = await bellsOut(fleet.db)
    const [flushed] = await fleet.db<{ at: Date }[]>`select clock_timestamp() as at`
    const start = performance.now()
    await empty(bench, fleet, bell)
    await untilNoneHangs(fleet.db, out)
    const noticedMs = performance.now() - start
    const finished = await untilFinished(fleet.db, jobs)
    const doneMs = performance.now() - start
    return {
      out: out.length,
      noticedMs,
      resumedMs: await allWorkersBackMs(fleet.db, flushed?.at ?? new Date(), noticedMs, doneMs),
      doneMs,
      lost: jobs - finished,
      repeated: await countRepeated(fleet.db),
    }
  } finally {
    await fleet.close()
    await bench.postgres.dropDatabase(database)
  }
}

const empty = async (bench: Bench, fleet: Fleet, bell: BellStore): Promise<void> => {
  if (bell === 'redis') await bench.redis.flush()
  else await fleet.db`drop schema bullmq cascade`
}

interface BellOut {
  readonly id: string
  readonly publish: number
}

const bellsOut = (db: Db): Promise<BellOut[]> =>
  db<BellOut[]>`select id, publish from job where state = 'ready' and bell = 'rung'`

/** A bell hangs as long as its job is still marked as rung under the number it had before the store was emptied. */
const untilNoneHangs = async (db: Db, out: readonly BellOut[]): Promise<void> => {
  const start = performance.now()
  while (performance.now() - start < longestMs) {
    const hanging = await db`
      select 1 from job j
      join unnest(${out.map((bell) => bell.id)}::uuid[], ${out.map((bell) => bell.publish)}::int[]) b(id, publish)
        using (id, publish)
      where j.state = 'ready' and j.bell = 'rung' limit 1`
    if (hanging.length === 0) return
    await pauseMs(20)
  }
}

/** Returns how many are finished: fewer than wanted when time ran out. */
const untilFinished = async (db: Db, wanted: number): Promise<number> => {
  const start = performance.now()
  for (;;) {
    const [row] = await db<
      { done: number }[]
    >`select count(*)::int as done from job where state = 'succeeded'`
    const done = row?.done ?? 0
    if (done >= wanted || performance.now() - start > longestMs) return done
    await pauseMs(20)
  }
}

/**
 * When the last of the workers took its first job after all lost bells were noticed, from the flush on. A
 * worker that takes none any more counts as long as it all took.
 */
const allWorkersBackMs = async (
  db: Db,
  flushed: Date,
  noticedMs: number,
  doneMs: number,
): Promise<number> => {
  const [row] = await db<{ ms: number | null; silent: number }[]>`
    select max(extract(epoch from first.at - ${flushed}::timestamptz)::float8 * 1000) as ms,
      count(*) filter (where first.at is null)::int as silent
    from worker w left join lateral (
      select min(e.at) as at from event e where e.type = 'job.running' and e.actor = 'worker/' || w.id
        and e.at >= ${flushed}::timestamptz + ${noticedMs}::float8 * interval '1 millisecond') first on true
    where w.role = 'worker'`
  return row && row.silent === 0 && row.ms !== null ? row.ms : doneMs
}

const countRepeated = async (db: Db): Promise<number> => {
  const [row] = await db<{ repeated: number }[]>`
    select count(*)::int as repeated from (
      select 1 from self_test.call where action in ('made', 'found') group by name having count(*) > 1) r`
  return row?.repeated ?? 0
}

const sayBars = (bell: BellStore, results: readonly FlushResult[]): void => {
  const worst = Math.max(...results.map((result) => Math.max(result.noticedMs, result.resumedMs)))
  const sum = (key: 'lost' | 'repeated') => results.reduce((total, result) => total + result[key], 0)
  sayBar({ name: `flush-resume-${bell}`, measured: worst / 1_000, bar: 2, atLeast: false, unit: 's' })
  sayBar({ name: `flush-lost-${bell}`, measured: sum('lost'), bar: 0, atLeast: false, unit: '' })
  sayBar({ name: `flush-repeated-${bell}`, measured: sum('repeated'), bar: 0, atLeast: false, unit: '' })
}
