import { systemClock } from '../../clock.ts'
import { PlatformError } from '../../platforms/platform-error.ts'

const pausesMs = [100, 400, 1_600]

/**
 * Repeats what may be repeated (a look, a write of the same bytes, a call whose name the platform remembers) when
 * there was no answer: one lost answer does not cost a whole turn.
 */
export const again = async <Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> => {
  for (const pauseMs of pausesMs) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      if (!isPassing(error)) throw error
      await systemClock.sleep(pauseMs, signal)
      signal.throwIfAborted()
    }
  }
  return work()
}

const isPassing = (error: unknown): boolean =>
  error instanceof PlatformError &&
  (error.class === 'transient' || error.class === 'environment') &&
  error.code !== 'platform-cursor-lost' &&
  error.code !== 'platform-no-capacity'
