import type { Clock } from '../clock.ts'
import { DroverError, isPrivilegeMissing, privilegeMissing } from '../errors.ts'
import type { Logger } from './log.ts'

/** A background duty of a process. `runOnce` is what tests call; `start` only repeats it. */
export interface Service {
  readonly name: string
  start(): void
  /** Resolves when the running round, if any, has ended. */
  stop(): Promise<void>
}

export interface LoopOptions {
  readonly name: string
  readonly intervalMs: number
  /** Does one round. Returns true when there is more to do at once, or after how many milliseconds to look again. */
  readonly runOnce: (signal: AbortSignal) => Promise<boolean | number>
  readonly clock: Clock
  readonly log: Logger
  /** Longest pause after failures in a row; a failing round never stops the loop. */
  readonly failureCapMs?: number
}

/** Repeats a round: at once when there is more to do or after `wake()`, else every `intervalMs`; never two at a time. */
export class Loop implements Service {
  readonly name: string
  readonly #options: LoopOptions
  #stopping: AbortController | undefined
  #running: Promise<void> | undefined
  #pause: AbortController | undefined
  #woken = false

  constructor(options: LoopOptions) {
    if (options.intervalMs <= 0) throw new Error(`${options.name}: intervalMs must be positive.`)
    this.name = options.name
    this.#options = options
  }

  start(): void {
    if (this.#running) return
    this.#stopping = new AbortController()
    this.#running = this.#run(this.#stopping.signal)
  }

  async stop(): Promise<void> {
    this.#stopping?.abort()
    this.#pause?.abort()
    await this.#running
    this.#running = undefined
  }

  /** A hint that there is something to do. Cheap, lossy on purpose: the interval is the truth. */
  wake(): void {
    this.#woken = true
    this.#pause?.abort()
  }

  async #run(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      this.#woken = false
      try {
        const more = await this.#options.runOnce(signal)
        failures = 0
        if (more === true || this.#woken) continue
        await this.#rest(more === false ? this.#options.intervalMs : more)
      } catch (error) {
        if (signal.aborted) return
        failures += 1
        // The 1st, 2nd, 4th, 8th … in a row: an outage of an hour must not bury everything else.
        if ((failures & (failures - 1)) === 0) this.#tell(error, failures)
        await this.#rest(this.#failurePauseMs(failures))
      }
    }
  }

  /** What only a person can end is an error that names the remedy, not one of the failures that pass. */
  #tell(error: unknown, failures: number): void {
    const facts = { err: error, service: this.name, failures }
    const known = isPrivilegeMissing(error) ? privilegeMissing(error) : error
    if (known instanceof DroverError && known.class === 'config')
      this.#options.log.error({ ...facts, code: known.code, remedy: known.remedy }, known.message)
    else this.#options.log.warn(facts, 'a round failed; it will be tried again')
  }

  #failurePauseMs(failures: number): number {
    const step = Math.max(100, this.#options.intervalMs) * 2 ** Math.min(failures - 1, 6)
    return Math.min(step, this.#options.failureCapMs ?? 5_000)
  }

  async #rest(ms: number): Promise<void> {
    if (this.#woken || this.#stopping?.signal.aborted) return
    this.#pause = new AbortController()
    await this.#options.clock.sleep(ms, this.#pause.signal)
    this.#pause = undefined
  }
}
