import { notedTopUps } from './top-up.ts'

/** How fast bytes went over the last seconds. Only what was moved since it was made is counted, not what lay there. */
export class PaceMeter {
  /** Oldest first; the sums of all bytes up to then. */
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

  /** Bytes a second; null: too little was seen to say. */
  get rate(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.atMs - first.atMs < leastMs) return null
    return Math.round(((last.bytes - first.bytes) * 1_000) / (last.atMs - first.atMs))
  }
}

const spanMs = 10_000
const finestMs = 100
const leastMs = 200

/** The progress of a job, as it is stored. */
export interface JobProgress {
  readonly done: number
  readonly total: number
  readonly phase: string
  readonly rate: number | null
  /** When it last came further, by the database's clock; null: it never did. */
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

/** What is kept with an entry of its copies. */
type CopiesKept = Readonly<Record<string, unknown>> | null

/** What an entry shows while nobody copies and when it has ended: all bytes that were copied to its machine. */
export const copiedInAll = (before: CopiesKept, bytes: number) => {
  const all = readProgress(before).done + bytes
  return { phase: 'copied', done: all, total: all }
}

/** The same after a top-up, with how long the last of them took. */
export const toppedUp = (before: CopiesKept, { bytes, tookMs }: { bytes: number; tookMs: number }) => ({
  ...copiedInAll(before, bytes),
  top_ups_ms: notedTopUps(topUpsOf(before), tookMs),
})

/** How long the last top-ups took. */
export const topUpsOf = (kept: CopiesKept): readonly number[] =>
  Array.isArray(kept?.top_ups_ms) ? kept.top_ups_ms.filter((took) => typeof took === 'number') : []

/** A rate that is older than this is over: nothing moves. */
export const rateHoldsMs = 30_000

export interface Pace {
  /** Null: nothing runs, or nothing is known yet. */
  readonly bytesPerSecond: number | null
  readonly etaSeconds: number | null
}

/** How fast a copy goes now, and how long the rest takes if it goes on so. */
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
  /** When its job began, and when it was last taken up; null: it does not run. */
  readonly runs: { readonly startedAt: number; readonly claimedAt: number } | null
  readonly progress: JobProgress
  /** The platforms on its way that do not answer: what it waits for, whatever its job says. None given: all do. */
  readonly away?: readonly { readonly code: string; readonly message: string }[]
}

export interface Stall {
  readonly cause: string
  readonly message: string
  readonly since: number
}

/** Whoever comes no further for so long is asked why. */
export const stallMs = 60_000

/** What keeps a job from coming further, named after a minute, whether or not it had come far before. */
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
  // One that was just taken up again gets its minute; what it shows is when it last came further all the same.
  if (now - Math.max(since, runs.claimedAt) < stallMs) return null
  const { done, total } = progress
  const message =
    total > 0 && done >= total
      ? 'All bytes are there; the work that follows has not ended yet.'
      : 'The job runs, and neither source nor target has moved a byte of it.'
  return { cause: 'platform-slow', message, since }
}
