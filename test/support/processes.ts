import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { forgetChild, groupMembers, killGroup, noteChild } from './children.ts'
import { atEnd } from './cleanup.ts'
import { withLogin } from './logins.ts'
import { settles, until } from './wait.ts'

export type Role = 'api' | 'worker' | 'conductor' | 'lab' | 'migrate' | 'rekey' | 'up'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ProcessOptions {
  readonly command: string
  readonly args: readonly string[]
  /** The whole environment: nothing is inherited but what `baseEnv` gives. */
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
}

/** What a process may take for anything on a machine that does much else. */
const patienceMs = 120_000
/** What a process has started may end a moment after it. */
const followMs = 10_000

export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url))

/** What a child gets of our environment: enough to find programs, nothing that could steer Drover. */
export const baseEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR', 'LANG', 'USER'].flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    ),
  )

/** A real child process in a process group of its own, with what it prints on either stream, line by line. */
export class TestProcess {
  readonly pid: number
  readonly exited: Promise<Exit>
  readonly lines: string[] = []
  readonly #child: ChildProcess
  #exit: Exit | undefined

  constructor(child: ChildProcess & { pid: number }, run: string) {
    this.#child = child
    this.pid = child.pid
    for (const stream of [child.stdout, child.stderr])
      if (stream) createInterface({ input: stream }).on('line', (line) => this.lines.push(line))
    this.exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#exit = { code, signal }
        if (groupMembers(this.pid).length === 0) forgetChild(run, this.pid)
        resolve(this.#exit)
      })
    })
  }

  get running(): boolean {
    return this.#exit === undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  get output(): string {
    return this.lines.join('\n')
  }

  /** The first line that fits, also one printed before; `from` is a count of lines to pass over. */
  async line(
    pattern: RegExp | string,
    options?: { withinMs?: number; from?: number },
  ): Promise<RegExpMatchArray> {
    const find = () => {
      for (const line of this.lines.slice(options?.from ?? 0)) {
        const match = typeof pattern === 'string' ? line.match(escaped(pattern)) : line.match(pattern)
        if (match) return match
      }
      return undefined
    }
    const seen = until(() => find() ?? this.#exit, {
      what: `a line that fits ${pattern}`,
      withinMs: options?.withinMs ?? patienceMs,
    })
    const printed = () => `It printed:\n${this.lines.slice(-40).join('\n')}`
    const first = await seen.catch((error: unknown) => {
      throw new Error(`${(error as Error).message}\n${printed()}`)
    })
    if (Array.isArray(first)) return first
    // Nothing more will come.
    const { signal, code } = first
    throw new Error(
      `The process ended (${signal ?? code}) without a line that fits ${pattern}.\n${printed()}`,
    )
  }

  /** Sends a signal to this process alone. */
  kill(signal: NodeJS.Signals = 'SIGTERM'): void {
    if (this.running) process.kill(this.pid, signal)
  }

  /** Asks it to stop and waits for it. */
  async stop(withinMs = patienceMs): Promise<Exit> {
    this.kill('SIGTERM')
    return settles(this.exited, { what: `process ${this.pid} to stop`, withinMs })
  }

  /** Kills it without a word, and waits until it is gone. */
  async crash(): Promise<Exit> {
    this.kill('SIGKILL')
    return settles(this.exited, { what: `process ${this.pid} to be gone` })
  }

  suspend(): void {
    this.kill('SIGSTOP')
  }

  resume(): void {
    this.kill('SIGCONT')
  }

  /** Waits until somebody has frozen it, itself at a crash point as well: state T behind its bracketed name. */
  async frozen(): Promise<void> {
    await until(() => this.isFrozen, { what: `process ${this.pid} to freeze`, withinMs: patienceMs })
  }

  get isFrozen(): boolean {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T')
  }
}

const escaped = (text: string) => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))

/** Starts a program. At the end of the test or file it is ended; what it left running itself fails the test. */
export const startProcess = async (options: ProcessOptions): Promise<TestProcess> => {
  const run = inject('run')
  const child = spawn(options.command, options.args, {
    cwd: options.cwd ?? repositoryRoot,
    env: { ...baseEnv(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  if (child.pid === undefined) throw new Error(`${options.command} has no process id.`)
  noteChild(run, child.pid, [options.command, ...options.args].join(' '))
  const started = new TestProcess(child as ChildProcess & { pid: number }, run)
  atEnd(() => endProcess(started, run))
  return started
}

const endProcess = async (ended: TestProcess, run: string): Promise<void> => {
  const stoppedBefore = !ended.running
  const others = () => groupMembers(ended.pid).filter((pid) => pid !== ended.pid)
  if (stoppedBefore)
    await until(() => others().length === 0, {
      what: 'its own children to follow',
      withinMs: followMs,
    }).catch(() => undefined)
  const left = others()
  killGroup(ended.pid)
  await settles(ended.exited, { what: `process ${ended.pid} to be gone` })
  await until(() => groupMembers(ended.pid).length === 0, { what: `what ${ended.pid} started to be gone` })
  forgetChild(run, ended.pid)
  if (stoppedBefore && left.length > 0)
    throw new Error(`Process ${ended.pid} ended but left ${left.join(', ')} running.\n${ended.output}`)
}

/** A role of Drover as production runs it, under its own login. Health and API ports are free ones unless `env` says otherwise. */
export const startRole = (role: Role, env: NodeJS.ProcessEnv = {}): Promise<TestProcess> =>
  startProcess({
    command: process.execPath,
    args: [inject('roles'), role],
    env: { DROVER_PORT: '0', DROVER_HEALTH_PORT: '0', ...withLogin(role, env) },
  })
