import type { Db } from '../../../db/client.ts'
import { openDb } from '../../../db/client.ts'
import { tryLeadership } from '../../../db/queries/fleet/try-leadership.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../process/log.ts'
import { Loop, type Service } from '../../process/service.ts'

/**
 * A leader that was frozen or cut off silently would keep its lock until TCP gives up, two hours by default, and no
 * conductor would lead. Several polls long, so that a slow leader stays.
 */
const silentMs = 10_000

export interface LeaderOptions {
  readonly databaseUrl: string
  readonly clock: Clock
  readonly log: Logger
  readonly pollMs?: number
  readonly onElected: () => void
  readonly onDeposed: () => Promise<void>
}

/**
 * One leader by a session's advisory lock. The lock lives exactly as long as its connection, so a leader that
 * cannot reach Postgres has lost it. Two leaders for a moment are harmless: all their duties are idempotent.
 */
export class Leader implements Service {
  readonly name = 'leader'
  readonly #options: LeaderOptions
  readonly #loop: Loop
  #session: Db | undefined
  #leading = false

  constructor(options: LeaderOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'leader',
      intervalMs: options.pollMs ?? 1_000,
      clock: options.clock,
      log: options.log,
      runOnce: () => this.runOnce(),
    })
  }

  get leading(): boolean {
    return this.#leading
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#step(false)
    await this.#session?.end({ timeout: 1 })
    this.#session = undefined
  }

  async runOnce(): Promise<boolean> {
    this.#session ??= openDb({
      url: this.#options.databaseUrl,
      max: 1,
      applicationName: 'drover-leader',
      statementMs: 5_000,
      idleSessionMs: silentMs,
    })
    try {
      await this.#step(await tryLeadership(this.#session))
    } catch (error) {
      const session = this.#session
      this.#session = undefined
      await this.#step(false)
      await session.end({ timeout: 1 }).catch(() => {})
      throw error
    }
    return false
  }

  async #step(leading: boolean): Promise<void> {
    if (leading === this.#leading) return
    this.#leading = leading
    this.#options.log.info({ leading }, leading ? 'this conductor leads' : 'this conductor no longer leads')
    if (leading) this.#options.onElected()
    else await this.#options.onDeposed()
  }
}
