import type { Tx } from '../../client.ts'
import type { BatchRow } from '../../schema/migration.ts'
import { entryIsUnderWay } from '../entries/entry-under-way.ts'

/** A person's settings of a batch, as stored. */
export interface BatchSettings {
  readonly name: string
  readonly includeExpression: string
  readonly defaults: Readonly<Record<string, unknown>>
  /** Includes the probes. */
  readonly config: Readonly<Record<string, unknown>>
  readonly constraints: readonly Readonly<Record<string, unknown>>[]
  readonly requireApproval: boolean
}

const text = (value: unknown): string => JSON.stringify(value)

export const insertBatch = async (
  tx: Tx,
  batch: BatchSettings & { readonly id: string; readonly by: string },
): Promise<BatchRow> => {
  const [row] = await tx<BatchRow[]>`
    insert into batch (id, name, include_expression, defaults, config, constraints, require_approval, created_by)
    values (${batch.id}::uuid, ${batch.name}, ${batch.includeExpression}, ${text(batch.defaults)}::text::jsonb,
      ${text(batch.config)}::text::jsonb, ${text(batch.constraints)}::text::jsonb, ${batch.requireApproval}, ${batch.by})
    returning *`
  if (!row) throw new Error('A batch was inserted but did not come back.')
  return row
}

/** Writes all settings at once, and voids the approval. */
export const updateBatch = async (tx: Tx, id: string, batch: BatchSettings): Promise<BatchRow> => {
  const [row] = await tx<BatchRow[]>`
    update batch set name = ${batch.name}, include_expression = ${batch.includeExpression},
      defaults = ${text(batch.defaults)}::text::jsonb, config = ${text(batch.config)}::text::jsonb,
      constraints = ${text(batch.constraints)}::text::jsonb, require_approval = ${batch.requireApproval},
      approval = null, version = version + 1, updated_at = now()
    where id = ${id}::uuid returning *`
  if (!row) throw new Error('A batch vanished while its row was locked.')
  return row
}

/** Records who approved which plan. The version counts up: an older ETag does not include the approval. */
export const approveBatch = async (
  tx: Tx,
  id: string,
  approval: Readonly<Record<string, unknown>>,
): Promise<BatchRow> => {
  const [row] = await tx<BatchRow[]>`
    update batch set approval = ${text(approval)}::text::jsonb, updated_at = now(), version = version + 1
    where id = ${id}::uuid returning *`
  if (!row) throw new Error('A batch vanished while its row was locked.')
  return row
}

/** Deletes the batch's row and everything that belongs to it alone. Its entries are gone already; certificates stay. */
export const deleteBatchRow = async (tx: Tx, id: string): Promise<void> => {
  await tx`
    with windows as (delete from batch_window where batch_id = ${id}::uuid),
    members as (delete from batch_instance where batch_id = ${id}::uuid),
    plans as (delete from batch_plan where batch_id = ${id}::uuid)
    delete from batch where id = ${id}::uuid`
}

/** Deletes some ended entries of a batch that is being removed; returns how many. Their machines stay. */
export const deleteEndedEntries = async (tx: Tx, batchId: string, most: number): Promise<number> => {
  const rows = await tx`
    with gone as (
      select e.id, e.instance_id from entry e left join job j on j.id = e.job_id
      where e.batch_id = ${batchId}::uuid and not ${entryIsUnderWay(tx)} order by e.id limit ${most}
    ), extents as (delete from entry_extent where entry_id in (select id from gone)),
    disks as (delete from entry_disk where entry_id in (select id from gone)),
    thawed as (
      update instance set frozen_by = null where id in (select instance_id from gone) and frozen_by is not null
    )
    delete from entry where id in (select id from gone) returning 1`
  return rows.length
}
