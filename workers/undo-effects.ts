import type { Tx } from '../db/client.ts'
import { beginUndo, findOpenEffects, settleEffect } from '../db/queries/effects/effects.ts'
import { holdLease } from '../db/queries/leases/hold-lease.ts'
import type { EffectRow } from '../db/schema/effect.ts'
import { boundedSignal } from '../src/bounded-signal.ts'
import { crashPoint } from '../src/crash-point.ts'
import { asDroverError, DroverError, FencedError, recordError } from '../src/errors.ts'
import { debtDelayMs } from '../src/ledger/conductor/sweeps.ts'
import { fencedBy } from '../src/ledger/effects.ts'
import type { JobContext, Undoer } from '../src/ledger/job.ts'
import { storableJson } from '../src/storable.ts'

/** How long one undo may take before the effect becomes a debt; debts are retried while the job can end. */
const undoMs = 60_000

export interface UndoOptions {
  /** The job that ends, or that settles a debt. When its lease is lost, the next lease holder undoes the rest. */
  readonly ctx: Pick<JobContext, 'db' | 'job' | 'log' | 'clock' | 'usePlatform'>
  readonly undoers: ReadonlyMap<string, Undoer>
  readonly actor: string
  readonly signal: AbortSignal
  readonly confirm: () => void
}

/**
 * Undoes the effects of a job, the latest first. An effect that cannot be undone becomes a debt, and the others go on: a
 * failed clean-up is recorded and retried, and never hides how the job ended.
 */
export const undoEffects = async (
  jobId: string,
  options: UndoOptions,
): Promise<{ undone: number; debts: number }> => {
  let undone = 0
  let debts = 0
  for (const effect of await findOpenEffects(options.ctx.db, jobId)) {
    if (await undoOne(effect, options)) undone += 1
    else debts += 1
  }
  return { undone, debts }
}

/** Undoes one effect, or makes it a debt. Returns true when nothing is owed any more: undone, or taken over by a person. */
export const undoOne = async (effect: EffectRow, options: UndoOptions): Promise<boolean> => {
  const { ctx, actor, signal, confirm } = options
  try {
    // Checks the lease in Postgres, not only by the clock: a wrong undo would destroy work that another worker finished.
    if (!(await fenced(options, (tx) => beginUndo(tx, effect)))) return true
    crashPoint('before-undo')
    confirm()
    if (effect.undo !== null)
      await findUndoer(
        effect,
        options,
      )({
        effect,
        db: ctx.db,
        clock: ctx.clock,
        usePlatform: ctx.usePlatform,
        signal: boundedSignal(signal, undoMs),
        confirm,
        fenced: fencedBy(ctx.db, { jobId: ctx.job.id, epoch: ctx.job.leaseEpoch }),
      })
    crashPoint('after-undo')
    await fenced(options, (tx) => settleEffect(tx, { id: effect.id, actor, outcome: 'undone' }))
    return true
  } catch (thrown) {
    if (thrown instanceof FencedError) throw thrown
    signal.throwIfAborted()
    const error = asDroverError(thrown)
    ctx.log.warn({ err: error, effect: effect.id, effectKind: effect.kind }, 'an effect could not be undone')
    await fenced(options, (tx) =>
      settleEffect(tx, {
        id: effect.id,
        actor,
        outcome: 'debt',
        error: storableJson(recordError(error)),
        delayMs: debtDelayMs(effect.attempts + 1, Math.random()),
      }),
    )
    return false
  }
}

const fenced = async <Value>(options: UndoOptions, write: (tx: Tx) => Promise<Value>): Promise<Value> => {
  const { db, job } = options.ctx
  return (await db.begin(async (tx) => {
    if (!(await holdLease(tx, job.id, job.leaseEpoch))) throw new FencedError(job.id, job.leaseEpoch)
    return write(tx)
  })) as Value
}

const findUndoer = (effect: EffectRow, options: UndoOptions): Undoer => {
  const undoer = options.undoers.get(effect.kind)
  if (undoer) return undoer
  throw new DroverError({
    code: 'undoer-unknown',
    class: 'environment',
    message: `This worker does not know how to undo ${effect.kind}.`,
    remedy: 'Start a worker of the version that made the effect, or waive the effect.',
  })
}
