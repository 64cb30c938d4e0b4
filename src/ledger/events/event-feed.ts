import type { Db } from '../../../db/client.ts'
import {
  type EventCursor,
  type EventFilter,
  headCursor,
  readEventsAfter,
} from '../../../db/queries/events/read-events-after.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import { FeedSubscriber, type OnEvents, type SubscriberEnd } from './feed-subscriber.ts'

export interface EventFeedOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  /** The interval at which the tail is read. */
  readonly pollMs?: number
  readonly pageMax?: number
  /** Events kept for a slow subscriber before it is dropped. */
  readonly bufferMax?: number
  /** New subscribers that read past events at the same time; the others wait. */
  readonly catchUpMax?: number
}

export interface Subscription extends EventFilter {
  /** Every event after this. Not given, or `now`: events from here on. */
  readonly after?: EventCursor | 'start' | 'now' | undefined
  /** Called once, unless the subscriber itself leaves. A dropped subscriber may come back with its last cursor. */
  readonly onEnd?: ((end: SubscriberEnd) => void) | undefined
}

/**
 * Distributes events to all subscribers of this process from one reader: the queries for the tail do not grow with the
 * number of subscribers, and stop when there are none. A subscriber with an old cursor reads its own past page by
 * page, then joins the tail without a gap or a repeat.
 *
 * It polls. A notification per event would make every commit of the fleet queue for Postgres's single notification
 * lock, to save a delay that no person sees.
 */
export class EventFeed {
  readonly #options: EventFeedOptions
  readonly #subscribers = new Set<FeedSubscriber>()
  readonly #loop: Loop
  readonly #catchUps: Turns
  /** How far the tail has been read. Unknown while there are no subscribers. */
  #tail: EventCursor | undefined
  #stopped = true

  constructor(options: EventFeedOptions) {
    this.#options = options
    this.#catchUps = new Turns(options.catchUpMax ?? 4)
    this.#loop = new Loop({
      name: 'event-feed',
      intervalMs: options.pollMs ?? 200,
      runOnce: () => this.#readTail(),
      clock: options.clock,
      log: options.log,
      failureCapMs: 2_000,
    })
  }

  get subscribers(): number {
    return this.#subscribers.size
  }

  start(): void {
    this.#stopped = false
    this.#loop.start()
  }

  /** Ends every subscription; resolves when the reader has stopped. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const subscriber of this.#subscribers) subscriber.end('stopped')
    await this.#loop.stop()
    this.#tail = undefined
  }

  /** A hint that events were written. Losing it costs one `pollMs`. */
  wake(): void {
    this.#loop.wake()
  }

  /**
   * Calls `onEvents` with every event after `after`, in order, each once, never two calls at a time. While a call's
   * promise is open the events wait; other subscribers do not.
   *
   * A page that first reads state and then follows it takes `headCursor` before the state, and passes it as `after`.
   * `now` starts with the first round after this call.
   */
  subscribe(subscription: Subscription, onEvents: OnEvents): () => void {
    if (this.#stopped) throw new Error('The event feed is not started.')
    const { db, clock, log } = this.#options
    const subscriber: FeedSubscriber = new FeedSubscriber({
      filter: { types: subscription.types, subject: subscription.subject },
      after: subscription.after ?? 'now',
      onEvents,
      onEnd: (end) => {
        this.#subscribers.delete(subscriber)
        if (end !== 'left') subscription.onEnd?.(end)
      },
      bufferMax: this.#options.bufferMax ?? 5_000,
      read: (cursor, filter) =>
        this.#catchUps.take(() => readEventsAfter(db, cursor, { ...filter, limit: this.#pageMax })),
      joined: () => this.#loop.wake(),
      clock,
      log,
    })
    this.#subscribers.add(subscriber)
    subscriber.start()
    this.#loop.wake()
    return () => subscriber.end('left')
  }

  get #pageMax(): number {
    return this.#options.pageMax ?? 1_000
  }

  /** One page of the tail for all subscribers. True when there is more to read at once. */
  async #readTail(): Promise<boolean> {
    if (this.#subscribers.size === 0) {
      this.#tail = undefined
      return false
    }
    this.#tail ??= await headCursor(this.#options.db)
    // From here to the end of the page is one round: a subscriber that joins now gets everything read below.
    for (const subscriber of this.#subscribers) subscriber.joinTail(this.#tail)
    const page = await readEventsAfter(this.#options.db, this.#tail, { limit: this.#pageMax })
    this.#tail = page.next
    if (page.events.length > 0) for (const subscriber of this.#subscribers) subscriber.offer(page.events)
    return !page.end
  }
}

/** A limited number at once, the rest in order of arrival. */
class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  async take<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await act()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }
}
