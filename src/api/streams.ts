import type { ApiLimits } from './api-limits.ts'
import { problem } from './problem.ts'

/** The streams that are open now: bounded in number, and all ended before the server closes. */
export class Streams {
  readonly #limits: Pick<ApiLimits, 'streams' | 'streamsPerActor'>
  readonly #open = new Map<AbortController, string>()
  #closing = false

  constructor(limits: Pick<ApiLimits, 'streams' | 'streamsPerActor'>) {
    this.#limits = limits
  }

  get size(): number {
    return this.#open.size
  }

  /** Registers a stream of `actor`; its signal is aborted when the process stops. Call `leave` at its end. */
  enter(actor: string): AbortController {
    if (this.#closing) throw problem('shutting-down', 'This process is stopping.', { retryAfterSeconds: 1 })
    const mine = [...this.#open.values()].filter((name) => name === actor).length
    if (this.#open.size >= this.#limits.streams || mine >= this.#limits.streamsPerActor)
      throw problem(
        'too-many-streams',
        `${actor} has ${mine} open streams; ${this.#open.size} are open in all.`,
        {
          retryAfterSeconds: 5,
        },
      )
    const stream = new AbortController()
    this.#open.set(stream, actor)
    return stream
  }

  leave(stream: AbortController): void {
    this.#open.delete(stream)
  }

  /** Ends them all and lets no new one in. */
  close(): void {
    this.#closing = true
    for (const stream of this.#open.keys()) stream.abort()
  }
}
