import type { WindowAnswer } from '../schedule/windows.ts'
import type { EntryPlace } from './entry.ts'
import type { EntryEvent } from './entry-rule.ts'
import type { SourceStop } from './source-stop.ts'

/** Why an entry waits: a code for programs, a sentence for people. */
export interface Reason {
  readonly code: string
  readonly message: string
}

/** What a person wants of an entry while a job is still at it. */
export type Intent =
  | { readonly verb: 'cancel'; readonly force: boolean; readonly cleanup: boolean }
  | {
      readonly verb: 'reset'
      readonly force: boolean
      /** Its withdrawal was sent: the next step retries that withdrawal, and is no new request. */
      readonly begun?: boolean
    }

/** The jobs of a journey. */
export type EntryJobKind =
  | 'place-instance'
  | 'import-instance'
  | 'cutover-instance'
  | 'final-verify'
  | 'withdraw-entry'

/** The job that is, or was last, at the entry. One that succeeded has written what it did in the same transaction. */
export interface EntryJob {
  readonly kind: EntryJobKind
  readonly state: 'open' | 'succeeded' | 'failed' | 'canceled'
  readonly error: { readonly code: string; readonly class: string; readonly message: string } | null
  /** It has not begun, and asks for room under the batch's limit on first copies. */
  readonly limited?: boolean
  /** How long its copy will still take at the rate of the last seconds; null: nothing moves, or nobody can tell. */
  readonly remainingMs?: number | null
}

/** All that the decision hangs on. Nothing is read and no clock is asked. */
export interface EntryFacts {
  readonly now: number
  readonly place: EntryPlace
  /** What it says of itself now: kept while it waits for the next try. */
  readonly reason: Reason
  readonly job: EntryJob | null
  readonly intent: Intent | null
  readonly batchState: 'running' | 'stopped' | 'error'
  /** What keeps it from starting, all of it. */
  readonly blocks: readonly Reason[]
  /** The platforms on its way that do not answer; none given: all do. */
  readonly away?: readonly Reason[]
  /** We asked the source to go off, and nobody has switched it on again yet; null: we have not. */
  readonly sourceStop: SourceStop | null
  /** It is in `error` by `identity-changed`: whether the source is started is for a person to say (cancel, reset, retry). */
  readonly sourceNeedsPerson: boolean
  readonly hasTarget: boolean
  /** Changed blocks can be told for every disk. */
  readonly tracked: boolean
  /** When the last whole copy began. */
  readonly syncedAt: number | null
  readonly window: WindowAnswer
  /** The window it holds is over. */
  readonly windowOver: boolean
  /** When that will be; null: it holds none, or one without an end. */
  readonly windowEndsAt: number | null
  readonly intervalMs: number
  readonly finalLimitMs: number
  /** How long a top-up of it is foreseen to take; 0: nobody can tell. */
  readonly forecastMs: number
  /** When its last job ended or it came here, whichever is later. */
  readonly since: number
  /** How often in a row it failed to get away from here: see `tries` of a decision. */
  readonly tries: number
  /** When a person is asked if its machine cannot be made until then; null: it has not failed to be made. */
  readonly askPersonAt: number | null
}

export type EntryDecision =
  /** Nothing to do before `lookAt`; by then somebody looks again, whatever happens. */
  | { readonly do: 'rest'; readonly reason: Reason; readonly lookAt: number }
  /** The table's event, now; what it says of source and target is done by a withdrawal. */
  | {
      readonly do: 'apply'
      readonly event: EntryEvent
      readonly reason: Reason
      readonly force: boolean
      readonly cleanup: boolean
      /** What the entry's count of tries becomes. An event that a job writes sets it to 0. */
      readonly tries: number
      /** It is tried again, and then a person is asked; see `askPersonAt`. */
      readonly until?: number
    }
  /**
   * A job; what it does first is to apply `event`, when it has one. A `withdraw-entry` repeats the failed one's
   * orders, or starts the source and keeps the target.
   */
  | {
      readonly do: 'start'
      readonly job: EntryJobKind
      readonly event: EntryEvent | null
      readonly reason: Reason
      readonly tries: number
      /** The end of the job wakes its entry; by then somebody looks again in any case. */
      readonly lookAt: number
    }
  /** The job that is at it must let go: what it did outside is undone as it ends. */
  | { readonly do: 'call-off'; readonly reason: Reason }
  /** The job that waits for its turn needs none under the batch's limit on first copies any more. */
  | { readonly do: 'let-off'; readonly reason: Reason }
  /** A person's request that cannot be carried out any more: it is dropped, with an event. */
  | { readonly do: 'forget'; readonly reason: Reason }

/** A look at everything, so that a lost hint costs no more than this. */
export const lookMs = 30_000
/** The end of its job wakes it; a hundred thousand that wait for their turn are not looked at all the time. */
export const workingLookMs = 300_000

const firstPauseMs = 15_000
const longestPauseMs = 300_000

/** How long after its last failure it is tried again. */
export const pauseMs = (tries: number): number =>
  tries === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(tries - 1, 10))

export const reason = (code: string, message: string): Reason => ({ code, message })

/** Never in the past: whoever rests is looked at again later, not at once and for ever. */
export const rest = ({ now }: EntryFacts, why: Reason, lookAt: number = now + lookMs): EntryDecision => ({
  do: 'rest',
  reason: why,
  lookAt: Math.max(lookAt, now + 1),
})

export const apply = (
  event: EntryEvent,
  why: Reason,
  more: {
    readonly force?: boolean
    readonly cleanup?: boolean
    readonly tries?: number
    readonly until?: number
  } = {},
): EntryDecision => ({
  do: 'apply',
  event,
  reason: why,
  force: more.force ?? false,
  cleanup: more.cleanup ?? false,
  tries: more.tries ?? 0,
  ...(more.until === undefined ? {} : { until: more.until }),
})

export const start = (
  { now, tries }: Pick<EntryFacts, 'now' | 'tries'>,
  job: EntryJobKind,
  event: EntryEvent | null,
  message: string,
): EntryDecision => ({
  do: 'start',
  job,
  event,
  reason: reason(job, message),
  tries,
  lookAt: now + workingLookMs,
})

/** When it may be tried again after a failure; undefined: now. */
export const pausedUntil = ({ now, since, tries }: EntryFacts): number | undefined => {
  const until = since + pauseMs(tries)
  return now < until ? until : undefined
}
