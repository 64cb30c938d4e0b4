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
  /** The payload of the job, upgraded to the version that this code knows. */
  readonly payload: Payload
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger

  /** Aborted when the lease is lost, the job is cancelled, or the worker can wait no longer. */
  readonly signal: AbortSignal
  /** Ends the turn here when the worker is stopping or the job was cancelled: nothing is half done at this line. */
  safePoint(): void
  /** A safe point for long work: it also ends the turn when a person has paused the lane. Cheap enough for every extent. */
  pace(): Promise<void>

  /** The last checkpoint, written by this turn or an earlier one. */
  readonly checkpointed: Readonly<Record<string, unknown>> | null
  /** Records how far the work has come; the next turn starts from it. A safe point. */
  checkpoint(state: Record<string, unknown>): Promise<void>
  /** Shows the progress of the job. Written with the next heartbeat, so frequent calls cost nothing. */
  progress(progress: Progress): void

  /** A change in Postgres that commits only while the lease is held: the lease is locked first. For short changes. */
  transaction<Value>(change: (tx: Tx) => Promise<Value>): Promise<Value>
  /**
   * The same for a slow change, or for a change whose locks come before the job's own. The lease is checked last, so
   * that the heartbeat can write the job's row meanwhile.
   */
  lateFencedTransaction<Value>(change: (tx: Tx) => Promise<Value>): Promise<Value>

  /** A side effect outside Postgres: intent, call, record. Done once over all turns. */
  effect(spec: EffectSpec): Promise<EffectResult>
  /**
   * Throws when the lease may have expired by the clock, or the turn was stopped. Call it right before each change
   * outside Postgres: a process that was frozen wakes up in the middle of a line, before any timer can stop it.
   */
  confirm(): void
  /** Lends the platform of a site. The process keeps the connection: several jobs share it, and it outlives this job. */
  readonly usePlatform: UsePlatform
}

/** Lends the open platform of a site to some work. */
export type UsePlatform = <Result>(
  site: SiteRow,
  work: (platform: Platform) => Promise<Result>,
) => Promise<Result>

/**
 * A call of a platform by a job. A retry waits by the clock of the job, so that a simulation controls the pause, and is
 * made only while the lease is held.
 */
export interface JobCall extends Call, Pick<JobContext, 'clock' | 'confirm'> {}

/** A call by a turn of a job, or by an undo. */
export const callBy = (
  by: Pick<JobContext, 'clock' | 'confirm' | 'signal'>,
  name: string,
  timeoutMs: number,
): JobCall => ({ signal: by.signal, clock: by.clock, confirm: () => by.confirm(), timeoutMs, name })

/** The progress of a job and its phase. The progress shown never goes back within a generation. */
export interface Progress {
  readonly done: number
  /** 0: unknown. */
  readonly total: number
  readonly phase?: string
  /** Units per second, over the last seconds. Not given: the rate shown stays. */
  readonly rate?: number | null
}

/** The actor that the events of a job are recorded under. */
export const actorOf = ({ job }: { readonly job: { readonly id: string } }): string => `job/${job.id}`

/** A change in Postgres that commits together with the job's outcome, or not at all. */
export type DomainChange = (tx: Tx) => Promise<void>

interface WithChange {
  readonly change?: DomainChange
  /** Takes the locks that must be taken before the job's own. */
  readonly lock?: DomainChange
}

export interface Done extends WithChange {
  readonly type: 'done'
  readonly result?: Record<string, unknown>
}

/** A success that commits a change with it. */
export type DoneWithChange = Done & { readonly change: DomainChange }

/** Every wait has a reason and an end: after `forMs` the handler runs again and decides anew. */
export interface Wait extends WithChange {
  readonly type: 'wait'
  /** Stable word for programs, such as `guest-shutdown`. */
  readonly reason: string
  /** Sentence for people: what the job waits for and what ends the wait. */
  readonly detail: string
  readonly forMs: number
  /** Ends the wait early. */
  readonly signal?: string
}

/** The job becomes ready again at once, and the turn does not count as a try. Another worker may run the next turn. */
export interface Release {
  readonly type: 'release'
  readonly reason: ReleaseReason
  /** Sentence for people. */
  readonly detail: string
}

/**
 * How a turn ends when it does not throw. The class of a thrown error decides whether and when the job is retried
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

/** Thrown at a safe point: ends the turn like the outcome `release`. It is not a failure. */
export class ReleaseRequest extends Error {
  override readonly name = 'ReleaseRequest'
  readonly reason: ReleaseReason

  constructor({ reason, detail }: Omit<Release, 'type'>) {
    super(detail)
    this.reason = reason
  }
}

/** The reason of an abort that a person requested. */
export class CancelRequest extends Error {
  override readonly name = 'CancelRequest'
}

/** What an undoer gets: the effect, and the means to undo it. */
export interface UndoContext {
  readonly effect: EffectRow
  readonly db: Db
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Throws when the lease may have expired by the clock. Call it right before each change outside Postgres. */
  readonly confirm: () => void
  /** For changes in Postgres: refused once the lease is lost, also when the process was frozen. */
  readonly fenced: Fenced
  readonly usePlatform: UsePlatform
}

/** Undoes one effect. It may be called for an effect that is already undone, or that never happened. */
export type Undoer = (undoing: UndoContext) => Promise<void>

/** The work of one job kind. */
export interface Handler<Payload = unknown> {
  readonly kind: JobKind<Payload>
  /** One turn: reads the state, asks the domain for the next step, acts through `ctx.effect`, records the result. */
  run(ctx: JobContext<Payload>): Promise<Outcome>
  /** The undoers of this handler's effects, by effect kind. */
  readonly undoers?: Readonly<Record<string, Undoer>>
}

/** Binds a job kind to its handler. The type of the payload comes from the kind. */
export const defineHandler = <Payload>(
  kind: JobKind<Payload>,
  run: (ctx: JobContext<Payload>) => Promise<Outcome>,
  undoers: Readonly<Record<string, Undoer>> = {},
): Handler => ({ kind, run, undoers }) as Handler
