import { notedTopUps } from './top-up.ts'

/** The rate of bytes over the last seconds. Only bytes moved since its creation count. */
export class PaceMeter {
  /** Oldest first; the total of bytes at each time. */
  readonly #samples: { atMs: number; bytes: number }[]

  constructor(atMs: number) {
    this.#samples = [{ atMs, bytes: 0 }]
  }

  add(atMs: number, bytes: number): void {
    const samples = this.#samples
    const last = samples.at(-1)
    const before = samples.at(-2)
    const sum = (last?.bytes ?? 0) + bytes
    if (last && before && atMs - before.atMs < finestMs) Object.assign(last, { atMs, bytes: sum })
    else samples.push({ atMs, bytes: sum })
    while (samples.length > 2 && (samples[1]?.atMs ?? atMs) <= atMs - spanMs) samples.shift()
  }

  /** Bytes per second; null: too few samples. */
  get rate(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.atMs - first.atMs < leastMs) return null
    return Math.round(((last.bytes - first.bytes) * 1_000) / (last.atMs - first.atMs))
  }
}

const spanMs = 10_000
const finestMs = 100
const leastMs = 200

/** The stored progress of a job. */
export interface JobProgress {
  readonly done: number
  readonly total: number
  readonly phase: string
  readonly rate: number | null
  /** When it last advanced, by the database's clock; null: never. */
  readonly lastProgressAt: number | null
}

export const readProgress = (stored: Readonly<Record<string, unknown>> | null): JobProgress => {
  const { done, total, phase, rate, last_progress_at: at } = stored ?? {}
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
  return {
    done: number(done),
    total: number(total),
    phase: typeof phase === 'string' ? phase : '',
    rate: typeof rate === 'number' ? rate : null,
    lastProgressAt: typeof at === 'string' ? Date.parse(at) : null,
  }
}

/** The copies recorded with an entry. */
type CopiesKept = Readonly<Record<string, unknown>> | null

/** What an entry shows between copies and at its end: all bytes copied to its machine. */
export const copiedInAll = (before: CopiesKept, bytes: number) => {
  const all = readProgress(before).done + bytes
  return { phase: 'copied', done: all, total: all }
}

/** The same after a top-up, with the duration of the last top-ups. */
export const toppedUp = (before: CopiesKept, { bytes, tookMs }: { bytes: number; tookMs: number }) => ({
  ...copiedInAll(before, bytes),
  top_ups_ms: notedTopUps(topUpsOf(before), tookMs),
})

/** The duration of the last top-ups. */
export const topUpsOf = (kept: CopiesKept): readonly number[] =>
  Array.isArray(kept?.top_ups_ms) ? kept.top_ups_ms.filter((took) => typeof took === 'number') : []

/** An older rate no longer counts: nothing moves. */
export const rateHoldsMs = 30_000

export interface Pace {
  /** Null: nothing runs, or nothing is known yet. */
  readonly bytesPerSecond: number | null
  readonly etaSeconds: number | null
}

/** The current rate of a copy, and the predicted rest. */
export const paceOf = (progress: JobProgress, at: { readonly now: number; readonly runs: boolean }): Pace => {
  const { done, total, rate, lastProgressAt } = progress
  if (!at.runs || rate === null || lastProgressAt === null) return { bytesPerSecond: null, etaSeconds: null }
  if (at.now - lastProgressAt > rateHoldsMs) return { bytesPerSecond: 0, etaSeconds: null }
  return { bytesPerSecond: rate, etaSeconds: rate > 0 ? Math.ceil(Math.max(0, total - done) / rate) : null }
}

export interface StallAsk {
  readonly now: number
  /** What its job waits for. */
  readonly wait: { readonly cause: string; readonly message: string; readonly since: number } | null
  /** When its job began, and when it was last claimed; null: it does not run. */
  readonly runs: { readonly startedAt: number; readonly claimedAt: number } | null
  readonly progress: JobProgress
  /** The platforms involved that do not answer: the wait's cause, whatever the job says. Empty: all answer. */
  readonly away?: readonly { readonly code: string; readonly message: string }[]
}

export interface Stall {
  readonly cause: string
  readonly message: string
  readonly since: number
}

/** After this long without progress the cause is shown. */
export const stallMs = 60_000

/** What keeps a job from advancing, named after a minute, whether or not it had advanced before. */
export const stallOf = (ask: StallAsk): Stall | null => {
  const stall = standsStill(ask)
  const [first] = ask.away ?? []
  if (!stall || !first) return stall
  return { ...stall, cause: first.code, message: (ask.away ?? []).map(({ message }) => message).join(' ') }
}

const standsStill = ({ now, wait, runs, progress }: StallAsk): Stall | null => {
  if (wait) return now - wait.since >= stallMs ? wait : null
  if (!runs) return null
  const since = progress.lastProgressAt ?? runs.startedAt
  // A job that was just claimed gets its minute; the shown time is still that of its last progress.
  if (now - Math.max(since, runs.claimedAt) < stallMs) return null
  const { done, total } = progress
  const message =
    total > 0 && done >= total
      ? 'All bytes are there; the work that follows has not ended yet.'
      : 'The job runs, and neither source nor target has moved a byte of it.'
  return { cause: 'platform-slow', message, since }
}
