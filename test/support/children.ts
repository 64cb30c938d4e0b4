import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { identify, processIsThere } from '../../src/standalone/process-identity.ts'

const prefix = 'drover-children-'

/**
 * A list on disk of the processes our tests have started, each the leader of its own group, so that they are
 * ended even when the test's process was killed. One directory per run, named by the process that began it.
 */
const dirOf = (run: string) => join(tmpdir(), `${prefix}${run}`)

interface Note {
  readonly command: string
  readonly started: string | undefined
}

export const noteChild = (run: string, pid: number, command: string): void => {
  mkdirSync(dirOf(run), { recursive: true })
  const note: Note = { command, started: identify(pid)?.started }
  writeFileSync(join(dirOf(run), String(pid)), JSON.stringify(note))
}

export const forgetChild = (run: string, pid: number): void =>
  rmSync(join(dirOf(run), String(pid)), { force: true })

/** Ids of the processes in a group that still run; ended ones that nobody has collected yet do not count. */
export const groupMembers = (group: number): number[] => {
  if (process.platform !== 'linux') return processIsThere(-group) ? [group] : []
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name) && belongsTo(name, group))
    .map(Number)
}

const belongsTo = (pid: string, group: number): boolean => {
  try {
    // "pid (command) state parent group ...": the command may hold blanks and brackets.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, , processGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state !== 'Z' && state !== 'X' && Number(processGroup) === group
  } catch {
    return false
  }
}

/** Ends the process and everything it started. Fine when nothing is left. */
export const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody there: that is what we wanted.
  }
}

/** Ends what a run left behind and says what that was. */
export const reapChildren = (run: string): string[] => {
  const notes = readNotes(run)
  const left = notes.filter((note) => groupMembers(note.pid).length > 0)
  for (const note of left) killGroup(note.pid)
  rmSync(dirOf(run), { recursive: true, force: true })
  return left.map((note) => `${note.pid} ${note.command}`)
}

/** Ends what killed runs left behind: only processes that are certainly the noted ones, as numbers come again. */
export const reapKilledRuns = (): void => {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix)) continue
    const run = name.slice(prefix.length)
    if (processIsThere(Number(run))) continue
    for (const note of readNotes(run))
      if (note.started !== undefined && identify(note.pid)?.started === note.started) killGroup(note.pid)
    rmSync(dirOf(run), { recursive: true, force: true })
  }
}

const readNotes = (run: string): (Note & { pid: number })[] => {
  try {
    return readdirSync(dirOf(run)).map((pid) => ({
      pid: Number(pid),
      ...(JSON.parse(readFileSync(join(dirOf(run), pid), 'utf8')) as Note),
    }))
  } catch {
    return []
  }
}
