import type { OperationReason } from '../kinds/reasons.ts'
import type { MovePhase, MoveSeen } from './move-seen.ts'

/** What was seen of a move so far, as far as it tells whether it still comes further. */
export interface MoveTrack {
  readonly phase: MovePhase | null
  /** The farthest it was within that phase, by whatever its platform counts. */
  readonly best: number
  /** Looks in a row that saw it no further, as time; none of it while the platform has it in its own queue. */
  readonly stuckMs: number
  /** For the rate: what had been copied at the last look, and when that was. */
  readonly copiedBytes: number
  readonly atMs: number
}

export const freshTrack: MoveTrack = { phase: null, best: -1, stuckMs: 0, copiedBytes: 0, atMs: 0 }

/** How long a move may stand still. Waiting for a slot is before all of this. */
export const moveTimeLimit = {
  /** While it prepares: then it is aborted. */
  prepareMs: 300_000,
  /** While it copies: then it is said. */
  sayMs: 10_000,
  /** While it copies, without force: then it is aborted. */
  convergeMs: 150_000,
} as const

export interface MoveVerdict {
  readonly track: MoveTrack
  readonly reason: OperationReason
  /** Of the operation, 0 to 100. */
  readonly progress: number
  readonly pastReturn: boolean
  readonly giveUp: boolean
  /** Bytes a second; null: not known. */
  readonly rate: number | null
}

export interface MoveLook {
  readonly seen: MoveSeen
  /** Accepted, and nothing of it done: the platform has not taken it up. */
  readonly queued: boolean
  /** The guest may be slowed down. */
  readonly force: boolean
  /** Since its beginning: looks are of many workers, and their clocks differ. */
  readonly atMs: number
  /** What one look stands for. */
  readonly lookMs: number
}

/** What a look at a move under way says: how far it is, whether it comes further, and whether it has had its time. */
export const judgeMove = (before: MoveTrack, look: MoveLook): MoveVerdict => {
  const { seen, queued, force } = look
  const track = follow(before, look)
  const { stuckMs } = track
  const said = { track, rate: rateOf(before, look), pastReturn: false, giveUp: false }
  // Without a phase only the percent tells where it is.
  const phase = seen.phase ?? ((seen.percent ?? 0) > 0 ? 'bulk-copy' : 'preparing')
  switch (phase) {
    case 'preparing': {
      // What stands in a queue cannot come further: it is not stuck.
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

/** Copying is from 10 to 90: the first pass up to 45, those after it the rest. */
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

/** How it goes, as a sentence for people. */
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
