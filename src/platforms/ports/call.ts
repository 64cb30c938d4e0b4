import { type Bounded, beginBounded } from '../../bounded-signal.ts'
import { FencedError } from '../../errors.ts'
import { PlatformError } from './platform-error.ts'

/** What every call of a platform takes. */
export interface Call {
  /** Ends the call; what the platform has already begun may still happen (`unknown`). */
  readonly signal: AbortSignal
  /** The call ends by itself after this, with an error that says so. */
  readonly timeoutMs: number
  /**
   * The call ends, too, when the platform makes no progress for so long: it does not begin its answer, or takes or sends
   * nothing. Left out: as long as the driver holds to be right for what is asked.
   */
  readonly stallMs?: number
  /**
   * The name of this intent, the same on every try. A platform that has seen it does the thing once; one that
   * cannot remember names carries it along (task description, ownership tag), so that `find` can look for it.
   */
  readonly name: string
}

/**
 * A call under way: its signal fires at its deadline (with `platform-timeout`) or with the caller's own. To be ended once,
 * whatever happened. For work that outlives one function: a stream. Everything else takes `withinCall`.
 */
export const beginCall = (call: Call): Bounded => {
  call.signal.throwIfAborted()
  return beginBounded(call.signal, call.timeoutMs, () => timedOut(call.timeoutMs))
}

/** Runs `work` under the call's deadline and its signal, whichever ends first. */
export const withinCall = async <Result>(
  call: Call,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const begun = beginCall(call)
  try {
    return await work(begun.signal)
  } finally {
    begun.end()
  }
}

/**
 * Whether a call ended because somebody else goes on with its intent under the same name: then nothing is cleaned
 * up, as it may be theirs already.
 */
export const isHandedOver = (error: unknown): boolean => error instanceof FencedError

const timedOut = (timeoutMs: number): PlatformError =>
  new PlatformError({
    code: 'platform-timeout',
    failure: 'unknown',
    message: `The platform did not finish within ${timeoutMs} ms.`,
    remedy: 'Nothing to do when it is only busy: the call is tried again. Otherwise look at the platform.',
    detail: { timeout_ms: timeoutMs },
  })
