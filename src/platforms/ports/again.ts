import type { Clock } from '../../clock.ts'
import { limits } from '../../config/config.ts'
import { type PlatformCode, PlatformError } from './platform-error.ts'

const pausesMs = [100, 400, 1_600]

export interface RetryLimits {
  /** The source or target that is asked, by its name. */
  readonly of?: string
  readonly stallMs?: number
}

/**
 * Repeats what may be repeated (a look, a write of the same bytes, a call whose name the platform remembers) when
 * there was no answer: one lost answer does not cost a whole turn. A platform that has been silent for `stallMs` is not
 * asked again: the slot of this turn is worth more to others, and the job comes back later.
 */
export const again = async <Result>(
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
  work: () => Promise<Result>,
  { of = '', stallMs = limits.platformStallMs }: RetryLimits = {},
): Promise<Result> => {
  const begunMs = clock.monotonicMs()
  for (let tries = 0; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      const pauseMs = pausesMs[tries]
      const isOver = pauseMs === undefined || clock.monotonicMs() - begunMs >= stallMs
      if (!isPassing(error) || isOver) throw named(error, of)
      await clock.sleep(pauseMs, signal)
      signal.throwIfAborted()
    }
  }
}

const isPassing = (error: unknown): error is PlatformError =>
  error instanceof PlatformError &&
  (error.class === 'transient' || error.class === 'environment') &&
  error.code !== 'platform-cursor-lost' &&
  error.code !== 'platform-no-capacity'

/** An address says little to a person who knows the platform by its name. */
const named = (error: unknown, platform: string): unknown => {
  if (platform === '' || !isPassing(error)) return error
  const { failure, message, remedy, detail } = error
  const code = error.code as PlatformCode
  return new PlatformError(
    { code, failure, message: `${platform}: ${message}`, remedy, detail: { ...detail, platform } },
    { cause: error },
  )
}
