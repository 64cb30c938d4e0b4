import { type Db, isDbAway } from '../db/client.ts'
import type { JobSettlement } from '../db/queries/jobs/settle-job.ts'
import { findCancelRequest } from '../db/queries/leases/find-cancel-request.ts'
import { limits } from '../src/config/config.ts'
import { crashPoint } from '../src/crash-point.ts'
import { sealBrokenCode } from '../src/domain/inventory/connectivity.ts'
import { decideRetry, pauseForPassword } from '../src/domain/job/retry.ts'
import { many } from '../src/domain/text/sentence.ts'
import { asDroverError, DroverError, FencedError, recordError } from '../src/errors.ts'
import {
  CancelRequest,
  type Handler,
  type Outcome,
  type Release,
  ReleaseRequest,
  type Undoer,
  type Wait,
} from '../src/ledger/job.ts'
import { settle } from '../src/ledger/jobs/settle.ts'
import { storableJson, storableText } from '../src/storable.ts'
import type { RunningJob } from './running-job.ts'
import { undoEffects } from './undo-effects.ts'

/** How a turn ended: with an outcome, with a thrown error, or cancelled before its start. */
export type Ending =
  | Outcome
  | { readonly type: 'thrown'; readonly thrown: unknown }
  | { readonly type: 'canceled' }

export interface EndTurnOptions {
  readonly db: Db
  readonly undoers: ReadonlyMap<string, Undoer>
  readonly handler: Handler
  readonly actor: string
}

type Settlement = Omit<JobSettlement, 'id' | 'epoch' | 'actor'>

/** Ends a turn, fenced. Returns the label for the metrics; throws FencedError when the lease is lost. */
export const endTurn = async (ctx: RunningJob, ending: Ending, options: EndTurnOptions): Promise<string> => {
  switch (ending.type) {
    case 'done': {
      const result = ending.result === undefined ? null : storableJson(ending.result)
      await commit(ctx, options, { event: 'succeed', result }, ending)
      return 'succeeded'
    }
    case 'wait':
      await commit(ctx, options, waiting(ending), ending)
      return 'waiting'
    case 'release':
      // A cancel that came meanwhile is done now, without another turn.
      return ctx.stopReason instanceof CancelRequest
        ? cancel(ctx, options, ctx.stopReason.message)
        : giveBack(ctx, options, ending)
    case 'canceled':
      return cancel(ctx, options, 'cancelled before it ran')
    case 'thrown':
      return endThrown(ctx, ending.thrown, options)
  }
}

const endThrown = async (ctx: RunningJob, thrown: unknown, options: EndTurnOptions): Promise<string> => {
  const stopped: unknown = ctx.stopReason ?? thrown
  if (ctx.isLost || thrown instanceof FencedError) throw new FencedError(ctx.job.id, ctx.job.leaseEpoch)
  if (stopped instanceof CancelRequest) return cancel(ctx, options, stopped.message)
  const released = [stopped, thrown].find((one) => one instanceof ReleaseRequest)
  if (released) return giveBack(ctx, options, { reason: released.reason, detail: released.message })
  if (maybeLacksKey(ctx, thrown)) return giveBack(ctx, options, { reason: 'worker-drains', detail: unopened })
  // The error may be a consequence of a cancel that this process has not noticed yet.
  const canceled = isDbAway(thrown) ? undefined : await findCancelRequest(options.db, ctx.job.id)
  if (canceled !== undefined) return cancel(ctx, options, canceled)
  const error = isDbAway(thrown) ? databaseAway(thrown) : asDroverError(thrown)
  const policy = options.handler.kind.retry
  const decision =
    error.code === sealBrokenCode && policy.waitsForPassword
      ? pauseForPassword(ctx.job.leaseEpoch, policy, Math.random())
      : decideRetry(error.class, ctx.job, policy, Math.random())
  ctx.log.warn({ err: error, code: error.code, retry: decision.retry }, 'a try failed')
  if (!decision.retry) return fail(ctx, options, error, decision.charge)
  await commit(ctx, options, {
    event: 'retry',
    reason: error.code,
    error: storableJson(recordError(error)),
    charge: decision.charge,
    delayMs: decision.delayMs,
  })
  return 'retried'
}

const giveBack = async (
  ctx: RunningJob,
  options: EndTurnOptions,
  { reason, detail }: Pick<Release, 'reason' | 'detail'>,
): Promise<string> => {
  const message = storableText(detail)
  await commit(ctx, options, { event: 'release', reason, message })
  return 'released'
}

/** A worker drains when a new key is in use that it lacks: other workers may have the key. */
const maybeLacksKey = (ctx: RunningJob, thrown: unknown): boolean =>
  ctx.isDraining && thrown instanceof DroverError && sealCodes.includes(thrown.code)

const unopened = 'The worker is going away, and a stored secret did not open there: another worker tries.'

const sealCodes: readonly string[] = ['seal-broken', sealBrokenCode]

/** Postgres became unreachable during a write of the handler: neither the job nor the code is at fault. */
const databaseAway = (cause: unknown): DroverError =>
  new DroverError(
    {
      code: 'database-away',
      class: 'environment',
      message: 'Postgres could not be reached while the job wrote down how far it was.',
      remedy: 'Nothing to do when Postgres is back: the job goes on from its last checkpoint.',
    },
    { cause },
  )

const fail = async (
  ctx: RunningJob,
  options: EndTurnOptions,
  error: DroverError,
  charge: 'attempt' | 'environmentAttempt' | 'none',
): Promise<string> => {
  const residue = await undo(ctx, options)
  await commit(ctx, options, {
    event: 'fail',
    reason: residue.debts > 0 ? `${error.code}, ${many(residue.debts, 'effect')} left as debt` : error.code,
    error: storableJson(recordError(error)),
    charge,
  })
  return 'failed'
}

const cancel = async (ctx: RunningJob, options: EndTurnOptions, reason: string): Promise<string> => {
  const residue = await undo(ctx, options)
  await commit(ctx, options, {
    event: 'cancel',
    reason: residue.debts > 0 ? `${reason}, ${many(residue.debts, 'effect')} left as debt` : reason,
  })
  return 'canceled'
}

/** The cancel may have aborted the job's own signal: only a lost lease stops the undo. */
const undo = (ctx: RunningJob, options: EndTurnOptions) => {
  const { signal, confirm } = ctx.holder(ctx.lost)
  return undoEffects(ctx.job.id, { ctx, ...options, signal, confirm })
}

const waiting = (wait: Wait): Settlement => ({
  event: 'wait',
  reason: storableText(wait.reason),
  wait: {
    reason: storableText(wait.reason),
    detail: storableText(wait.detail),
    untilMs: Math.min(Math.max(wait.forMs, 1), limits.waitMaxMs),
    signal: wait.signal ?? null,
  },
})

const commit = async (
  ctx: RunningJob,
  options: EndTurnOptions,
  settlement: Settlement,
  outcome?: Outcome,
): Promise<void> => {
  ctx.end()
  crashPoint('before-finish')
  await settle(
    options.db,
    {
      id: ctx.job.id,
      epoch: ctx.job.leaseEpoch,
      actor: options.actor,
      progress: ctx.takeProgress(),
      ...settlement,
    },
    { ...outcome, keepsTokens: options.handler.kind.keepsTokens },
  )
  crashPoint('after-finish')
}
