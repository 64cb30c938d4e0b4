import { type Db, isDbAway } from '../db/client.ts'
import type { ClaimAsk, ClaimedJob } from '../db/queries/leases/claim-jobs.ts'
import type { Clock } from '../src/clock.ts'
import { limits } from '../src/config/config.ts'
import { crashPoint } from '../src/crash-point.ts'
import { backoffMs } from '../src/domain/job/retry.ts'
import { asDroverError, FencedError } from '../src/errors.ts'
import type { HeardBell } from '../src/ledger/bell/bell.ts'
import type { Handler, Undoer, UsePlatform } from '../src/ledger/job.ts'
import { claimWithTokens } from '../src/ledger/jobs/admission.ts'
import { type ClaimAnswer, claimGroup } from '../src/ledger/jobs/claim.ts'
import { GroupCommit } from '../src/ledger/jobs/group-commit.ts'
import { finishGroup, type PlainFinish } from '../src/ledger/jobs/settle.ts'
import type { Logger } from '../src/process/log.ts'
import { withRemoteParent, withSpan } from '../src/process/telemetry.ts'
import { storableJson } from '../src/storable.ts'
import { type Ending, endTurn } from './end-turn.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import { jobSeconds, jobsEnded, jobsRunning } from './metrics.ts'
import { RunningJob } from './running-job.ts'

export interface RunnerOptions {
  readonly db: Db
  readonly workerId: string
  readonly leaseMs: number
  readonly clock: Clock
  readonly log: Logger
  readonly keeper: LeaseKeeper
  readonly handlers: ReadonlyMap<string, Handler>
  readonly undoers: ReadonlyMap<string, Undoer>
  /** Lends the platforms of the process. */
  readonly usePlatform: UsePlatform
}

/** How long a claim waits while Postgres is unreachable; after that the conductor rings again. */
const claimWaitLimitMs = 30_000

/** Follows bells: claim, run, end. One runner serves all job kinds of a process, so that claims share statements. */
export class Runner {
  readonly #options: RunnerOptions
  readonly #claims: GroupCommit<ClaimAsk, ClaimAnswer>
  readonly #finishes: GroupCommit<PlainFinish, boolean>
  readonly #actor: string

