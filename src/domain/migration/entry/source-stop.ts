import { utcText } from '../../text/utc-text.ts'
import { type EntryPlace, isCommitted } from './entry.ts'

/** The progress of a power-off that an entry requested of its source. */
export interface SourceStop {
  readonly askedAt: number
  /** When it was seen off; null: not yet, or seen by an older version. */
  readonly offAt: number | null
  /** How long its guest may take to shut down; null: requested by an older version. */
  readonly guestUntil: number | null
}

/** The stop recorded in the row of an entry; null: none was requested, or the source runs again. */
export const sourceStopOf = (row: {
  readonly sourceStoppedAt: Date | null
  readonly sourceOffAt: Date | null
  readonly guestUntil: Date | null
}): SourceStop | null =>
  row.sourceStoppedAt && {
    askedAt: row.sourceStoppedAt.getTime(),
    offAt: row.sourceOffAt?.getTime() ?? null,
    guestUntil: row.guestUntil?.getTime() ?? null,
  }

export interface GuestShutdown {
  readonly askedAt: number
  readonly until: number
  /** What happens at `until` if it still runs: its power is cut, or it is left running. */
  readonly end: 'forced' | 'given-up'
}

/** The shutdown that its guest is given time for; null: none was requested, or the source was seen off. */
export const guestShutdown = (stop: SourceStop | null, place: EntryPlace): GuestShutdown | null =>
  stop === null || stop.offAt !== null || stop.guestUntil === null
    ? null
    : { askedAt: stop.askedAt, until: stop.guestUntil, end: isCommitted(place) ? 'forced' : 'given-up' }

const ends = { forced: 'forced off', 'given-up': 'given up' } as const

/** Since when, and what ends the wait. */
export const shutdownTimes = ({ askedAt, until, end }: GuestShutdown): string =>
  `asked to shut down at ${utcText(askedAt)}, still running, ${ends[end]} at ${utcText(until)}`

/** What becomes of a guest that still runs when the wait is given up. */
export const afterGivingUp = 'When it goes off, also later, it is started again.'

/** The same as a sentence, with what follows. */
export const shutdownText = ({ askedAt, until, end }: GuestShutdown): string => {
  const asked = `Its source was asked to shut down at ${utcText(askedAt)} and still runs`
  return end === 'forced'
    ? `${asked}: it is forced off at ${utcText(until)}.`
    : `${asked}: that is waited for until ${utcText(until)} and then given up. ${afterGivingUp}`
}
