import type { Clock } from '../../clock.ts'

export interface BucketOptions {
  readonly clock: Clock
  /** How many may come at once. */
  readonly burst: number
  readonly refillMs: number
  /** How many keys are remembered; the one not seen for longest goes first. */
  readonly keys: number
}

interface Bucket {
  tokens: number
  atMs: number
}

/** Token buckets in memory, one a key. A forgotten key starts full, which is what a quiet one is anyway. */
export class TokenBuckets {
  readonly #options: BucketOptions
  readonly #buckets = new Map<string, Bucket>()

  constructor(options: BucketOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#buckets.size
  }

  /** Takes one token. Returns 0 when there was one, else how long until there is. */
  take(key: string): number {
    const bucket = this.#filled(key)
    if (bucket.tokens < 1) return (1 - bucket.tokens) * this.#options.refillMs
    bucket.tokens -= 1
    return 0
  }

  /** How long until there is a token, without taking one; 0 when there is one. */
  waitMs(key: string): number {
    const known = this.#buckets.has(key)
    if (!known) return 0
    const bucket = this.#filled(key)
    return bucket.tokens < 1 ? (1 - bucket.tokens) * this.#options.refillMs : 0
  }

  #filled(key: string): Bucket {
    const { clock, burst, refillMs, keys } = this.#options
    const nowMs = clock.monotonicMs()
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs }
    bucket.tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.atMs) / refillMs)
    bucket.atMs = nowMs
    // A Map keeps insertion order: deleted and set again, the key is the youngest.
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > keys) {
      const oldest = this.#buckets.keys().next()
      if (!oldest.done) this.#buckets.delete(oldest.value)
    }
    return bucket
  }
}
