import type { Db, Tx } from '../db/client.ts'
import { isLanePaused } from '../db/queries/fleet/is-lane-paused.ts'
import type { ClaimedJob } from '../db/queries/leases/claim-jobs.ts'
import { holdLease } from '../db/queries/leases/hold-lease.ts'
import { writeCheckpoint } from '../db/queries/leases/write-checkpoint.ts'
import type { Clock } from '../src/clock.ts'
import { crashPoint } from '../src/crash-point.ts'
import { type JobKind, readPayload } from '../src/domain/job/kind.ts'
import { DroverError, FencedError } from '../src/errors.ts'
import { type EffectResult, type EffectSpec, type LeaseHolder, performEffect } from '../src/ledger/effects.ts'
import { type JobContext, type Progress, ReleaseRequest, type UsePlatform } from '../src/ledger/job.ts'
import type { Logger } from '../src/process/log.ts'
import { storableJson } from '../src/storable.ts'
import { StopSignal } from './stop-signal.ts'

/** The stored progress: the time of the last advance is kept over all tries of the job. */
interface KeptProgress extends Progress {
  readonly last_progress_at?: string
}

export interface RunningJobOptions<Payload> {
  readonly db: Db
  readonly job: ClaimedJob
  readonly kind: JobKind<Payload>
  readonly clock: Clock
  readonly log: Logger
  readonly usePlatform: UsePlatform
}

/** How often long work asks Postgres whether its lane is paused, however often `pace` is called. */
const lookAtLaneMs = 500

/** One turn of a job in this process, as its handler sees it and as the worker steers it. */
export class RunningJob<Payload = unknown> implements JobContext<Payload> {
  readonly job: ClaimedJob
  readonly db: Db
  readonly clock: Clock
  readonly usePlatform: UsePlatform
  readonly #parentLog: Logger
  readonly #kind: JobKind<Payload>
  readonly #stop = new StopSignal()
  readonly #lost = new StopSignal()
  #checkpoint: Record<string, unknown> | null
  #progress: KeptProgress | undefined
  #told: Progress | undefined
  readonly #madeMs: number
  #laneSeenMs = Number.NEGATIVE_INFINITY
  #laneStopped = false
  #progressIsNew = false
  #log: Logger | undefined
  #draining = false
  #ending = false
  #touched: boolean
  #lookAtLease: (() => void) | undefined
  #payload: { readonly value: Payload } | undefined

  constructor(options: RunningJobOptions<Payload>) {
    this.db = options.db
    this.clock = options.clock
    this.usePlatform = options.usePlatform
    this.#madeMs = options.clock.monotonicMs()
    this.job = options.job
    this.#kind = options.kind
    this.#parentLog = options.log
    this.#checkpoint = options.job.checkpoint
    this.#touched = options.job.leaseEpoch > 1
  }

