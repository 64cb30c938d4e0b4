import { systemClock } from '../../clock.ts'
import type { DatabaseUrls } from '../../config/database-urls.ts'
import type { Logger } from '../../process/log.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'

const restartsMax = 5
const healthyMs = 60_000

export interface DatabaseOptions {
  readonly dataDir: string
  readonly log: Logger
  readonly say: (text: string) => void
  /** It does not come back. */
  readonly onLost: (why: string) => void
}

/** The embedded Postgres, started again at the same address when it ends without being asked to. */
export class Database {
  readonly #options: DatabaseOptions
  #server: EmbeddedPostgres
  #stopping = false
  #restarts = 0
  #watch: Promise<void>

  private constructor(options: DatabaseOptions, server: EmbeddedPostgres) {
    this.#options = options
    this.#server = server
    this.#watch = this.#keepRunning()
  }

  static async start(options: DatabaseOptions): Promise<Database> {
    return new Database(options, await startEmbeddedPostgres(options))
  }

  get urls(): DatabaseUrls {
    return this.#server.urls
  }

  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    this.#stopping = true
    await this.#server.stop(mode)
    await this.#watch
  }

  async #keepRunning(): Promise<void> {
    const { say, onLost } = this.#options
    while (!this.#stopping) {
      const began = systemClock.monotonicMs()
      await this.#server.ended
      if (this.#stopping) return
      if (systemClock.monotonicMs() - began > healthyMs) this.#restarts = 0
      this.#restarts += 1
      if (this.#restarts > restartsMax) return onLost(`Postgres ended ${this.#restarts} times in a row`)
      say(`Postgres ended by itself; it is started again (see ${this.#server.logFile})`)
      try {
        const { port } = this.#server
        const server = await startEmbeddedPostgres({ ...this.#options, port })
        const moved = server.port !== port
        this.#server = server
        if (this.#stopping) return await server.stop()
        if (!moved) say('Postgres runs again')
        else return onLost(`port ${port} of Postgres was taken by another program`)
      } catch (error) {
        // While we stop, a server that did not come up is a server that is stopped.
        return this.#stopping ? undefined : onLost((error as Error).message)
      }
    }
  }
}
