import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { disownProcess, onClose, ownProcess } from './resources.ts'

export interface StartOptions {
  readonly title: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly spawn?: Pick<SpawnOptions, 'uid' | 'gid' | 'cwd'>
  /** How it is asked to end. */
  readonly stopSignal?: NodeJS.Signals
  /** With a channel for messages: ready means that it sent one. */
  readonly ipc?: boolean
}

export interface StartedProcess {
  readonly title: string
  readonly pid: number
  readonly child: ChildProcess
  /** The last lines it wrote to standard output and standard error. */
  output(): string
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
}

const outputLimit = 200_000
const stopWithinMs = 30_000

/** Starts a process that ends with us. Everything it says is kept for the error message, within limits. */
export const startProcess = (options: StartOptions): StartedProcess => {
  const child = spawn(options.command, [...options.args], {
    ...options.spawn,
    env: options.env ?? process.env,
    stdio: options.ipc ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`${options.title}: ${options.command} could not be started.`)
  ownProcess(pid)
  let output = ''
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-outputLimit)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      disownProcess(pid)
      resolve()
    })
  })
  const stop = onClose(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGCONT')
    child.kill(options.stopSignal ?? 'SIGTERM')
    const kill = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
    await exited
    clearTimeout(kill)
  })
  return {
    title: options.title,
    pid,
    child,
    output: () => output,
    signal: (name) => void child.kill(name),
    stop,
  }
}

const readyWithinMs = 60_000

/** Resolves at the first message of the process; fails when it ends before that, or says nothing for long. */
export const firstMessage = (title: string, started: StartedProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const fail = (what: string) => reject(new Error(`${title} ${what}.\n${started.output()}`))
    const late = setTimeout(() => fail(`was not ready in ${readyWithinMs} ms`), readyWithinMs)
    started.child.once('message', (message) => {
      clearTimeout(late)
      resolve(message)
    })
    started.child.once('exit', (code) => {
      clearTimeout(late)
      fail(`ended with ${code} before it was ready`)
    })
  })