  constructor(options: RunnerOptions) {
    this.#options = options
    const { db, workerId, leaseMs } = options
    this.#actor = `worker/${workerId}`
    this.#claims = new GroupCommit({
      max: limits.groupCommitMax,
      flush: async (asks) => {
        crashPoint('before-claim')
        const answers = await claimGroup(db, asks, { workerId, leaseMs })
        if (answers.some((answer) => answer.outcome === 'claimed')) crashPoint('after-claim')
        return answers
      },
    })
    this.#finishes = new GroupCommit({
      max: limits.groupCommitMax,
      flush: async (finishes) => {
        crashPoint('before-finish')
        const answers = await finishGroup(db, finishes, this.#actor)
        crashPoint('after-finish')
        return answers
      },
      apart: (error) => !isDbAway(error),
    })
  }

  /** Follows one bell. Resolves when the bell can be acknowledged, whatever the outcome of the job. */
  async follow(kind: string, bell: HeardBell): Promise<void> {
    const handler = this.#options.handlers.get(kind)
    if (!handler) throw new Error(`This worker listens to ${kind} without a handler for it.`)
    const claimedAtMs = this.#options.clock.monotonicMs()
    const job = await this.#claim({ id: bell.id, generation: bell.generation, version: handler.kind.version })
    if (job) await this.#run(handler, job, claimedAtMs)
    crashPoint('before-ack')
  }

  async #claim(ask: ClaimAsk): Promise<ClaimedJob | undefined> {
    const { clock } = this.#options
    const until = clock.monotonicMs() + claimWaitLimitMs
    const answer = await this.#whileAway(
      () => clock.monotonicMs() < until,
      () => this.#claims.submit(ask),
    )
    if (answer.outcome === 'claimed') return answer.job
    if (answer.outcome === 'not-ours') return undefined
    const { db, workerId, leaseMs } = this.#options
    return claimWithTokens(db, ask, { workerId, leaseMs })
  }

  /** Retries a write while Postgres is unreachable and `mayWait` holds: the work is done, only its record is missing. */
  async #whileAway<Value>(mayWait: () => boolean, write: () => Promise<Value>): Promise<Value> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await write()
      } catch (error) {
        if (!isDbAway(error) || !mayWait()) throw error
        await this.#options.clock.sleep(backoffMs(tries + 1, 100, 1_000, Math.random()))
      }
    }
  }

  async #run(handler: Handler, job: ClaimedJob, claimedAtMs: number): Promise<void> {
    const { db, clock, log, usePlatform } = this.#options
    const ctx = new RunningJob({ db, job, kind: handler.kind, clock, log, usePlatform })
    this.#options.keeper.keep(ctx, claimedAtMs)
    jobsRunning.inc({ kind: job.kind })
    const startedMs = this.#options.clock.monotonicMs()
    try {
      const ended = await withRemoteParent(job.trace, () =>
        withSpan(`job ${job.kind}`, { 'drover.job': job.id, 'drover.epoch': job.leaseEpoch }, () =>
          this.#turn(handler, ctx),
        ),
      )
      jobsEnded.inc({ kind: job.kind, ending: ended })
    } finally {
      this.#options.keeper.drop(ctx)
      jobsRunning.dec({ kind: job.kind })
      jobSeconds.observe({ kind: job.kind }, (this.#options.clock.monotonicMs() - startedMs) / 1_000)
    }
  }

  async #turn(handler: Handler, ctx: RunningJob): Promise<string> {
    const ending = await this.#work(handler, ctx)
    const { db, undoers } = this.#options
    try {
      return await this.#whileAway(
        () => !ctx.isLost,
        () => {
          // A plain success shares one statement with other jobs; every other outcome has its own transaction.
          if (ending.type === 'done' && !ending.change && ctx.job.tokens.length === 0)
            return this.#finish(ctx, ending.result)
          return endTurn(ctx, ending, { db, undoers, handler, actor: this.#actor })
        },
      )
    } catch (error) {
      if (error instanceof FencedError) return this.#fenced(ctx)
      if (isDbAway(error) || ctx.isLost) throw error
      // The work may be done, but its outcome cannot be written: that is an error of the job, not of the worker.
      if (asDroverError(error).class === 'bug')
        ctx.log.error({ err: error }, 'the outcome could not be written; the try counts as failed')
      // Expected: a successor superseded the operation at the same moment, or a person cancelled it.
      else ctx.log.info({ err: error }, 'the outcome was refused by what has changed meanwhile')
      return await this.#endAsFailed(handler, ctx, error)
    }
  }

  async #endAsFailed(handler: Handler, ctx: RunningJob, thrown: unknown): Promise<string> {
    const { db, undoers } = this.#options
    try {
      return await endTurn(ctx, { type: 'thrown', thrown }, { db, undoers, handler, actor: this.#actor })
    } catch (error) {
      if (error instanceof FencedError) return this.#fenced(ctx)
      throw error
    }
  }

  #fenced(ctx: RunningJob): string {
    ctx.log.warn({ epoch: ctx.job.leaseEpoch }, 'the outcome was refused: another worker owns the job')
    return 'fenced'
  }

  async #work(handler: Handler, ctx: RunningJob): Promise<Ending> {
    // A cancelled job is claimed only to undo its effects.
    if (ctx.job.cancelRequested) return { type: 'canceled' }
    try {
      return await handler.run(ctx)
    } catch (thrown) {
      return { type: 'thrown', thrown }
    }
  }

  async #finish(ctx: RunningJob, result: Record<string, unknown> | undefined): Promise<string> {
    ctx.end()
    const accepted = await this.#finishes.submit({
      id: ctx.job.id,
      epoch: ctx.job.leaseEpoch,
      result: result === undefined ? null : storableJson(result),
      progress: ctx.takeProgress(),
      touchedNothing: ctx.touchedNothing,
    })
    if (!accepted) throw new FencedError(ctx.job.id, ctx.job.leaseEpoch)
    return 'succeeded'
  }
}
