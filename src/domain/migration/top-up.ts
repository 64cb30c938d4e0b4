export interface TopUpAsk {
  readonly now: number
  /** When the last copy began: the copy is as old as that. */
  readonly syncedAt: number
  readonly intervalMs: number
  /** The last top-up begins this long before the window opens. */
  readonly finalLimitMs: number
  /** When the next window opens; null: nobody knows, or it is open. */
  readonly opensAt: number | null
}

/**
 * Whether changed blocks are to be copied now, and else when to look again. Every interval until the window, and
 * once more right before it: that last one really happens, whatever the interval is. A regular one that would come
 * less than `finalLimitMs` before the last one is left out, so that there are not two in a row.
 */
export const decideTopUp = (
  ask: TopUpAsk,
): { readonly due: true } | { readonly due: false; readonly lookAt: number } => {
  const { now, syncedAt, intervalMs, finalLimitMs, opensAt } = ask
  const regular = syncedAt + intervalMs
  if (opensAt === null) return now >= regular ? { due: true } : { due: false, lookAt: regular }
  if (now >= opensAt) return { due: false, lookAt: opensAt }
  const last = opensAt - finalLimitMs
  // The last one is done, or the window came so late that this copy is as fresh as the last would have been.
  if (syncedAt >= last) return { due: false, lookAt: opensAt }
  const next = Math.max(regular, now) + finalLimitMs <= last ? regular : last
  return now >= next ? { due: true } : { due: false, lookAt: next }
}
