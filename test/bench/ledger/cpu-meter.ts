import { cpuMsOf } from '../cpu-time.ts'
import { say, sayTable } from '../report.ts'
import { median } from '../samples.ts'
import type { Bench, RunningContender } from './contender.ts'

const columns = ['producer', 'conductor', 'workers', 'postgres', 'redis', 'all'] as const
type Column = (typeof columns)[number]
type Reading = Record<Column, number>

const readings = new Map<string, Reading[]>()

/** Starts to measure who uses how much processor; call what it returns at the end of the run. */
export const startMeter = (bench: Bench, running: RunningContender): ((name: string) => void) => {
  const before = read(bench, running)
  return (name) => {
    const after = read(bench, running)
    const used = Object.fromEntries(columns.map((column) => [column, after[column] - before[column]]))
    readings.set(name, [...(readings.get(name) ?? []), used as Reading])
  }
}

const read = (bench: Bench, running: RunningContender): Reading => {
  const of = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + (cpuMsOf(pid) ?? 0), 0)
  const { user, system } = process.cpuUsage()
  const conductor = of(running.processes.filter((one) => one.title === 'conductor').map((one) => one.pid))
  const workers = of(running.processes.filter((one) => one.title !== 'conductor').map((one) => one.pid))
  const reading = {
    producer: (user + system) / 1_000,
    conductor,
    workers,
    postgres: of([bench.postgres.pid]),
    redis: of([bench.redis.pid]),
  }
  return { ...reading, all: Object.values(reading).reduce((sum, ms) => sum + ms, 0) }
}

/** Prints the medians of the live runs. On a busy machine these say more than the rates. */
export const sayCpu = (jobs: number): void => {
  if (readings.size === 0 || process.platform !== 'linux') return
  say()
  sayTable([
    ['processor ms per 1,000 jobs, live', ...columns],
    ...[...readings].map(([name, runs]) => [
      name,
      ...columns.map((column) => ((median(runs.map((run) => run[column])) * 1_000) / jobs).toFixed(1)),
    ]),
  ])
}
