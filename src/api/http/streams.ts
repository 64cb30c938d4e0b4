import type { Db } from '../../../db/client.ts'
import { findStreamHolders, type StreamHolder } from '../../../db/queries/access/find-stream-holders.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../process/log.ts'
import type { ApiLimits } from '../wire/api-limits.ts'
import { problem } from '../wire/problem.ts'
import type { Actor } from './env.ts'

interface StreamsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly limits: Pick<ApiLimits, 'streams' | 'streamsPerActor' | 'streamCheckMs'>
}

type Holder = Pick<Actor, 'name' | 'tokenId' | 'session'>

/**
 * The streams that are open now: bounded in number, ended when whoever opened them may no longer (the token was
 * revoked or has expired, somebody signed out), and all of them before the server closes.
 */
export class Streams {
  readonly #deps: StreamsDeps
  readonly #open = new Map<AbortController, Holder>()
  #timer: NodeJS.Timeout | undefined
  #closing = false

  constructor(deps: StreamsDeps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#open.size
  }

  /** Registers a stream of `actor`; its signal is aborted when it has to end. Call `leave` at its end. */
  enter(actor: Holder): AbortController {
    const { limits } = this.#deps
    if (this.#closing) throw problem('shutting-down', 'This process is stopping.', { retryAfterSeconds: 1 })
    const mine = [...this.#open.values()].filter(({ name }) => name === actor.name).length
    if (this.#open.size >= limits.streams || mine >= limits.streamsPerActor)
      throw problem(
        'too-many-streams',
        `${actor.name} has ${mine} open streams; ${this.#open.size} are open in all.`,
        { retryAfterSeconds: 5 },
      )
    const stream = new AbortController()
    this.#open.set(stream, actor)
    this.#checkLater()
    return stream
  }

  leave(stream: AbortController): void {
    this.#open.delete(stream)
    if (this.#open.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Ends them all and lets no new one in. */
  close(): void {
    this.#closing = true
    clearTimeout(this.#timer)
    for (const stream of this.#open.keys()) stream.abort()
  }

  #checkLater(): void {
    if (this.#closing || this.#open.size === 0) return
    this.#timer ??= setTimeout(() => void this.#check(), this.#deps.limits.streamCheckMs).unref()
  }

  /** One look at the database for all of them. While it is away nothing new can be read, and nobody is sent away. */
  async #check(): Promise<void> {
    const open = [...this.#open]
    try {
      const holders = open.map(([, { tokenId, session }]): StreamHolder => ({ tokenId, session }))
      const mayGoOn = await findStreamHolders(this.#deps.db, holders)
      const nowMs = this.#deps.clock.now()
      for (const [at, [stream, { session }]] of open.entries())
        if (!mayGoOn.has(at) || (session && session.expiresAtMs <= nowMs)) stream.abort()
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'who has streams open was not looked up; that is tried again')
    }
    this.#timer = undefined
    this.#checkLater()
  }
}
