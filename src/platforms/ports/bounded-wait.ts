import type { Clock } from '../../clock.ts'
import { limits } from '../../config/config.ts'
import { isOver, type Pauses, pauseMs, type WaitBounds } from '../../domain/job/bounded-wait.ts'
import { type PlatformCode, PlatformError, passesAtOnce } from './platform-error.ts'

interface Waiting {
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Who calls a platform on account of a job: a `JobContext` and a `JobCall` are such. */
interface Holder extends Waiting {
  /** Throws when the lease may have been lost. */
  confirm(): void
}

export interface RetryLimits {
  /** The source or target that is asked, by its name. */
  readonly of?: string
  readonly stallMs?: number
}

const untilAnswered: Pauses = { shortestMs: 100, longestMs: 1_600, share: 4 }
const mostRepeats = 3

/**
 * Repeats what may be repeated (a look, a write of the same bytes, a call whose name the platform remembers) when
 * there was no answer: one lost answer does not cost a whole turn. Each time only while the lease is held: by then the
 * next holder may have changed what the call would change back. A platform that has been silent for `stallMs` is not
 * asked again: the slot of this turn is worth more to others, and the job comes back later.
 */
export const again = <Result>(
  holder: Holder,
  work: () => Promise<Result>,
  { of = '', stallMs = limits.platformStallMs }: RetryLimits = {},
): Promise<Result> =>
  boundedWait(holder, { ...untilAnswered, limitMs: stallMs, most: mostRepeats }, async () => {
    holder.confirm()
    try {
      return { result: await work() }
    } catch (error) {
      holder.signal.throwIfAborted()
      if (!isPassing(error)) throw error
      return { over: named(error, of) }
    }
  })

/** Tries until there is a result; what stood in its way is thrown when that takes longer than is borne. */
export const boundedWait = async <Result>(
  { signal, clock }: Waiting,
  bounds: WaitBounds,
  once: () => Promise<{ readonly result: Result } | { readonly over: Error }>,
): Promise<Result> => {
  const begunMs = clock.monotonicMs()
  for (let pauses = 0; ; pauses += 1) {
    const tried = await once()
    if ('result' in tried) return tried.result
    const goneMs = clock.monotonicMs() - begunMs
    if (isOver(bounds, { ms: goneMs, pauses })) throw tried.over
    await clock.sleep(pauseMs(bounds, goneMs), signal)
    signal.throwIfAborted()
  }
}

const isPassing = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && passesAtOnce(error)

/** An address says little to a person who knows the platform by its name. */
const named = (error: PlatformError, platform: string): PlatformError => {
  if (platform === '') return error
  const { failure, message, remedy, detail } = error
  const code = error.code as PlatformCode
  return new PlatformError(
    { code, failure, message: `${platform}: ${message}`, remedy, detail: { ...detail, platform } },
    { cause: error },
  )
}
