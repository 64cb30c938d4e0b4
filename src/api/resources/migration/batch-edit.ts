import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../../db/client.ts'
import { lockBatch } from '../../../../db/queries/batches/batch-rows.ts'
import { type BatchSettings, insertBatch, updateBatch } from '../../../../db/queries/batches/write-batch.ts'
import { writeWindows } from '../../../../db/queries/batches/write-windows.ts'
import { lookAtAll } from '../../../../db/queries/entries/entry-rows.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { deleteLimit, lockLimit, writeLimit } from '../../../../db/queries/tokens/limits.ts'
import type { BatchRow } from '../../../../db/schema/migration.ts'
import { firstCopyToken } from '../../../domain/migration/batch/batch-settings.ts'
import { enqueue } from '../../../ledger/jobs/enqueue.ts'
import { searchJob } from '../../../migration/batch/batch-verbs.ts'
import { requireVersion } from '../../wire/preconditions.ts'
import { notFound } from '../../wire/problem.ts'
import { checkChangedBatch, checkNewBatch, windowRows } from './batch-validation.ts'
import type { BatchBody } from './batch-view.ts'

export const lockNamedBatch = async (tx: Tx, name: string): Promise<BatchRow> => {
  const row = await lockBatch(tx, name)
  if (!row) throw notFound('batch', name)
  return row
}

const storedOf = (body: BatchBody): BatchSettings => ({
  name: body.name,
  includeExpression: body.include_expression,
  defaults: body.defaults,
  config: { ...body.config, probes: body.probes },
  constraints: body.constraints,
  requireApproval: body.require_approval,
})

/** Sets the admission limit that `sync_limit` means; 0: there is none. */
const saveSyncLimit = async (tx: Tx, name: string, limit: number, by: string): Promise<void> => {
  const before = await lockLimit(tx, firstCopyToken(name))
  if (limit === 0) await deleteLimit(tx, firstCopyToken(name))
  else if (before?.capacity !== limit)
    await writeLimit(tx, { name: firstCopyToken(name), capacity: limit, by })
}

/** Stores a new batch and has its instances searched for, in the caller's transaction. */
export const createBatch = async (tx: Tx, body: BatchBody, by: string): Promise<BatchRow> => {
  await checkNewBatch(tx, body)
  const row = await insertBatch(tx, { ...storedOf(body), id: uuidv7(), by })
  await writeWindows(tx, row.id, windowRows(body, uuidv7))
  await saveSyncLimit(tx, row.name, body.config.sync_limit, by)
  await insertAuditEvent(tx, {
    type: 'batch.created',
    subject: { type: 'batch', id: row.name },
    actor: by,
    to: row.state,
    detail: {
      include_expression: row.includeExpression,
      target: body.defaults.placement.target,
      windows: body.migration_windows.length,
    },
  })
  await enqueue(tx, [searchJob(row, 'assign', by)])
  return row
}

const sameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The names of the settings that are others than before; windows are always said to be, they are rows. */
const changedFields = (before: BatchRow, after: BatchRow): string[] =>
  (
    [
      ['name', before.name, after.name],
      ['include_expression', before.includeExpression, after.includeExpression],
      ['defaults', before.defaults, after.defaults],
      ['config', before.config, after.config],
      ['constraints', before.constraints, after.constraints],
      ['require_approval', before.requireApproval, after.requireApproval],
    ] as const
  ).flatMap(([field, old, now]) => (sameJson(old, now) ? [] : [field]))

/** Changes the settings of a batch as a whole. */
export const changeBatch = async (
  tx: Tx,
  asked: {
    readonly name: string
    readonly body: BatchBody
    readonly ifMatch: string | undefined
    readonly by: string
  },
): Promise<BatchRow> => {
  const { body, by } = asked
  const before = await lockNamedBatch(tx, asked.name)
  requireVersion(asked.ifMatch, before.version)
  await checkChangedBatch(tx, before, body)
  const after = await updateBatch(tx, before.id, storedOf(body))
  await writeWindows(tx, before.id, windowRows(body, uuidv7))
  if (after.name !== before.name) await deleteLimit(tx, firstCopyToken(before.name))
  await saveSyncLimit(tx, after.name, body.config.sync_limit, by)
  await insertAuditEvent(tx, {
    type: 'batch.changed',
    subject: { type: 'batch', id: after.name },
    actor: by,
    detail: {
      fields: changedFields(before, after),
      ...(after.name === before.name ? {} : { name_before: before.name }),
      ...(before.approval ? { approval_voided: true } : {}),
    },
  })
  // What an entry waits for may be there now, such as a window.
  await lookAtAll(tx, before.id)
  if (after.state === 'defined') await enqueue(tx, [searchJob(after, 'assign', by)])
  return after
}