  /** Every line carries the job, its subject and its trace. Created on first use, because most jobs log nothing. */
  get log(): Logger {
    this.#log ??= this.#parentLog.child({
      job: this.job.id,
      kind: this.job.kind,
      subject: `${this.job.subjectType}/${this.job.subjectId}`,
      ...(this.job.trace === null ? {} : { trace: this.job.trace.split('-')[1] }),
    })
    return this.#log
  }

  /** The payload of the job, upgraded to the version that this code knows. */
  get payload(): Payload {
    this.#payload ??= { value: this.#readPayload() }
    return this.#payload.value
  }

  /** Aborted when the lease is lost, the job is cancelled, or the worker can wait no longer. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Aborted only when the lease is lost: from then on nothing may be written or undone here. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  get isLost(): boolean {
    return this.#lost.stopped
  }

  /** Why the handler was stopped, if it was. */
  get stopReason(): Error | undefined {
    return this.#stop.reason
  }

  /** The last checkpoint, written by this try or an earlier one. */
  get checkpointed(): Readonly<Record<string, unknown>> | null {
    return this.#checkpoint
  }

  /** Ends the turn here when the worker is stopping or the job was cancelled: nothing is half done at this line. */
  safePoint(): void {
    this.#stop.throwIfStopped()
    if (this.#draining)
      throw new ReleaseRequest({ reason: 'worker-drains', detail: 'The worker is going away.' })
  }

  async pace(): Promise<void> {
    this.safePoint()
    const { lane } = this.job
    if (lane === null) return
    const now = this.clock.monotonicMs()
    if (!this.#laneStopped && now - this.#laneSeenMs >= lookAtLaneMs) {
      this.#laneSeenMs = now
      this.#laneStopped = await isLanePaused(this.db, lane)
      this.safePoint()
    }
    if (this.#laneStopped)
      throw new ReleaseRequest({ reason: 'lane-paused', detail: `The lane ${lane} is paused.` })
  }

  /** Records how far the work has come; the next try starts from it. A safe point. */
  async checkpoint(state: Record<string, unknown>): Promise<void> {
    this.#stop.throwIfStopped()
    crashPoint('before-checkpoint')
    const accepted = await writeCheckpoint(this.db, this.job.id, this.job.leaseEpoch, storableJson(state))
    if (!accepted) throw new FencedError(this.job.id, this.job.leaseEpoch)
    this.#checkpoint = state
    crashPoint('after-checkpoint')
    this.safePoint()
  }

  /** A side effect outside Postgres: intent, call, record. */
  effect(spec: EffectSpec): Promise<EffectResult> {
    this.#touched = true
    return performEffect(this.db, this.holder(), spec, () => {
      this.#checkpoint = spec.checkpoint ?? this.#checkpoint
    })
  }

  confirm(): void {
    this.holder().confirm()
  }

  /** The holder of the lease, for changes outside Postgres; `signal` tells what else stops them. */
  holder(signal = this.signal): LeaseHolder {
    const confirm = () => {
      this.#lookAtLease?.()
      signal.throwIfAborted()
    }
    return { jobId: this.job.id, epoch: this.job.leaseEpoch, signal, confirm }
  }

  /** A change in Postgres that commits only while the lease is held. */
  async transaction<Value>(change: (tx: Tx) => Promise<Value>): Promise<Value> {
    this.#stop.throwIfStopped()
    return (await this.db.begin(async (tx) => {
      await this.#proveLease(tx)
      return change(tx)
    })) as Value
  }

  async lateFencedTransaction<Value>(change: (tx: Tx) => Promise<Value>): Promise<Value> {
    this.#stop.throwIfStopped()
    return (await this.db.begin(async (tx) => {
      const value = await change(tx)
      await this.#proveLease(tx)
      return value
    })) as Value
  }

  async #proveLease(tx: Tx): Promise<void> {
    const { id, leaseEpoch } = this.job
    if (!(await holdLease(tx, id, leaseEpoch))) throw new FencedError(id, leaseEpoch)
  }

  /** Shows the progress of the job. Written with the next heartbeat, so frequent calls cost nothing. */
  progress(progress: Progress): void {
    if (!(progress.total >= 0) || !(progress.done >= 0))
      throw new DroverError({
        code: 'progress-invalid',
        class: 'bug',
        message: 'Progress must be two numbers that are not negative.',
        remedy: 'Report this as a defect of the handler.',
      })
    const before = this.#progress
    const done =
      before && before.phase === progress.phase ? Math.max(before.done, progress.done) : progress.done
    this.#progress = { ...this.#lasting(progress), ...progress, done }
    this.#told = progress
    this.#progressIsNew = true
  }

  /** The rate and the time of the last advance, kept from this try or an earlier one. */
  #lasting(now: Progress): Pick<KeptProgress, 'rate' | 'last_progress_at'> {
    const before = this.#progress ?? (this.job.progress as KeptProgress | null) ?? undefined
    const rate = before?.rate === undefined || before.phase !== now.phase ? {} : { rate: before.rate }
    // Compared with the reported value, not the shown one: restarted work shows no less than before, but does advance.
    const told = this.#told ?? before
    const from = told?.phase === now.phase && told?.total === now.total ? told.done : 0
    if (now.done > from) return { ...rate, last_progress_at: this.#databaseTime() }
    return before?.last_progress_at === undefined
      ? rate
      : { ...rate, last_progress_at: before.last_progress_at }
  }

  #databaseTime(): string {
    return new Date(this.job.claimedAt.getTime() + this.clock.monotonicMs() - this.#madeMs).toISOString()
  }

  /** For the heartbeat and the outcome: the latest progress as JSON text, once; null when it was written already. */
  takeProgress(): string | null {
    if (!this.#progressIsNew) return null
    // The outcome may have to be written twice: then both writes carry the progress.
    this.#progressIsNew = this.#ending
    return storableJson(this.#progress)
  }

  get hasNewProgress(): boolean {
    return this.#progressIsNew
  }

  /** For the worker: the handler is done and the outcome is on its way. */
  end(): void {
    this.#ending = true
  }

  get ending(): boolean {
    return this.#ending
  }

  /** For the worker: no turn of this job has changed anything outside Postgres. */
  get touchedNothing(): boolean {
    return !this.#touched
  }

  /** For the worker: asks the handler to end its turn at the next safe point. */
  drain(): void {
    this.#draining = true
  }

  get isDraining(): boolean {
    return this.#draining
  }

  /** For the worker: `look` fences the context when the lease may have expired by the clock. */
  keptBy(look: () => void): void {
    this.#lookAtLease = look
  }

  /** For the worker: the lease is lost. */
  fence(): void {
    const reason = new FencedError(this.job.id, this.job.leaseEpoch)
    this.#lost.stop(reason)
    this.#stop.stop(reason)
  }

  /** For the worker: stops the handler now, by its signal. */
  abort(reason: Error): void {
    this.#stop.stop(reason)
  }

  #readPayload(): Payload {
    try {
      return readPayload(this.#kind, this.job.payloadVersion, this.job.payload)
    } catch (cause) {
      throw new DroverError(
        {
          code: 'payload-unreadable',
          class: 'permanent',
          message: `The stored payload (version ${this.job.payloadVersion}) does not fit ${this.job.kind}.`,
          remedy: 'Cancel the job and ask for the work anew.',
        },
        { cause },
      )
    }
  }
}
