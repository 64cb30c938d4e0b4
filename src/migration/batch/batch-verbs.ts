import type { Tx } from '../../../db/client.ts'
import {
  hasInstances,
  listHolders,
  listWindows,
  lockBatch,
  moveBatch,
} from '../../../db/queries/batches/batch-rows.ts'
import { findCommitted, intendReset, lookAtAll } from '../../../db/queries/entries/entry-rows.ts'
import { countLeaving } from '../../../db/queries/entries/entry-under-way.ts'
import { findFinished } from '../../../db/queries/entries/finished-entries.ts'
import { deletePause, insertPause } from '../../../db/queries/fleet/pauses.ts'
import type { BatchRow } from '../../../db/schema/migration.ts'
import { type BatchEvent, type BatchState, mayHappen } from '../../domain/migration/batch/batch-table.ts'
import { hasEnded } from '../../domain/migration/schedule/windows.ts'
import { many } from '../../domain/text/sentence.ts'
import { DroverError } from '../../errors.ts'
import { enqueue } from '../../ledger/jobs/enqueue.ts'
import { viewWindow } from '../entry/batch-view.ts'
import { requireForgettingConfirmed } from '../entry/forget-finished.ts'

export interface BatchVerb {
  readonly name: string
  readonly by: string
  readonly now: Date
}

const laneOf = (name: string) => ({ scope: 'lane', name: `batch/${name}` }) as const

/** Starts a batch or resumes a stopped batch. A job makes its entries. */
export const startBatchNow = async (
  tx: Tx,
  verb: BatchVerb,
): Promise<{ readonly batch: BatchRow; readonly jobId: string }> => {
  const batch = await locked(tx, verb.name)
  requirePossible(batch, 'start')
  const windows = (await listWindows(tx, batch.id)).map(viewWindow)
  if (windows.length > 0 && windows.every((window) => hasEnded(window, verb.now.getTime())))
    throw refuse(
      'batch-windows-over',
      `Every window of ${batch.name} is over.`,
      'Add a window that is still to come.',
    )
  // An instance gets a new entry only when its old entry is gone: otherwise it would be left out for good.
  const leaving = await countLeaving(tx, batch.id)
  if (leaving > 0)
    throw refuse(
      'batch-leaving',
      `${leaving} of the entries of ${batch.name} are still being taken away by its reset.`,
      'Wait until they are gone, then start it; where one stays, its message in the queue says why.',
      { leaving },
    )
  if (!(await hasInstances(tx, batch.id))) throw nobodyToStart(batch.name, await listHolders(tx, batch.id))
  if (batch.requireApproval && !batch.approval)
    throw refuse(
      'batch-not-approved',
      `The plan of ${batch.name} is not approved.`,
      'Plan it, and have the plan approved.',
    )
  await deletePause(tx, laneOf(batch.name), verb.by)
  const moved = await moveBatch(tx, {
    batch,
    event: 'start',
    message: batch.state === 'defined' ? 'Its entries are being made.' : 'It goes on where it was.',
    by: verb.by,
    started: batch.state === 'defined',
  })
  await lookAtAll(tx, batch.id)
  const [job] = await enqueue(tx, [searchJob(moved, 'start', verb.by)])
  return { batch: moved, jobId: job?.id ?? '' }
}

const nobodyToStart = (
  name: string,
  holders: readonly { readonly name: string; readonly instances: number }[],
): DroverError =>
  holders.length === 0
    ? refuse(
        'batch-empty',
        `No instance belongs to ${name}.`,
        'Change its include_expression, or wait for the search for its instances to end.',
      )
    : refuse(
        'batch-instances-taken',
        `Every instance of ${name} is in the queue of another batch: ${holders
          .map((holder) => `${holder.name} (${holder.instances})`)
          .join(', ')}.`,
        'Take them off the queue there, or change its include_expression.',
        { batches: holders.map((holder) => holder.name) },
      )

/** The job that finds the instances of a batch, after the batch was made or changed. */
export const searchJob = (batch: BatchRow, purpose: 'assign' | 'start', by: string) => ({
  kind: 'start-batch',
  payload: { batch: batch.name, purpose, version: batch.version },
  subject: { type: 'batch', id: batch.name },
  idempotencyKey: `start-batch/${batch.id}/${purpose}/${batch.version}`,
  createdBy: by,
})

/** Running jobs stop at their next safe point; sources that are off stay off until their window ends. */
export const stopBatch = async (tx: Tx, verb: BatchVerb): Promise<BatchRow> => {
  const batch = await locked(tx, verb.name)
  requirePossible(batch, 'stop')
  await insertPause(tx, { ...laneOf(batch.name), by: verb.by, reason: 'The batch was stopped.' })
  return moveBatch(tx, { batch, event: 'stop', message: 'Stopped by a person.', by: verb.by })
}

/**
 * Removes the entries of a batch and what they made; finished machines stay. Committed entries need force. Returns how
 * many entries are to go.
 */
export const resetBatch = async (
  tx: Tx,
  verb: BatchVerb & {
    readonly force: boolean
    /** How many finished entries the person has agreed to forget. */
    readonly confirmedFinished?: number | undefined
  },
): Promise<{ readonly batch: BatchRow; readonly entries: number }> => {
  const batch = await locked(tx, verb.name)
  // Already as requested: the answer to an earlier request was lost, or a script begins with a reset.
  if (batch.state === 'defined') return { batch, entries: await countLeaving(tx, batch.id) }
  requirePossible(batch, 'reset')
  const committed = await findCommitted(tx, batch.id)
  if (committed.count > 0 && !verb.force)
    throw refuse(
      'batch-committed',
      `${many(committed.count, 'of its sources is', 'of its sources are')} switched off for the cutover: ${committed.names.join(', ')}.`,
      'Wait for them, cancel them one by one, or reset with force.',
      { committed: committed.count },
    )
  requireForgettingConfirmed(await findFinished(tx, batch.id), verb.confirmedFinished)
  const moved = await moveBatch(tx, { batch, event: 'reset', message: 'Reset by a person.', by: verb.by })
  const entries = await intendReset(tx, { batchId: batch.id })
  await deletePause(tx, laneOf(batch.name), verb.by)
  return { batch: moved, entries }
}

const locked = async (tx: Tx, name: string): Promise<BatchRow> => {
  const batch = await lockBatch(tx, name)
  if (batch) return batch
  throw new DroverError({
    code: 'batch-unknown',
    class: 'config',
    message: `There is no batch "${name}".`,
    remedy: 'Look at the list of batches.',
    field: 'name',
  })
}

const requirePossible = (batch: BatchRow, event: BatchEvent): void => {
  if (mayHappen(batch.state as BatchState, event)) return
  throw refuse(
    'batch-not-from-here',
    `The batch ${batch.name} is ${batch.state}: it cannot be ${event === 'stop' ? 'stopped' : event === 'start' ? 'started' : event}.`,
    'Look at the batch: its state says what is possible.',
    { state: batch.state },
  )
}

const refuse = (
  code: string,
  message: string,
  remedy: string,
  detail?: Record<string, unknown>,
): DroverError => new DroverError({ code, class: 'conflict', message, remedy, ...(detail ? { detail } : {}) })
