import type { Db } from '../../../db/client.ts'
import { markRung } from '../../../db/queries/bell/mark-rung.ts'
import { readSettingRows } from '../../../db/queries/fleet/settings.ts'
import { countSlots } from '../../../db/queries/fleet/workers.ts'
import { type DueJob, findDueJobs, type KindWindow } from '../../../db/queries/jobs/find-due-jobs.ts'
import { promoteHeldJobs } from '../../../db/queries/tokens/promote-held-jobs.ts'
import type { Clock } from '../../clock.ts'
import { limits } from '../../config/config.ts'
import { crashPoint } from '../../crash-point.ts'
import { findKind } from '../../domain/job/kinds/registry.ts'
import { settingValue } from '../../domain/settings.ts'
import type { Logger } from '../../process/log.ts'
import { Loop, type Service } from '../../process/service.ts'
import type { Bell, Ring } from './bell.ts'

/** How far ahead of the workers bells may be: short, so that an urgent job never queues behind many. */
const aheadMs = 250
const busyPauseMs = 3
const slotsMaxAgeMs = 500

export interface RelayOptions {
  readonly db: Db
  readonly bell: Bell
  readonly clock: Clock
  readonly log: Logger
  /** How long a worker may be silent before its slots no longer count. */
  readonly silentMs: number
}

/**
 * How many bells of a kind may be out: twice what the workers can take at once, plus what they have recently taken in
 * `aheadMs`. Long jobs keep it near the slots; short ones open it as fast as they run. Pure.
 */
export const windowFor = (slots: number, ratePerSecond: number, max: number): number =>
  slots === 0 ? 0 : Math.min(max, slots * 2 + Math.ceil((ratePerSecond * aheadMs) / 1_000))

/**
 * Rings for due jobs: publish, then mark. A crash in between rings again under the same bell id, which the store
 * drops; a bell that was followed before the mark has a new `publish`, so the mark does not apply.
 */
export class Relay implements Service {
  readonly name = 'relay'
  readonly #options: RelayOptions
  readonly #loop: Loop
  readonly #rates = new Map<string, number>()
  #published = new Map<string, number>()
  #ratesSince = 0
  #slots: ReadonlyMap<string, number> = new Map()
  #slotsReadAt = Number.NEGATIVE_INFINITY
  #windowMax = 0
  #idleRounds = 0

  constructor(options: RelayOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: this.name,
      intervalMs: limits.relayPollMs,
      clock: options.clock,
      log: options.log,
      failureCapMs: 500,
      runOnce: () => this.runOnce(),
    })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  wake(): void {
    this.#idleRounds = 0
    this.#loop.wake()
  }

  /** One round: true when another round may find more, otherwise when to look again. */
  async runOnce(): Promise<boolean | number> {
    const windows = await this.#windows()
    if (windows.length === 0) return false
    const { db, silentMs } = this.#options
    const due = await findDueJobs(db, { windows, silentMs })
    if (due.length > 0) {
      this.#idleRounds = 0
      for (let at = 0; at < due.length; at += limits.relayBatch)
        await this.#ring(due.slice(at, at + limits.relayBatch))
      this.#count(due)
      return true
    }
    // With short jobs full windows empty within milliseconds: look again soon, then less and less often.
    this.#idleRounds += 1
    if (this.#idleRounds > 6 || this.#rates.size === 0) return false
    return busyPauseMs * 2 ** (this.#idleRounds - 1)
  }

  async #ring(due: readonly DueJob[]): Promise<void> {
    const rings: Ring[] = due.map((job) => ({
      id: job.id,
      kind: job.kind,
      generation: job.generation,
      publish: job.publish + 1,
      urgent: job.priority > 0,
    }))
    crashPoint('relay-before-publish')
    await this.#options.bell.ring(rings)
    crashPoint('relay-between-publish-and-mark')
    await markRung(this.#options.db, due)
    crashPoint('relay-after-mark')
  }

  async #windows(): Promise<KindWindow[]> {
    const now = this.#options.clock.monotonicMs()
    if (now - this.#slotsReadAt > slotsMaxAgeMs) {
      this.#slots = await countSlots(this.#options.db, this.#options.silentMs)
      const stored = new Map((await readSettingRows(this.#options.db)).map((row) => [row.name, row.value]))
      this.#windowMax = settingValue(stored, 'relay-window')
      this.#slotsReadAt = now
      this.#measure(now)
    }
    return [...this.#slots]
      .map(([kind, slots]) => ({
        kind,
        window: windowFor(slots, this.#rates.get(kind) ?? 0, this.#windowMax),
        slots: findKind(kind)?.lanesLeaveRoom ? slots : null,
      }))
      .filter(({ window }) => window > 0)
  }

  #count(due: readonly DueJob[]): void {
    for (const job of due) this.#published.set(job.kind, (this.#published.get(job.kind) ?? 0) + 1)
  }

  #measure(now: number): void {
    const seconds = (now - this.#ratesSince) / 1_000
    this.#rates.clear()
    for (const [kind, published] of this.#published) this.#rates.set(kind, published / seconds)
    this.#published = new Map()
    this.#ratesSince = now
  }
}

/** Makes held jobs due when their time comes, to the millisecond as far as timers allow. */
export const createPromoter = (options: RelayOptions & { onDue: () => void }): Loop =>
  new Loop({
    name: 'promoter',
    intervalMs: limits.relayPollMs,
    clock: options.clock,
    log: options.log,
    runOnce: async () => {
      const { promoted, nextMs } = await promoteHeldJobs(options.db, limits.relayBatch)
      if (promoted > 0) options.onDue()
      if (promoted === limits.relayBatch) return true
      return nextMs === null || nextMs > limits.relayPollMs ? false : Math.max(1, nextMs)
    },
  })
