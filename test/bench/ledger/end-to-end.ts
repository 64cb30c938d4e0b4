import type { BenchOptions } from '../options.ts'
import { say, sayBar, saySection, sayTable, shortNumber } from '../report.ts'
import { median, pauseMs, rotated } from '../samples.ts'
import { sayStatements } from '../statements.ts'
import type { Bench, Contender, RunningContender } from './contender.ts'
import { contenders as everybody } from './contenders/contenders.ts'
import { sayCpu, startMeter } from './cpu-meter.ts'

type Mode = 'live' | 'drain'
const modes: readonly Mode[] = ['live', 'drain']
/** Jobs per second of each run, by contender and mode. */
type Samples = Map<string, number[]>

const explanation = `live   the workers run; the clock goes from the start of the first enqueue transaction until the
       last finish is committed
drain  the workers' processes are stopped by SIGSTOP while the jobs are loaded; the clock goes from
       SIGCONT until the last finish is committed
Everybody: one server, a database (or an emptied Redis) of its own in each round, worker processes
started anew and warmed up with a tenth of the jobs. Then the jobs are loaded and the tables vacuumed
and analysed while full, for the drain run; the live run follows with the same statistics, because
those of an empty queue make the planner scan tables. Jobs are added by this process, in bulk through
each one's own API.`

/** How fast jobs go all the way, side by side with other queues. */
export const runEndToEnd = async (bench: Bench): Promise<void> => {
  const { options } = bench
  const contenders = chosen(options)
  const wanted = modes.filter((mode) => options.modes.includes(mode))
  saySection(`End to end: ${options.jobs} no-op jobs, ${options.rounds} rounds, jobs per second`)
  say(explanation)
  for (const one of contenders) say(`${one.name.padEnd(16)}  ${one.title}: ${one.settings(options)}`)
  const samples: Samples = new Map()
  for (let round = 0; round < options.rounds; round += 1) {
    for (const contender of rotated(contenders, round)) {
      const rates = await runOnce(bench, contender, wanted, round)
      for (const [mode, rate] of rates) keep(samples, contender.name, mode, rate)
      const shown = rates.map(([mode, rate]) => `${mode} ${shortNumber(rate)}`).join(', ')
      say(`round ${round + 1}  ${contender.name}: ${shown}`)
    }
  }
  sayMedians(samples, contenders, wanted)
  sayCpu(options.jobs)
  if (wanted.includes('live')) sayBars(samples)
  if (options.statements) sayStatements()
}

const chosen = ({ contenders }: BenchOptions): Contender[] => {
  if (contenders.length === 0) return [...everybody]
  const unknown = contenders.filter((name) => !everybody.some((contender) => contender.name === name))
  if (unknown.length > 0)
    throw new Error(
      `No contender ${unknown.join(', ')}; there are ${everybody.map((one) => one.name).join(', ')}.`,
    )
  return everybody.filter((contender) => contenders.includes(contender.name))
}

const keyOf = (name: string, mode: Mode) => `${name} ${mode}`

const keep = (samples: Samples, name: string, mode: Mode, rate: number): void => {
  const key = keyOf(name, mode)
  samples.set(key, [...(samples.get(key) ?? []), rate])
}

const runOnce = async (
  bench: Bench,
  contender: Contender,
  wanted: readonly Mode[],
  round: number,
): Promise<[Mode, number][]> => {
  const database = `${contender.name.replaceAll('-', '_')}_${round}`
  const running = await contender.open(bench, database)
  const rates: [Mode, number][] = []
  try {
    await runJobs(running, bench.options, Math.ceil(bench.options.jobs / 10))
    // The drain run is never left out: the statistics are taken while its jobs are loaded.
    const drainMs = await timeDrain(running, bench.options)
    if (wanted.includes('drain')) rates.push(['drain', perSecond(bench.options, drainMs)])
    if (wanted.includes('live')) {
      const meter = startMeter(bench, running)
      rates.push(['live', perSecond(bench.options, await timeLive(running, bench.options))])
      meter(contender.name)
    }
  } finally {
    await running.close()
    await bench.postgres.dropDatabase(database)
  }
  return rates
}

