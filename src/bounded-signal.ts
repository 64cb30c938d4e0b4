import { setMaxListeners } from 'node:events'

/** A signal that has an end of its own, and its let-go. */
export interface Bounded {
  /** Fires with `stopping` or at the end of its time, whichever comes first. */
  readonly signal: AbortSignal
  /** Lets go of the timer and of `stopping`: it does not fire any more. Safe to call at any time. */
  end(): void
}

/**
 * Bounds work by its caller's signal and by a time, for whose end `late` gives the reason. Not AbortSignal.any over
 * AbortSignal.timeout: on Node 20 what combines them may be collected while somebody still waits for it, and then it
 * never fires; and each use stays attached to `stopping` for as long as that lives. The timer keeps no process alive.
 */
export const beginBounded = (stopping: AbortSignal, forMs: number, late: () => unknown): Bounded => {
  const bounded = new AbortController()
  const end = () => {
    clearTimeout(timer)
    stopping.removeEventListener('abort', onStop)
  }
  const fire = (reason: unknown) => {
    end()
    bounded.abort(reason)
  }
  const onStop = () => fire(stopping.reason)
  const timer = setTimeout(() => fire(late()), forMs).unref()
  // A signal that stops a process is listened to by all of its calls at once: Node would take that for a leak, and say so.
  setMaxListeners(0, stopping)
  stopping.addEventListener('abort', onStop)
  if (stopping.aborted) onStop()
  return { signal: bounded.signal, end }
}

/** The same for work that nobody sees the end of, such as the body of an answer: it lets go when it fires. */
export const boundedSignal = (stopping: AbortSignal, forMs: number): AbortSignal =>
  beginBounded(stopping, forMs, () => new DOMException(`Not done within ${forMs} ms.`, 'TimeoutError')).signal
