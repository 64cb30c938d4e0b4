import type { WindowAnswer } from '../schedule/windows.ts'
import type { EntryPlace } from './entry.ts'
import type { EntryEvent } from './entry-rule.ts'
import type { SourceStop } from './source-stop.ts'

/** Why an entry waits: a code for programs, a sentence for people. */
export interface Reason {
  readonly code: string
  readonly message: string
}

/** A person's request while a job still runs for the entry. */
export type Intent =
  | { readonly verb: 'cancel'; readonly force: boolean; readonly cleanup: boolean }
  | {
      readonly verb: 'reset'
      readonly force: boolean
      /** Its withdrawal was sent: the next step retries that withdrawal and is no new request. */
      readonly begun?: boolean
    }

/** The jobs of an entry. */
export type EntryJobKind =
  | 'place-instance'
  | 'import-instance'
  | 'cutover-instance'
  | 'final-verify'
  | 'withdraw-entry'

/** The current or last job of the entry. A job that succeeded has recorded its result in the same transaction. */
export interface EntryJob {
  readonly kind: EntryJobKind
  readonly state: 'open' | 'succeeded' | 'failed' | 'canceled'
  readonly error: { readonly code: string; readonly class: string; readonly message: string } | null
  /** Not begun, and waiting for the batch's limit on first copies. */
  readonly limited?: boolean
  /** The rest of its copy at the current rate; null: no progress, or unknown. */
  readonly remainingMs?: number | null
}

/** Everything that the decision depends on. Nothing is read and no clock is asked. */
export interface EntryFacts {
  readonly now: number
  readonly place: EntryPlace
  /** Its current reason, kept while it waits for the next try. */
  readonly reason: Reason
  readonly job: EntryJob | null
  readonly intent: Intent | null
  readonly batchState: 'running' | 'stopped' | 'error'
  /** Everything that keeps it from starting. */
  readonly blocks: readonly Reason[]
  /** The platforms involved that do not answer; empty: all answer. */
  readonly away?: readonly Reason[]
  /** We asked the source to go off, and nobody has switched it on since; null: we have not. */
  readonly sourceStop: SourceStop | null
  /** It is in `error` by `identity-changed`: a person decides whether the source is started (cancel, reset, retry). */
  readonly sourceNeedsPerson: boolean
  readonly hasTarget: boolean
  /** Change tracking works for every disk. */
  readonly tracked: boolean
  /** When the last complete copy began. */
  readonly syncedAt: number | null
  readonly window: WindowAnswer
  /** Its window is over. */
  readonly windowOver: boolean
  /** When its window ends; null: it has none, or one without an end. */
  readonly windowEndsAt: number | null
  readonly intervalMs: number
  readonly finalLimitMs: number
  /** The predicted time of a top-up; 0: unknown. */
  readonly forecastMs: number
  /** The end of its last job or its arrival in this state, whichever is later. */
  readonly since: number
  /** Consecutive failures to leave this state: see `tries` of a decision. */
  readonly tries: number
  /** When a person is asked if its machine cannot be made until then; null: no failure so far. */
  readonly askPersonAt: number | null
}

export type EntryDecision =
  /** Nothing to do before `lookAt`; then the scheduler looks again in any case. */
  | { readonly do: 'rest'; readonly reason: Reason; readonly lookAt: number }
  /** Apply the table's event now; a withdrawal carries out its effects on source and target. */
  | {
      readonly do: 'apply'
      readonly event: EntryEvent
      readonly reason: Reason
      readonly force: boolean
      readonly cleanup: boolean
      /** The new count of tries. An event that a job records sets it to 0. */
      readonly tries: number
      /** Retried until then; after that a person is asked: see `askPersonAt`. */
      readonly until?: number
    }
  /**
   * A job, which first applies `event`, if given. A `withdraw-entry` repeats the orders of the failed one, or starts
   * the source and keeps the target.
   */
  | {
      readonly do: 'start'
      readonly job: EntryJobKind
      readonly event: EntryEvent | null
      readonly reason: Reason
      readonly tries: number
      /** The end of the job wakes its entry; this look is the fallback. */
      readonly lookAt: number
    }
  /** The running job must stop: its effects outside are undone as it ends. */
  | { readonly do: 'call-off'; readonly reason: Reason }
  /** The queued job no longer needs room under the batch's limit on first copies. */
  | { readonly do: 'let-off'; readonly reason: Reason }
  /** A person's request that can no longer be carried out: it is dropped, with an event. */
  | { readonly do: 'forget'; readonly reason: Reason }

/** The interval of full looks, so that a lost hint costs no more than this. */
export const lookMs = 30_000
/** The end of its job wakes it; a hundred thousand queued entries are not looked at all the time. */
export const workingLookMs = 300_000

const firstPauseMs = 15_000
const longestPauseMs = 300_000

/** The pause after the last failure. */
export const pauseMs = (tries: number): number =>
  tries === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(tries - 1, 10))

export const reason = (code: string, message: string): Reason => ({ code, message })

/** Never in the past: a resting entry is looked at again later, not at once and for ever. */
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

/** When it may be retried after a failure; undefined: now. */
export const pausedUntil = ({ now, since, tries }: EntryFacts): number | undefined => {
  const until = since + pauseMs(tries)
  return now < until ? until : undefined
}