const perSecond = ({ jobs }: BenchOptions, ms: number): number => (jobs * 1_000) / ms

const timeLive = async (running: RunningContender, options: BenchOptions): Promise<number> => {
  const start = performance.now()
  await runJobs(running, options, options.jobs)
  return performance.now() - start
}

const timeDrain = async (running: RunningContender, options: BenchOptions): Promise<number> => {
  for (const process of running.processes) process.signal('SIGSTOP')
  await enqueueAll(running, options, options.jobs)
  await running.settle()
  const start = performance.now()
  for (const process of running.processes) process.signal('SIGCONT')
  await untilDone(running, options.jobs)
  return performance.now() - start
}

const runJobs = async (running: RunningContender, options: BenchOptions, count: number): Promise<void> => {
  await enqueueAll(running, options, count)
  await untilDone(running, count)
}

const enqueueAll = async (
  running: RunningContender,
  { batch, producers }: BenchOptions,
  count: number,
): Promise<void> => {
  let rest = count
  const produce = async () => {
    while (rest > 0) {
      const size = Math.min(batch, rest)
      rest -= size
      await running.enqueue(size)
    }
  }
  await Promise.all(Array.from({ length: producers }, produce))
}

const longestMs = 300_000

/** Looks seldom while much is left and often near the end, so that looking costs little and errs by little. */
const untilDone = async (running: RunningContender, count: number): Promise<void> => {
  const start = performance.now()
  for (;;) {
    const left = await running.left()
    if (left === 0) return
    const passedMs = performance.now() - start
    if (passedMs > longestMs) throw new Error(`${left} of ${count} jobs were not done in ${longestMs} ms.`)
    const expectedMs = left < count ? (passedMs * left) / (count - left) : 100
    await pauseMs(Math.min(100, Math.max(3, expectedMs / 2)))
  }
}

const sayMedians = (samples: Samples, contenders: readonly Contender[], wanted: readonly Mode[]): void => {
  say()
  sayTable([
    ['median jobs/s (lowest-highest)', ...wanted],
    ...contenders.map((contender) => [
      contender.name,
      ...wanted.map((mode) => spread(samples.get(keyOf(contender.name, mode)) ?? [])),
    ]),
  ])
}

const spread = (rates: readonly number[]): string => {
  const [low, high] = [Math.min(...rates), Math.max(...rates)]
  return `${shortNumber(median(rates))} (${shortNumber(low)}-${shortNumber(high)})`
}

const comparisons = [
  { name: 'ledger-vs-graphile', ours: 'ours-redis', other: 'graphile', bar: 2 },
  { name: 'ledger-vs-pg-boss', ours: 'ours-redis', other: 'pg-boss', bar: 2 },
  { name: 'ledger-vs-bullmq-redis', ours: 'ours-redis', other: 'bullmq-redis', bar: 0.4 },
  { name: 'ledger-vs-bullmq-postgres', ours: 'ours-postgres', other: 'bullmq-postgres', bar: 0.7 },
] as const

const farMarks = ['graphile-batched', 'pg-boss-batched'] as const

const sayBars = (samples: Samples): void => {
  const rate = (name: string) => samples.get(keyOf(name, 'live'))
  const ours = rate('ours-redis')
  for (const name of farMarks) {
    const other = rate(name)
    if (ours && other) say(`far mark  ours-redis is ${shortNumber(median(ours) / median(other))}x ${name}`)
  }
  for (const { name, ours, other, bar } of comparisons) {
    const [mine, theirs] = [rate(ours), rate(other)]
    if (!mine || !theirs) continue
    const drained = samples.get(keyOf(other, 'drain'))
    if (drained)
      say(
        `beside it ${ours} live is ${shortNumber(median(mine) / median(drained))}x ${other} when that only drains`,
      )
    sayBar({ name, measured: median(mine) / median(theirs), bar, atLeast: true, unit: 'x' })
  }
}
