import type { Db } from '../db/client.ts'
import { hasSilentBell } from '../db/queries/bell/has-silent-bell.ts'
import { unringJobs } from '../db/queries/bell/unring-jobs.ts'
import type { Clock } from '../src/clock.ts'
import type { Bell, BellListener, HeardBell } from '../src/ledger/bell/bell.ts'
import type { Logger } from '../src/process/log.ts'
import { Loop, type Service } from '../src/process/service.ts'

export interface ListenersOptions {
  readonly db: Db
  readonly bell: Bell
  /** By kind; changed live by `setSlots`. */
  readonly slots: ReadonlyMap<string, number>
  readonly clock: Clock
  readonly log: Logger
  readonly follow: (kind: string, bell: HeardBell) => Promise<void>
}

const lookMs = 1_500
/** When bells are waiting, slots are free and nothing was heard for this long, the listener counts as deaf. */
const deafAfterMs = 3_000
const rebuildPauseMs = 8_000

/**
 * One BullMQ worker per kind. A listener can stop hearing without an error (a half-open connection, a dropped schema
 * of the store): when bells wait although slots are free, it is rebuilt.
 */
export class Listeners implements Service {
  readonly name = 'listeners'
  readonly #options: ListenersOptions
  readonly #listeners = new Map<string, BellListener>()
  readonly #busy = new Map<string, number>()
  readonly #rebuiltAt = new Map<string, number>()
  readonly #heardAt = new Map<string, number>()
  readonly #watch: Loop
  #slots: ReadonlyMap<string, number>
  #quiet = false

  constructor(options: ListenersOptions) {
    this.#options = options
    this.#slots = options.slots
    this.#watch = new Loop({
      name: 'deaf-listeners',
      intervalMs: lookMs,
      clock: options.clock,
      log: options.log,
      runOnce: () => this.#rebuildDeaf(),
    })
  }

  async listen(): Promise<void> {
    for (const kind of this.#slots.keys()) await this.#open(kind)
  }

  start(): void {
    this.#watch.start()
  }

  /** Changes how many jobs of each kind run at once; running jobs go on. */
  setSlots(slots: ReadonlyMap<string, number>): void {
    this.#slots = slots
    for (const [kind, listener] of this.#listeners) listener.setSlots(slots.get(kind) ?? 1)
  }

  /** Takes no more bells. */
  async quiet(): Promise<void> {
    this.#quiet = true
    await this.#watch.stop()
    await Promise.all([...this.#listeners.values()].map((listener) => listener.quiet().catch(() => {})))
  }

  async stop(): Promise<void> {
    await this.quiet()
    await Promise.all([...this.#listeners.values()].map((listener) => listener.abandon().catch(() => {})))
    this.#listeners.clear()
  }

  async #open(kind: string): Promise<void> {
    const slots = this.#slots.get(kind) ?? 1
    this.#listeners.set(
      kind,
      await this.#options.bell.listen(kind, slots, (bell) => this.#follow(kind, bell)),
    )
  }

  async #follow(kind: string, bell: HeardBell): Promise<void> {
    // The bell was on its way when the listener stopped. Another worker must hear it soon.
    if (this.#quiet) {
      await unringJobs(this.#options.db, [bell.id], 0)
      return
    }
    this.#busy.set(kind, (this.#busy.get(kind) ?? 0) + 1)
    this.#heardAt.set(kind, this.#options.clock.monotonicMs())
    try {
      await this.#options.follow(kind, bell)
    } finally {
      this.#busy.set(kind, (this.#busy.get(kind) ?? 1) - 1)
    }
  }

  async #rebuildDeaf(): Promise<boolean> {
    const now = this.#options.clock.monotonicMs()
    for (const [kind, slots] of this.#slots) {
      if (this.#quiet || (this.#busy.get(kind) ?? 0) >= slots) continue
      if (now - (this.#heardAt.get(kind) ?? Number.NEGATIVE_INFINITY) < deafAfterMs) continue
      if (now - (this.#rebuiltAt.get(kind) ?? Number.NEGATIVE_INFINITY) < rebuildPauseMs) continue
      if (!(await hasSilentBell(this.#options.db, kind, deafAfterMs))) continue
      this.#options.log.info({ kind }, 'bells hang although hands are free; the listener is built anew')
      this.#rebuiltAt.set(kind, now)
      const deaf = this.#listeners.get(kind)
      await this.#open(kind)
      // Its jobs go on; only the listener is closed. Closing may hang on the broken connection.
      void deaf
        ?.quiet()
        .then(() => deaf.close())
        .catch(() => {})
    }
    return false
  }
}
