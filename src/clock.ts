/**
 * Time as an input, for what runs in this process: timers, backoff in memory, local deadlines. Leases and
 * everything stored go by the database's clock alone.
 */
export interface Clock {
  /** Milliseconds of wall time. For people, never for leases. */
  now(): number
  /** Milliseconds that only go forward, for measuring. */
  monotonicMs(): number
  /** Resolves after `ms`, or as soon as `signal` is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve()
        return
      }
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done, { once: true })
    }),
}
