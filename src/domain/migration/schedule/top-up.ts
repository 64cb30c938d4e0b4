export interface TopUpAsk {
  readonly now: number
  /** When the last copy began: the copy is as old as that. */
  readonly syncedAt: number
  readonly intervalMs: number
  /** None begins so shortly before the window opens. */
  readonly finalLimitMs: number
  /** How long one will take: see `topUpForecast`. */
  readonly forecastMs: number
  /** When the next window opens; null: nobody knows, or it is open. */
  readonly opensAt: number | null
}

const longestLeadMs = 30_000
const shortestLeadMs = 2_000

/** So long before the last moment the last one is due: whoever looks, and the worker, may be that late. */
const leadMs = (finalLimitMs: number): number =>
  Math.min(longestLeadMs, Math.max(shortestLeadMs, finalLimitMs / 10))

/** The last moment at which a top-up may begin: it ends before the window opens, if it takes no longer than foreseen. */
export const latestTopUp = ({
  opensAt,
  finalLimitMs,
  forecastMs,
}: Pick<TopUpAsk, 'finalLimitMs' | 'forecastMs'> & { readonly opensAt: number }): number =>
  opensAt - Math.max(finalLimitMs, forecastMs)

/**
 * Whether changed blocks are to be copied now, and else when to look again. Every interval until the window, and
 * once more right before the last moment for it: that last one really happens, whatever the interval is. A regular
 * one that would come too shortly before the last one is left out, so that there are not two in a row.
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
  // The last one is done, or the window came so late that this copy is as fresh as the last would have been.
  if (syncedAt >= last) return { due: false, lookAt: opensAt }
  const next = Math.max(regular, now) + (opensAt - latest) <= last ? regular : last
  return now >= next ? { due: true } : { due: false, lookAt: next }
}

/** How long the last top-ups of an entry took, the newest last: two are kept. */
export const notedTopUps = (before: readonly number[], tookMs: number): readonly number[] => [
  ...before.slice(-1),
  Math.round(tookMs),
]

const margin = 1.5

/**
 * Rather too long than too short; but one that stood still for hours tells nothing while the other one did not. 0: none
 * was made yet, and nobody can say how much has changed since the first copy.
 */
export const topUpForecast = (tookMs: readonly number[]): number =>
  tookMs.length === 0 ? 0 : Math.min(...tookMs) * margin

/** A copy that ends within that may do so before the cutover begins; any other would keep it waiting. */
const endsSoonMs = 60_000

/** Whether a top-up that is under way when the window opens ends so soon that the cutover waits for it. */
export const endsSoon = (remainingMs: number | null): boolean =>
  remainingMs !== null && remainingMs <= endsSoonMs
