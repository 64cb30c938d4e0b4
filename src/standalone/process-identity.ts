import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** A process told apart from a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number
  /** When it started, in whatever unit the system has. Equal for the same process, else different. */
  readonly started: string
}

export const processIsThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Not ours to signal, but there.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Undefined when there is no such process, or only its remains that nobody has collected. */
export const identify = (pid: number): ProcessIdentity | undefined => {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !processIsThere(pid)) return undefined
  return process.platform === 'linux' ? identifyByProc(pid) : identifyByPs(pid)
}

export const isSameProcess = (a: ProcessIdentity, b: ProcessIdentity | undefined): boolean =>
  b !== undefined && a.pid === b.pid && a.started === b.started

/** The command line, empty when it cannot be read. */
export const commandLineOf = (pid: number): string => {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return ''
  }
}

const identifyByProc = (pid: number): ProcessIdentity | undefined => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything; the fields begin behind the last parenthesis.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return { pid, started: `${boot}:${fields[19]}` }
  } catch {
    return undefined
  }
}

const identifyByPs = (pid: number): ProcessIdentity | undefined => {
  try {
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    return started === '' ? undefined : { pid, started }
  } catch {
    return undefined
  }
}
