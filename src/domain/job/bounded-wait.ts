/**
 * How often something is tried, and for how long. Pure: the elapsed time is an input, so the same rule holds within a
 * turn, by the clock of a worker, and over many turns, by that of the database.
 */
export interface Pauses {
  readonly shortestMs: number
  readonly longestMs: number
  /**
   * A pause is this share of the elapsed time: short trouble costs little, and long trouble is not asked about often.
   */
  readonly share: number
}

export interface WaitBounds extends Pauses {
  /** The wait ends after this long. */
  readonly limitMs: number
  /** The wait ends after this many pauses. */
  readonly most?: number
}

/** The pause before the next try. */
export const pauseMs = ({ shortestMs, longestMs, share }: Pauses, goneMs: number): number =>
  Math.min(longestMs, Math.max(shortestMs, goneMs * share))

export const isOver = (
  { limitMs, most = Number.POSITIVE_INFINITY }: WaitBounds,
  gone: { readonly ms: number; readonly pauses: number },
): boolean => gone.ms >= limitMs || gone.pauses >= most
