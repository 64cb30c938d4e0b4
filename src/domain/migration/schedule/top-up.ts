export interface TopUpAsk {
  readonly now: number
  /** When the last copy began: the age of the copy. */
  readonly syncedAt: number
  readonly intervalMs: number
  /** No top-up begins this shortly before the window opens. */
  readonly finalLimitMs: number
  /** The predicted time of a top-up: see `topUpForecast`. */
  readonly forecastMs: number
  /** When the next window opens; null: unknown, or open now. */
  readonly opensAt: number | null
}

const longestLeadMs = 30_000
const shortestLeadMs = 2_000

/** The last top-up is due this long before its latest moment: scheduler and worker may be that late. */
const leadMs = (finalLimitMs: number): number =>
  Math.min(longestLeadMs, Math.max(shortestLeadMs, finalLimitMs / 10))

/** The latest start of a top-up that ends before the window opens, if the prediction holds. */
export const latestTopUp = ({
  opensAt,
  finalLimitMs,
  forecastMs,
}: Pick<TopUpAsk, 'finalLimitMs' | 'forecastMs'> & { readonly opensAt: number }): number =>
  opensAt - Math.max(finalLimitMs, forecastMs)

/**
 * Whether changed blocks are to be copied now, and otherwise when to look again: every interval until the window, and
 * once more right before the latest moment, whatever the interval. A regular top-up shortly before the last one is
 * left out, so that two do not follow each other.
 */
export const decideTopUp = (
  ask: TopUpAsk,
): { readonly due: true } | { readonly due: false; readonly lookAt: number } => {
  const { now, syncedAt, intervalMs, finalLimitMs, opensAt } = ask
  const regular = syncedAt + intervalMs
  if (opensAt === null) return now >= regular ? { due: true } : { due: false, lookAt: regular }
  const latest = latestTopUp({ ...ask, opensAt })
  if (now > latest) return { due: false, lookAt: opensAt }
  const last = latest - leadMs(finalLimitMs)
  // The last top-up is done, or the window came so late that this copy is as fresh as the last one would have been.
  if (syncedAt >= last) return { due: false, lookAt: opensAt }
  const next = Math.max(regular, now) + (opensAt - latest) <= last ? regular : last
  return now >= next ? { due: true } : { due: false, lookAt: next }
}

/** The duration of an entry's last top-ups, newest last: two are kept. */
export const notedTopUps = (before: readonly number[], tookMs: number): readonly number[] => [
  ...before.slice(-1),
  Math.round(tookMs),
]

const margin = 1.5

/**
 * Rather too long than too short; but a top-up that was stalled for hours counts only if the other one was too. 0:
 * none was made yet, and nobody knows how much has changed since the first copy.
 */
export const topUpForecast = (tookMs: readonly number[]): number =>
  tookMs.length === 0 ? 0 : Math.min(...tookMs) * margin

/** A copy that ends within this time may end before the cutover begins; a longer one would delay it. */
const endsSoonMs = 60_000

/** Whether a top-up that runs when the window opens ends so soon that the cutover waits for it. */
export const endsSoon = (remainingMs: number | null): boolean =>
  remainingMs !== null && remainingMs <= endsSoonMs
