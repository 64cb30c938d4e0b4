import { readFileSync } from 'node:fs'
import { until } from './wait.ts'

/** Seconds of processor time that a process has used so far, in user and system mode. */
const cpuSeconds = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** The share of one processor that each process used, measured over `overMs`. */
export const cpuShares = async (pids: readonly number[], overMs: number): Promise<number[]> => {
  const before = pids.map(cpuSeconds)
  const beganMs = performance.now()
  await until(() => performance.now() - beganMs >= overMs, {
    what: 'the time of the measurement to pass',
    withinMs: overMs + 5_000,
    everyMs: 50,
  })
  const seconds = (performance.now() - beganMs) / 1_000
  return pids.map((pid, at) => (cpuSeconds(pid) - (before[at] ?? 0)) / seconds)
}
