import {
  type EventCursor,
  type EventFilter,
  type EventPage,
  type FeedEvent,
  matchesFilter,
  startCursor,
} from '../../../db/queries/events/read-events-after.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../process/log.ts'
import { compareCursors } from './event-cursor.ts'

/** `left`: it left. `slow`: its buffer overflowed. `failed`: its callback threw. `stopped`: the feed stopped. */
export type SubscriberEnd = 'left' | 'slow' | 'failed' | 'stopped'

export type OnEvents = (events: readonly FeedEvent[]) => void | Promise<void>

export interface FeedSubscriberOptions {
  readonly filter: EventFilter
  readonly after: EventCursor | 'start' | 'now'
  readonly onEvents: OnEvents
  readonly onEnd: (end: SubscriberEnd) => void
  readonly bufferMax: number
  readonly read: (cursor: EventCursor, filter: EventFilter) => Promise<EventPage>
  /** Called when it wants to join, so that the tail does not wait for its next tick. */
  readonly joined: () => void
  readonly clock: Clock
  readonly log: Logger
}

const readAgainMs = 500

/**
 * One subscriber of the feed. It first reads past events itself; at their end it asks to join the tail, keeps what the
 * tail offers, reads once more to the end, and continues with what it kept. So nothing is missed between the join and
 * that last reading, and events that arrive twice are recognised by their cursor.
 */
export class FeedSubscriber {
  readonly #options: FeedSubscriberOptions
  readonly #ended = new AbortController()
  readonly #tailJoined = deferred()
  #wantsTail = false
  #onTail = false
  #position: EventCursor
  #kept: FeedEvent[] = []
  #more = deferred()

  constructor(options: FeedSubscriberOptions) {
    this.#options = options
    this.#position = typeof options.after === 'string' ? startCursor : options.after
  }

  start(): void {
    this.#run().catch((error: unknown) => {
      if (this.#ended.signal.aborted) return
      this.#options.log.warn({ err: error }, 'a subscriber of the event feed failed and was dropped')
      this.end('failed')
    })
  }

  end(end: SubscriberEnd): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.#kept = []
    this.#more.resolve()
    this.#tailJoined.resolve()
    this.#options.onEnd(end)
  }

  /** Called at the start of each round of the tail, with the position that it reads from. */
  joinTail(tail: EventCursor): void {
    if (!this.#wantsTail || this.#onTail) return
    this.#onTail = true
    if (this.#options.after === 'now') this.#position = tail
    this.#tailJoined.resolve()
  }

  /** Events of the tail. Kept until the subscriber has time for them, up to a limit. */
  offer(events: readonly FeedEvent[]): void {
    if (!this.#onTail || this.#ended.signal.aborted) return
    const wanted = events.filter((event) => matchesFilter(event, this.#options.filter))
    if (wanted.length === 0) return
    if (this.#kept.length + wanted.length > this.#options.bufferMax) {
      this.end('slow')
      return
    }
    this.#kept.push(...wanted)
    this.#more.resolve()
  }

  async #run(): Promise<void> {
    if (this.#options.after !== 'now') await this.#catchUp()
    await this.#join()
    // Past events may have grown between their end and the join.
    if (this.#options.after !== 'now') await this.#catchUp()
    while (!this.#ended.signal.aborted) {
      await this.#more.promise
      this.#more = deferred()
      const events = this.#kept.filter((event) => compareCursors(event.cursor, this.#position) > 0)
      this.#kept = []
      await this.#deliver(events)
    }
  }

  async #join(): Promise<void> {
    this.#wantsTail = true
    this.#options.joined()
    await this.#tailJoined.promise
  }

  async #catchUp(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const page = await this.#read()
      if (!page) continue
      await this.#deliver(page.events)
      this.#position = page.next
      if (page.end) return
    }
  }

  async #read(): Promise<EventPage | undefined> {
    try {
      return await this.#options.read(this.#position, this.#options.filter)
    } catch (error) {
      if (this.#ended.signal.aborted) return undefined
      this.#options.log.warn({ err: error }, 'past events could not be read; it will be tried again')
      await this.#options.clock.sleep(readAgainMs, this.#ended.signal)
      return undefined
    }
  }

  async #deliver(events: readonly FeedEvent[]): Promise<void> {
    const last = events.at(-1)
    if (!last || this.#ended.signal.aborted) return
    await this.#options.onEvents(events)
    this.#position = last.cursor
  }
}

interface Deferred {
  readonly promise: Promise<void>
  resolve(): void
}

const deferred = (): Deferred => {
  let resolve: () => void = () => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
