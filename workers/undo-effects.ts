import type { Db, Tx } from '../db/client.ts'
import { beginUndo, findOpenEffects, settleEffect } from '../db/queries/effects.ts'
import { holdLease } from '../db/queries/hold-lease.ts'
import type { EffectRow } from '../db/schema/effect.ts'
import { asDroverError, DroverError, FencedError, recordError } from '../src/errors.ts'
import { crashPoint } from '../src/ledger/crash-point.ts'
import { fencedBy, type LeaseHolder } from '../src/ledger/effects.ts'
import { debtDelayMs } from '../src/ledger/sweeps.ts'
import type { Logger } from '../src/log.ts'
import { storableJson } from '../src/storable.ts'
import type { Undoer } from './handler.ts'

/** How long one undo may take before it becomes a debt; debts are tried again without a job waiting for them. */
const undoMs = 60_000

export interface UndoOptions {
  readonly db: Db
  readonly undoers: ReadonlyMap<string, Undoer>
  readonly actor: string
  /** The job that ends, or that settles a debt. When its lease is lost, whoever has it now undoes the rest. */
  readonly holder: LeaseHolder
  readonly log: Logger
}

/**
 * Undoes what a job has outside, the latest first. What cannot be undone becomes debt and the rest goes on:
 * a failed clean-up is recorded and retried, and never hides how the job ended.
 */
export const undoEffects = async (
  jobId: string,
  options: UndoOptions,
): Promise<{ undone: number; debts: number }> => {
  let undone = 0
  let debts = 0
  for (const effect of await findOpenEffects(options.db, jobId)) {
    if (await undoOne(effect, options)) undone += 1
    else debts += 1
  }
  return { undone, debts }
}

/** Undoes one effect, or makes it a debt. Returns whether nothing of it is owed any more: undone, or taken over. */
export const undoOne = async (effect: EffectRow, options: UndoOptions): Promise<boolean> => {
  const { actor, holder } = options
  try {
    // Asked of Postgres, not only of the clock: a worker that undoes by mistake breaks what another one finished.
    if (!(await fenced(options, (tx) => beginUndo(tx, effect)))) return true
    crashPoint('before-undo')
    holder.confirm()
    if (effect.undo !== null)
      await findUndoer(effect, options)(
        effect,
        undoSignal(holder.signal),
        holder.confirm,
        fencedBy(options.db, holder),
      )
    crashPoint('after-undo')
    await fenced(options, (tx) => settleEffect(tx, { id: effect.id, actor, outcome: 'undone' }))
    return true
  } catch (thrown) {
    if (thrown instanceof FencedError) throw thrown
    holder.signal.throwIfAborted()
    const error = asDroverError(thrown)
    options.log.warn(
      { err: error, effect: effect.id, effectKind: effect.kind },
      'an effect could not be undone',
    )
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
  const { jobId, epoch } = options.holder
  return (await options.db.begin(async (tx) => {
    if (!(await holdLease(tx, jobId, epoch))) throw new FencedError(jobId, epoch)
    return write(tx)
  })) as Value
}

const undoSignal = (signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(undoMs)])

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
