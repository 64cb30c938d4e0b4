import type { Db } from '../../../db/client.ts'
import { listLiveHashes } from '../../../db/queries/access/list-live-hashes.ts'
import type { Clock } from '../../clock.ts'

/** So long what was read counts: a token that is younger than this may have to wait with the guessers. */
const freshMs = 1_000
/** More tokens than anybody has; those used last are kept. */
const tokensMax = 20_000

/**
 * Tells a token that may be good from a guess, in memory: while somebody guesses, everybody else at the same address
 * goes on, and the guesses cost one look at the database in a second. Whether a token is good says the database.
 */
export class LiveTokens {
  readonly #deps: { readonly db: Db; readonly clock: Clock }
  #hashes: ReadonlySet<string> = new Set()
  #readAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(deps: { readonly db: Db; readonly clock: Clock }) {
    this.#deps = deps
  }

  async mayBe(hash: Buffer): Promise<boolean> {
    if (this.#deps.clock.monotonicMs() - this.#readAtMs >= freshMs) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined
      })
      await this.#reading
    }
    return this.#hashes.has(hash.toString('hex'))
  }

  async #read(): Promise<void> {
    this.#hashes = new Set(await listLiveHashes(this.#deps.db, tokensMax))
    this.#readAtMs = this.#deps.clock.monotonicMs()
  }
}
