import { readdirSync, readFileSync } from 'node:fs'

/** Ticks a second of /proc/<pid>/stat: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100

interface Stat {
  readonly parent: number
  readonly ownMs: number
  /** Of children that have ended and were waited for. */
  readonly endedMs: number
}

/**
 * Processor time that a process and its children have used, in milliseconds. Unlike a rate, it says the same
 * on a busy machine. Undefined where there is no /proc.
 */
export const cpuMsOf = (pid: number): number | undefined => {
  const root = readStat(pid)
  if (!root) return undefined
  let total = root.ownMs + root.endedMs
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = readStat(Number(name))
    if (stat?.parent === pid) total += stat.ownMs
  }
  return total
}

const readStat = (pid: number): Stat | undefined => {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The name is in parentheses and may hold anything; the numbers follow it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ms = (at: number) => (Number(fields[at]) * 1_000) / ticksPerSecond
  return { parent: Number(fields[1]), ownMs: ms(11) + ms(12), endedMs: ms(13) + ms(14) }
}
