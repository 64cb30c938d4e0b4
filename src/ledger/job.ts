import type { Db, Tx } from '../../db/client.ts'
import type { ClaimedJob } from '../../db/queries/leases/claim-jobs.ts'
import type { EffectRow } from '../../db/schema/effect.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import type { Clock } from '../clock.ts'
import type { JobKind } from '../domain/job/kind.ts'
import type { ReleaseReason } from '../domain/job/release.ts'
import type { Call } from '../platforms/ports/call.ts'
import type { Platform } from '../platforms/ports/ports.ts'
import type { Logger } from '../process/log.ts'
import type { EffectResult, EffectSpec, Fenced } from './effects.ts'

/**
 * The contract between a job and the worker that runs it. A handler is given a `JobContext`, does one turn of the
 * work and returns an `Outcome`; what it did outside is undone by its undoers when the job does not succeed.
 * `workers/` implements the context; the subjects (`src/inventory`, `src/migration`, `src/operation`) use it as it is.
 *
 * A turn may end at any line: the process dies, is frozen, or loses its lease. The next turn starts again from the
 * last checkpoint, perhaps on another worker. So everything outside goes through `effect`, and everything written to
 * Postgres goes through `transaction`, `lateFencedTransaction` or the change of an outcome: all three are refused when
 * the lease was lost.
 */
export interface JobContext<Payload = unknown> {
  readonly job: ClaimedJob
  /** What the job was asked with, in the version that this code knows. */
  readonly payload: Payload
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger

  /** Aborted when the lease is lost, the job is cancelled, or the worker can wait no longer. */
  readonly signal: AbortSignal
  /** Lets go here when the worker is going away or the job was cancelled: nothing is half done at this line. */
  safePoint(): void
  /** A safe point for long work: lets go also when a person has stopped the lane. Cheap enough for every extent. */
  pace(): Promise<void>

  /** What this turn or an earlier one has recorded last. */
  readonly checkpointed: Readonly<Record<string, unknown>> | null
  /** Records how far the work has come; the next turn starts from it. A safe point. */
  checkpoint(state: Record<string, unknown>): Promise<void>
  /** Shows how far it is. Written with the next heartbeat, so it may be called as often as needed. */
  progress(progress: Progress): void

  /** A change in Postgres that holds only if the lease does: the lease is locked first. For short changes. */
  transaction<Value>(change: (tx: Tx) => Promise<Value>): Promise<Value>
  /**
   * The same for a change that takes long, or that takes locks which come before the job's own: the lease is proved
   * last, so the job's row stays free for the heartbeat meanwhile.
   */
  lateFencedTransaction<Value>(change: (tx: Tx) => Promise<Value>): Promise<Value>

  /** A side effect outside Postgres: intent, call, record. Done once over all turns. */
  effect(spec: EffectSpec): Promise<EffectResult>
  /**
   * Throws when the lease may be over by the clock, or the turn was stopped. For the line right before something
   * outside is changed: a process that was frozen wakes up in the middle of a line, before any timer can stop it.
   */
  confirm(): void
  /** Lends the platform of a site. The lender is the process's: what several jobs share may outlive this one. */
  readonly usePlatform: UsePlatform
}

/** Lends the open platform of a site to some work. */
export type UsePlatform = <Result>(
  site: SiteRow,
  work: (platform: Platform) => Promise<Result>,
) => Promise<Result>

/** A call of a platform by a job: whoever makes it again after a pause waits by the clock of the job. */
export interface JobCall extends Call {
  readonly clock: Clock
}

/** How far the work is, and what phase it belongs to. What is shown never goes back within a generation. */
export interface Progress {
  readonly done: number
  /** 0: not known. */
  readonly total: number
  readonly phase?: string
  /** A second, over the last seconds. Not given: what was known before stays. */
  readonly rate?: number | null
}

/** Who a change made by a job is recorded as. */
export const actorOf = ({ job }: { readonly job: { readonly id: string } }): string => `job/${job.id}`

/** A change of the domain that commits together with the job's outcome, or not at all. */
export type DomainChange = (tx: Tx) => Promise<void>

interface WithChange {
  readonly change?: DomainChange
  /** Takes the locks that come before the job's own, where the change needs such. */
  readonly lock?: DomainChange
}

export interface Done extends WithChange {
  readonly type: 'done'
  readonly result?: Record<string, unknown>
}

/** An end that changes the domain with it. */
export type DoneWithChange = Done & { readonly change: DomainChange }

/** Every wait has a reason, and an end: after `forMs` the handler is called again and decides. */
export interface Wait extends WithChange {
  readonly type: 'wait'
  /** Stable word for programs, such as `guest-shutdown`. */
  readonly reason: string
  /** Sentence for people: what it waits for and what would end it. */
  readonly detail: string
  readonly forMs: number
  /** Ends the wait early. */
  readonly signal?: string
}

/** The job goes back to the line at once, uncharged; its next turn may be another worker's. */
export interface Release {
  readonly type: 'release'
  readonly reason: ReleaseReason
  /** Sentence for people. */
  readonly detail: string
}

/**
 * How a turn ends when it does not throw. What it throws decides by its class whether and when the job is tried again
 * (`DroverError`, src/domain/job/retry.ts).
 */
export type Outcome = Done | Wait | Release

export const done = (result?: Record<string, unknown>, { change, lock }: WithChange = {}): Done => ({
  type: 'done',
  ...(result === undefined ? {} : { result }),
  ...(change === undefined ? {} : { change }),
  ...(lock === undefined ? {} : { lock }),
})

export const waitFor = (wait: Omit<Wait, 'type'>): Wait => ({ type: 'wait', ...wait })

export const release = (reason: ReleaseReason, detail: string): Release => ({
  type: 'release',
  reason,
  detail,
})

/** Thrown at a safe point: ends the turn as the outcome `release` does. Not an error of anybody. */
export class ReleaseRequest extends Error {
  override readonly name = 'ReleaseRequest'
  readonly reason: ReleaseReason

  constructor({ reason, detail }: Omit<Release, 'type'>) {
    super(detail)
    this.reason = reason
  }
}

/** The reason of an abort that a person asked for. */
export class CancelRequest extends Error {
  override readonly name = 'CancelRequest'
}

/** What an undoer is given: the effect, and what it may use to undo it. */
export interface UndoContext {
  readonly effect: EffectRow
  readonly db: Db
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Throws when the lease may be over by the clock: for the line right before something outside is changed. */
  readonly confirm: () => void
  /** For what is changed in Postgres: refused when the lease was lost, also by a process that stood still. */
  readonly fenced: Fenced
  readonly usePlatform: UsePlatform
}

/** Undoes one effect. Must bear being called for what is gone already, or was never done. */
export type Undoer = (undoing: UndoContext) => Promise<void>

/** The work of one job kind. */
export interface Handler<Payload = unknown> {
  readonly kind: JobKind<Payload>
  /** One turn: looks, asks the domain what is next, acts through `ctx.effect`, records. */
  run(ctx: JobContext<Payload>): Promise<Outcome>
  /** How the effects of this handler are undone, by effect kind. */
  readonly undoers?: Readonly<Record<string, Undoer>>
}

/** Ties a kind to its work. The payload's type comes from the kind. */
export const defineHandler = <Payload>(
  kind: JobKind<Payload>,
  run: (ctx: JobContext<Payload>) => Promise<Outcome>,
  undoers: Readonly<Record<string, Undoer>> = {},
): Handler => ({ kind, run, undoers }) as Handler
