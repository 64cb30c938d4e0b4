import type { Db } from '../db/client.ts'
import { findCancelRequests } from '../db/queries/leases/find-cancel-requests.ts'
import { heartbeatJobs } from '../db/queries/leases/heartbeat-jobs.ts'
import type { Clock } from '../src/clock.ts'
import { limits } from '../src/config/config.ts'
import { CancelRequest } from '../src/ledger/job.ts'
import type { Logger } from '../src/process/log.ts'
import { Loop, type Service } from '../src/process/service.ts'
import type { RunningJob } from './running-job.ts'

export interface LeaseKeeperOptions {
  readonly db: Db
  readonly workerId: string
  readonly leaseMs: number
  readonly clock: Clock
  readonly log: Logger
}

interface Kept {
  readonly ctx: RunningJob
  /** On this process's monotonic clock: after this moment this process may not act on the lease. */
  safeUntilMs: number
}

/** The share of a lease after which a worker that could not renew it stops, before another worker can claim the job. */
const safeShare = 0.8
const beatShare = 0.25
const lookMs = 200

/**
 * Renews the leases of all jobs of this process, with one statement. A job that the answer does not name has lost its
 * lease, and its handler is stopped; so is every job whose lease may have expired because Postgres does not answer.
 */
export class LeaseKeeper implements Service {
  readonly name = 'lease-keeper'
  readonly #options: LeaseKeeperOptions
  readonly #kept = new Map<string, Kept>()
  readonly #beats: Loop
  readonly #cancels: Loop
  #guard: NodeJS.Timeout | undefined
  #beatenAt = Number.NEGATIVE_INFINITY

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
    const { clock, log } = options
    const beatMs = Math.min(limits.heartbeatMs, Math.max(lookMs, options.leaseMs * beatShare))
    this.#beats = new Loop({
      name: 'heartbeat',
      intervalMs: lookMs,
      clock,
      log,
      failureCapMs: 500,
      runOnce: async () => {
        const now = clock.monotonicMs()
        const fresh = [...this.#kept.values()].some(({ ctx }) => ctx.hasNewProgress)
        if (this.#kept.size === 0 || (now - this.#beatenAt < beatMs && !fresh)) return false
        await this.beat()
        // Progress is shown twice a second at most.
        return fresh ? Math.max(lookMs, 500) : false
      },
    })
    this.#cancels = new Loop({
      name: 'cancel-poll',
      intervalMs: limits.cancelPollMs,
      clock,
      log,
      failureCapMs: limits.cancelPollMs,
      runOnce: async () => {
        if (this.#kept.size > 0) await this.pollCancels()
        return false
      },
    })
  }

  start(): void {
    this.#beats.start()
    this.#cancels.start()
    this.#guard ??= setInterval(() => {
      for (const kept of this.#kept.values()) this.#stopUnsafe(kept)
    }, lookMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#guard)
    this.#guard = undefined
    await Promise.all([this.#beats.stop(), this.#cancels.stop()])
  }

  get size(): number {
    return this.#kept.size
  }

  contexts(): RunningJob[] {
    return [...this.#kept.values()].map(({ ctx }) => ctx)
  }

  /** From now on the job's lease is renewed. `claimedAtMs` is from before the claim was sent. */
  keep(ctx: RunningJob, claimedAtMs: number): void {
    const kept = { ctx, safeUntilMs: claimedAtMs + this.#options.leaseMs * safeShare }
    // A turn of the same job that still runs here has lost its lease: otherwise the claim would have failed.
    this.#kept.get(ctx.job.id)?.ctx.fence()
    this.#kept.set(ctx.job.id, kept)
    ctx.keptBy(() => this.#stopUnsafe(kept))
  }

  drop(ctx: RunningJob): void {
    if (this.#kept.get(ctx.job.id)?.ctx === ctx) this.#kept.delete(ctx.job.id)
  }

  /** Looks for cancel requests at once, after a hint. */
  wakeCancels(): void {
    this.#cancels.wake()
  }

  async beat(): Promise<void> {
    const { clock, db, leaseMs } = this.#options
    const sentAt = clock.monotonicMs()
    // A lost job belongs to the worker that claims it next.
    const kept = [...this.#kept.values()].filter(({ ctx }) => !ctx.isLost)
    const answers = await heartbeatJobs(
      db,
      kept.map(({ ctx }) => ({ id: ctx.job.id, epoch: ctx.job.leaseEpoch, progress: ctx.takeProgress() })),
      leaseMs,
    )
    this.#beatenAt = sentAt
    const held = new Map(answers.map((answer) => [answer.id, answer]))
    for (const job of kept) {
      const answer = held.get(job.ctx.job.id)
      // A job whose outcome is being written may have just ended; the write itself reports a lost lease.
      if (!answer && !job.ctx.ending) this.#fence(job)
      else if (answer?.extended) job.safeUntilMs = sentAt + leaseMs * safeShare
      if (answer?.cancelRequested) job.ctx.abort(new CancelRequest(answer.cancelReason ?? 'cancelled'))
    }
  }

  async pollCancels(): Promise<void> {
    for (const request of await findCancelRequests(this.#options.db, this.#options.workerId))
      this.#kept.get(request.id)?.ctx.abort(new CancelRequest(request.cancelReason ?? 'cancelled'))
  }

  #stopUnsafe(kept: Kept): void {
    if (this.#options.clock.monotonicMs() > kept.safeUntilMs) this.#fence(kept)
  }

  #fence(kept: Kept): void {
    // A job that ended between the heartbeat and its answer is not lost, only removed from the map.
    if (kept.ctx.isLost || this.#kept.get(kept.ctx.job.id) !== kept) return
    kept.ctx.log.warn('the lease is lost; the handler is stopped')
    kept.ctx.fence()
  }
}
