import { many } from '../../text/sentence.ts'
import { utcText } from '../../text/utc-text.ts'
import { type EntryPlace, isCommitted } from '../entry/entry.ts'
import {
  afterGivingUp,
  type GuestShutdown,
  guestShutdown,
  type SourceStop,
  shutdownTimes,
} from '../entry/source-stop.ts'
import type { BatchState } from './batch-table.ts'

/** What decides how long a source that we switched off stays off. */
export interface DownFacts {
  readonly now: number
  readonly place: EntryPlace
  /** The code of the entry's reason. */
  readonly reason: string
  /** The request to the source; null: none, or the source runs again. */
  readonly stop: SourceStop | null
  readonly batchState: BatchState
  /** A cancel or a reset by a person is pending; its job stops first. */
  readonly wanted: boolean
  /** The last failure of its withdrawal; null: none. */
  readonly withdrawFailed: string | null
  /** The window that the entry holds. */
  readonly window: { readonly name: string; readonly endsAt: number | null } | null
  /** A sentence for each platform involved that does not answer. */
  readonly away: readonly string[]
}

/** A machine that is off because of Drover, or about to be. */
export interface Down {
  /** When it was seen off; for a machine that still runs: when it was asked to shut down. */
  readonly since: number
  /** It still runs, and its guest is given time. Null: it is off. */
  readonly shutdown: GuestShutdown | null
  /** The latest time at which it runs again, on its source or target; null: no time is known. */
  readonly until: number | null
  /** What keeps it off, and what brings it back. */
  readonly because: string
}

/**
 * Since when and until when a source is off for its migration, and what brings it back; null: it is not off because of
 * Drover, and was not asked to go off. The source of a finished entry is off for good: its target runs in its place.
 */
export const downOf = (facts: DownFacts): Down | null => {
  const { stop, place, away } = facts
  if (stop === null || place.state === 'finished') return null
  const shutdown = guestShutdown(stop, place)
  const { until, because } = shutdown?.end === 'given-up' ? open(afterGivingUp) : whatBringsBack(facts)
  return {
    since: stop.offAt ?? stop.askedAt,
    shutdown,
    until,
    because: [...away, shutdown?.end === 'forced' ? `Once it is off: ${midSentence(because)}` : because].join(
      ' ',
    ),
  }
}

const midSentence = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1)

type Return = Pick<Down, 'until' | 'because'>

const open = (because: string): Return => ({ until: null, because })

const whatBringsBack = (facts: DownFacts): Return => {
  const { place, reason, wanted, withdrawFailed } = facts
  if (place.state === 'error' && reason.startsWith('identity-'))
    return open(
      'Its source is another machine now: it stays off until a person retries or cancels the entry.',
    )
  if (wanted && isCommitted(place)) return open('It is switched on again as soon as its job has let go.')
  if (!isCommitted(place))
    return open(
      `It is to be switched on again, once its copy is proved off.${withdrawFailed === null ? '' : ` The last try failed: ${withdrawFailed}`}`,
    )
  return whileCommitted(facts)
}

const whileCommitted = (facts: DownFacts): Return => {
  const { window, now } = facts
  const conflict = facts.place.state === 'conflict'
  if (window && window.endsAt !== null && window.endsAt <= now)
    return open(`Its window "${window.name}" is over: it is switched on again as soon as its job has let go.`)
  if (window && window.endsAt !== null)
    return { until: window.endsAt, because: untilWindow(facts, window.name) }
  if (conflict) return open('It stays off until a person resolves or cancels the entry; no window ends that.')
  return facts.batchState === 'running'
    ? open('It stays off until its target takes over; no window ends that.')
    : open(`Its batch is ${stands(facts)}: it stays off until that is started, or the entry is cancelled.`)
}

const untilWindow = (facts: DownFacts, name: string): string => {
  if (facts.place.state === 'conflict')
    return `A person has to decide its conflict; undecided, it is switched on again when its window "${name}" ends.`
  return facts.batchState === 'running'
    ? `Its target takes over, or it is switched on again when its window "${name}" ends.`
    : `Its batch is ${stands(facts)}: it is switched on again when its window "${name}" ends.`
}

const stands = ({ batchState }: DownFacts): string => (batchState === 'error' ? 'in error' : batchState)

export interface NamedDown extends Down {
  readonly name: string
}

/** Machines that are off because of Drover, or about to be: how many, and the first of them. */
export interface DownList {
  readonly count: number
  /** How many of them still run: their guests are given time to shut down. */
  readonly shuttingDown: number
  readonly entries: readonly NamedDown[]
}

const namedMax = 5

/** The machines that are off, since when and until when, in a sentence; empty: none. */
export const downText = ({ count, shuttingDown, entries }: DownList): string => {
  if (count === 0) return ''
  const named = entries.slice(0, namedMax)
  const rest = count - named.length
  const list = [...named.map(oneOf), ...(rest > 0 ? [`${rest} more`] : [])]
  const last = list.length > 1 ? ` and ${list.pop()}` : ''
  return `${downHead(count, shuttingDown)}: ${list.join(', ')}${last}.`
}

/** How many are off, and how many of them are only about to be. */
export const downHead = (count: number, shuttingDown: number): string => {
  const off = count - shuttingDown
  const isOff = many(off, 'machine is off for its migration', 'machines are off for their migration')
  const runs = many(
    shuttingDown,
    'machine still runs that was asked to shut down for its migration',
    'machines still run that were asked to shut down for their migration',
  )
  return [...(off > 0 ? [isOff] : []), ...(shuttingDown > 0 ? [runs] : [])].join(', and ')
}

/** Since when and until when a machine is off; for one that still runs: the request, and what ends the wait. */
export const downTimes = ({ since, shutdown, until }: Omit<Down, 'because'>): string =>
  shutdown
    ? shutdownTimes(shutdown)
    : `since ${utcText(since)}, ${until === null ? 'no end is set' : `until ${utcText(until)} at the latest`}`

const oneOf = (down: NamedDown): string => `${down.name} (${downTimes(down)})`

/** The verbs that affect machines that are off. */
export type DownVerb = 'stop' | 'reset' | 'cancel'

const givenBack = [
  'It is switched on again, once its copy is proved off.',
  'Each is switched on again, once its copy is proved off.',
] as const

const afterVerb: Readonly<Record<DownVerb, readonly [one: string, many: string]>> = {
  stop: [
    'While the batch is stopped nothing goes on: it stays off until its window ends, if it has one, or the batch is started again.',
    'While the batch is stopped nothing goes on: each stays off until its window ends, if it has one, or the batch is started again.',
  ],
  reset: givenBack,
  cancel: givenBack,
}

/** The machines that are off, and what the verb that a person is about to confirm does to them; empty: none is off. */
export const downBefore = (
  verb: DownVerb,
  { count, message }: { readonly count: number; readonly message: string },
): string => (count === 0 ? '' : `${message} ${afterVerb[verb][count === 1 ? 0 : 1]}`)
