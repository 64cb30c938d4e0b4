/** A target that is to run, as last seen, and what was done so far. */
export interface BootFacts {
  readonly power: 'on' | 'off' | 'suspended'
  /** Starts, including failed ones. */
  readonly starts: number
  /** Since the last start or failed start. */
  readonly waitedMs: number
  /** Something it must show is still missing. */
  readonly lacking: boolean
  readonly bootLimitMs: number
  /** How often a failed start is retried. */
  readonly retries: number
}

export type BootDecision =
  | { readonly do: 'start' }
  | { readonly do: 'wait'; readonly forMs: number; readonly forWhat: string }
  | { readonly do: 'judge' }
  | { readonly do: 'give-up' }

const lookMs = 2_000
const firstPauseMs = 2_000
const longestPauseMs = 60_000

const pauseMs = (starts: number): number =>
  Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(starts - 1, 10))

/** Keeps looking, and starts the target again while it does not run, as often as the batch allows. */
export const decideBoot = (facts: BootFacts): BootDecision => {
  const { power, starts, waitedMs, lacking, bootLimitMs, retries } = facts
  if (power === 'on' && starts > 0) {
    if (lacking && waitedMs < bootLimitMs)
      return { do: 'wait', forMs: lookMs, forWhat: 'its guest to answer as it did before' }
    return { do: 'judge' }
  }
  if (starts === 0) return { do: 'start' }
  if (starts > retries) return { do: 'give-up' }
  const pause = pauseMs(starts)
  return waitedMs < pause
    ? { do: 'wait', forMs: pause - waitedMs, forWhat: 'the next try to start it' }
    : { do: 'start' }
}
