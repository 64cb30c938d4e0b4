import type { OperationReason } from '../kinds/reasons.ts'
import type { MovePhase, MoveSeen } from './move-seen.ts'

/** What was seen of a move so far, to tell whether it still progresses. */
export interface MoveTrack {
  readonly phase: MovePhase | null
  /** The most progress within that phase, in the platform's own unit. */
  readonly best: number
  /** The time of consecutive looks without progress; the time in the platform's queue does not count. */
  readonly stuckMs: number
  /** For the rate: the bytes copied at the last look, and its time. */
  readonly copiedBytes: number
  readonly atMs: number
}

export const freshTrack: MoveTrack = { phase: null, best: -1, stuckMs: 0, copiedBytes: 0, atMs: 0 }

/** How long a move may stall. Waiting for a slot does not count. */
export const moveTimeLimit = {
  /** During preparation: after this it is aborted. */
  prepareMs: 300_000,
  /** During the copy: after this it is reported. */
  sayMs: 10_000,
  /** During the copy, without force: after this it is aborted. */
  convergeMs: 150_000,
} as const

export interface MoveVerdict {
  readonly track: MoveTrack
  readonly reason: OperationReason
  /** The progress of the operation, 0 to 100. */
  readonly progress: number
  readonly pastReturn: boolean
  readonly giveUp: boolean
  /** Bytes per second; null: not known. */
  readonly rate: number | null
}

export interface MoveLook {
  readonly seen: MoveSeen
  /** Accepted and not begun: still in the platform's queue. */
  readonly queued: boolean
  /** The guest may be slowed down. */
  readonly force: boolean
  /** Since its start: several workers look, and their clocks differ. */
  readonly atMs: number
  /** The time that one look stands for. */
  readonly lookMs: number
}

/** Judges a running move: its progress, whether it still advances, and whether its time is over. */
export const judgeMove = (before: MoveTrack, look: MoveLook): MoveVerdict => {
  const { seen, queued, force } = look
  const track = follow(before, look)
  const { stuckMs } = track
  const said = { track, rate: rateOf(before, look), pastReturn: false, giveUp: false }
  // Without a phase, only the percentage tells.
  const phase = seen.phase ?? ((seen.percent ?? 0) > 0 ? 'bulk-copy' : 'preparing')
  switch (phase) {
    case 'preparing': {
      // A queued move cannot progress: it has not stalled.
      if (queued) return { ...said, reason: 'move-scheduling', progress: 2 }
      const giveUp = stuckMs >= moveTimeLimit.prepareMs
      if (giveUp) return { ...said, reason: 'move-prepare-stalled', progress: 3, giveUp }
      return { ...said, reason: 'move-preparing', progress: (seen.percent ?? 0) > 0 ? 4 : 3 }
    }
    case 'bulk-copy':
    case 'iterative-copy': {
      const slow = seen.converging === false || stuckMs >= moveTimeLimit.sayMs
      const giveUp = !force && stuckMs >= moveTimeLimit.convergeMs
      const reason: OperationReason = slow ? 'not-converging' : 'move-syncing'
      return { ...said, reason, progress: copyProgress(seen), giveUp }
    }
    case 'switch-over':
      return { ...said, reason: 'move-switching', progress: 91, pastReturn: !seen.abortable }
  }
}

/** The copy covers 10 to 90: the first pass up to 45, later passes the rest. */
const copyProgress = ({ phase, percent }: MoveSeen): number => {
  const of100 = 10 + Math.floor((80 * Math.max(0, Math.min(100, percent ?? 0))) / 100)
  if (phase === 'bulk-copy') return Math.min(45, of100)
  if (phase === 'iterative-copy') return Math.min(90, Math.max(45, of100))
  return Math.min(90, of100)
}

const follow = (before: MoveTrack, { seen, queued, atMs, lookMs }: MoveLook): MoveTrack => {
  const now = seen.percent ?? seen.copiedBytes ?? 0
  const further = seen.phase !== before.phase || now > before.best
  return {
    phase: seen.phase,
    best: further ? now : before.best,
    stuckMs: further || queued ? 0 : before.stuckMs + lookMs,
    copiedBytes: seen.copiedBytes ?? 0,
    atMs,
  }
}

const rateOf = (before: MoveTrack, { seen, atMs }: MoveLook): number | null => {
  const spanMs = atMs - before.atMs
  const bytes = (seen.copiedBytes ?? 0) - before.copiedBytes
  return before.atMs > 0 && spanMs > 0 && bytes > 0 ? (bytes * 1_000) / spanMs : null
}

/** The progress of a move as a sentence for people. */
export const moveText = (
  { seen, rate }: { readonly seen: MoveSeen; readonly rate: number | null },
  to: string,
): string => {
  const { copiedBytes, totalBytes, iteration, throttlePercent } = seen
  const parts = [
    ...(copiedBytes !== null && totalBytes !== null
      ? [`${mib(copiedBytes)} of ${mib(totalBytes)} MiB sent`]
      : []),
    ...(rate === null ? [] : [`${mib(rate)} MiB/s`]),
    ...(iteration !== null && iteration > 1 ? [`pass ${iteration}`] : []),
    ...(throttlePercent !== null && throttlePercent > 0 ? [`guest slowed by ${throttlePercent} %`] : []),
    ...(seen.converging === false ? ['its guest writes faster than is copied'] : []),
  ]
  return `To ${to}: ${phaseText(seen)}${parts.length > 0 ? `, ${parts.join(', ')}` : ''}.`
}

const phaseText = ({ phase, percent }: MoveSeen): string => {
  const done = percent === null ? '' : `, ${percent} %`
  switch (phase) {
    case 'preparing':
      return `preparing${done}`
    case 'bulk-copy':
    case 'iterative-copy':
      return `copying its memory${done}`
    case 'switch-over':
      return `switching over${done}`
    case null:
      return `under way${done}`
  }
}

const mib = (bytes: number): number => Math.floor(bytes / 1024 ** 2)
