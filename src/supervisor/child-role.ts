import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../clock.ts'
import { withoutCore } from '../standalone/without-core.ts'
import type { ChildMessage } from './child-message.ts'
import { RoleLog, readableLine } from './role-log.ts'

const bin = fileURLToPath(new URL('../roles/drover.mjs', import.meta.url))

const restartBaseMs = 500
const restartCapMs = 30_000
/** After this long without a crash, the next one starts counting anew. */
const healthyMs = 60_000
const crashesMax = 10
/** The same warning is shown once in this time. */
const repeatMs = 10_000

export type RoleName = 'api' | 'conductor' | 'worker' | 'lab'

export interface ChildRoleOptions {
  /** `api`, `worker-1`: names the log file. */
  readonly name: string
  readonly role: RoleName
  readonly logFile: string
  /** Asked at each start. */
  readonly env: () => NodeJS.ProcessEnv
  /** One line for the person in front of the terminal. */
  readonly say: (text: string) => void
  /** It serves, for the first time or again. */
  readonly onRunning?: (port: number) => void
  /** The role cannot go on: a mistake in the configuration, or too many crashes. */
  readonly onLost: (name: string, why: string) => void
}

/** One role in a process of its own, started again when it crashes. */
export class ChildRole {
  readonly name: string
  readonly #options: ChildRoleOptions
  readonly #log: RoleLog
  readonly #stopping = new AbortController()
  #child: ChildProcess | undefined
  readonly #said = new Map<string, number>()
  #onRunning: ((port: number) => void) | undefined
  #crashes = 0
  #failure: string | undefined
  #run: Promise<void> | undefined
  /** Had to be killed at the end. */
  killed = false

  constructor(options: ChildRoleOptions) {
    this.name = options.name
    this.#options = options
    this.#log = new RoleLog(options.logFile)
  }

  /** Resolves with the role's port when it runs for the first time. */
  start(): Promise<number> {
    return new Promise((resolve) => {
      this.#onRunning = resolve
      this.#run = this.#keepRunning()
    })
  }

  /** Asks it to drain and waits; kills it when it takes longer. */
  async stop(waitLimitMs: number): Promise<void> {
    this.#stopping.abort()
    this.#child?.kill('SIGTERM')
    const late = setTimeout(() => {
      this.killed = true
      this.#options.say(`${this.name} did not stop within ${Math.round(waitLimitMs / 1000)} s and was killed`)
      this.#child?.kill('SIGKILL')
    }, waitLimitMs)
    await this.#run
    clearTimeout(late)
    this.#log.close()
  }

  killNow(): void {
    this.#stopping.abort()
    this.#child?.kill('SIGKILL')
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const began = systemClock.monotonicMs()
      const how = await this.#runOnce()
      if (signal.aborted) return
      if (systemClock.monotonicMs() - began > healthyMs) this.#crashes = 0
      this.#crashes += 1
      if (this.#failure !== undefined) return this.#options.onLost(this.name, this.#failure)
      if (this.#crashes >= crashesMax) {
        return this.#options.onLost(
          this.name,
          `${how}, ${this.#crashes} times in a row; see ${this.#log.path}`,
        )
      }
      const pauseMs = Math.min(restartBaseMs * 2 ** (this.#crashes - 1), restartCapMs)
      this.#options.say(`${how}; it starts again in ${pauseMs / 1000} s (see ${this.#log.path})`)
      await systemClock.sleep(pauseMs, signal)
    }
  }

  /** Resolves when the process is gone, with how it ended. */
  #runOnce(): Promise<string> {
    const [command, args] = withoutCore(process.execPath, [bin, this.#options.role])
    const child = spawn(command, args, {
      env: this.#options.env(),
      // The channel is how the child notices that we are gone: it closes even when we are killed.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // Ctrl-C in the terminal is for us alone: we stop the children in order.
      detached: true,
    })
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.#take(line))
    }
    child.on('message', (message: ChildMessage) => this.#hear(message))
    return new Promise((resolve) => {
      child.once('error', (error) => resolve(`${this.name} could not be started: ${error.message}`))
      child.once('close', (code, signal) =>
        resolve(`${this.name} ended with ${signal ?? `exit code ${code}`}`),
      )
    })
  }

  #take(line: string): void {
    this.#log.write(line)
    const text = readableLine(line)
    if (text === undefined || this.#saidLately(text)) return
    this.#options.say(`${this.name}  ${text}`)
  }

  /** A dozen loops that miss one database would say the same a dozen times a second; the file has them all. */
  #saidLately(text: string): boolean {
    const now = systemClock.monotonicMs()
    for (const [said, at] of this.#said) if (now - at > repeatMs) this.#said.delete(said)
    if (this.#said.has(text)) return true
    this.#said.set(text, now)
    return false
  }

  #hear(message: ChildMessage): void {
    if (message.type === 'running') {
      this.#options.onRunning?.(message.port)
      this.#onRunning?.(message.port)
    }
    // Only a mistake in the configuration is sure to come again; everything else may be better next time.
    if (message.type === 'failed' && message.class === 'config') this.#failure = message.text
    if (message.type === 'failed' && message.class !== 'config')
      this.#options.say(`${this.name}  ${message.text}`)
  }
}
