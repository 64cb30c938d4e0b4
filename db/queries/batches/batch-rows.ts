import {
  type BatchEvent,
  type BatchState,
  batchTable,
} from '../../../src/domain/migration/batch/batch-table.ts'
import { requireTransition, sweepOf } from '../../../src/domain/table/state-table.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { BatchRow, WindowRow } from '../../schema/migration.ts'
import { inStates, word } from '../../state-words.ts'
import { openJobAbout } from '../jobs/open-job-about.ts'

export const findBatch = async (db: Queryable, name: string): Promise<BatchRow | undefined> => {
  const [row] = await db<BatchRow[]>`select * from batch where name = ${name}`
  return row
}

export const findBatchById = async (db: Queryable, id: string): Promise<BatchRow | undefined> => {
  const [row] = await db<BatchRow[]>`select * from batch where id = ${id}::uuid`
  return row
}

/** Locked until the transaction ends: verbs on one batch run one after another. */
export const lockBatch = async (tx: Tx, name: string): Promise<BatchRow | undefined> => {
  const [row] = await tx<BatchRow[]>`select * from batch where name = ${name} for update`
  return row
}

export const listWindows = async (db: Queryable, batchId: string): Promise<WindowRow[]> => db<WindowRow[]>`
  select * from batch_window where batch_id = ${batchId}::uuid order by starts_at nulls first, name`

/** Room in windows and under constraints is given out by one transaction at a time. */
export const lockRoom = async (tx: Tx, batchId: string): Promise<void> => {
  await tx`select 1 from batch where id = ${batchId}::uuid for no key update`
}

const finish = sweepOf(batchTable, 'finish')

/** A condition: no entry of the batch `b` will go on, and its start has made all its entries. */
const isOver = (db: Queryable) => db`
  b.state ${inStates(db, finish.from)} and exists (select from entry e where e.batch_id = b.id)
    and not exists (select from entry e where e.batch_id = b.id
      and (e.state not in ('finished', 'canceled') or e.intent is not null))
    and not ${openJobAbout(db, 'batch', db`b.name`)}`

export interface OverBatch {
  readonly id: string
  /** At least one of its entries has finished. */
  readonly migrated: boolean
}

/** Running batches in which every entry has finished or was cancelled. */
export const findOverBatches = async (db: Queryable): Promise<OverBatch[]> => db<OverBatch[]>`
  select b.id, exists (select from entry e where e.batch_id = b.id and e.state = 'finished') as migrated
  from batch b where ${isOver(db)}`

/** Finishes batches, unless an entry goes on again since they were found. Returns the names of the finished ones. */
export const finishBatchRows = async (
  db: Queryable,
  batches: readonly { readonly id: string; readonly message: string }[],
): Promise<string[]> => {
  const rows = await db<{ name: string }[]>`
    with done as (
      update batch b set state = ${word(db, finish.to)}, finished_at = now(), updated_at = now(), message = f.message
      from unnest(${batches.map(({ id }) => id)}::uuid[], ${batches.map(({ message }) => message)}::text[])
        as f(id, message)
      where b.id = f.id and ${isOver(db)}
      returning b.name, b.message
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason)
      select 'batch.finished', 'batch', name, 'conductor', 'running', ${word(db, finish.to)}, message from done
    )
    select name from done`
  return rows.map(({ name }) => name)
}

/** Moves a batch, with its event. The caller holds its lock. */
export const moveBatch = async (
  tx: Tx,
  moved: {
    readonly batch: BatchRow
    readonly event: BatchEvent
    readonly message: string
    readonly by: string
    readonly started?: boolean
  },
): Promise<BatchRow> => {
  const { batch, message } = moved
  const { to, tells } = requireTransition(batchTable, batch.state as BatchState, moved.event)
  const [row] = await tx<BatchRow[]>`
    with moved as (
      update batch set state = ${to}, message = ${message}, updated_at = now(), version = version + 1,
        started_at = case when ${moved.started === true} then now() when ${to} = 'defined' then null else started_at end,
        finished_at = case when ${to} = 'finished' then now() else null end
      where id = ${batch.id}::uuid and state = ${batch.state} returning *
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason)
      select ${tells}, 'batch', name, ${moved.by}, ${batch.state}, state, message from moved
    )
    select * from moved`
  if (!row)
    throw new Error(`Batch ${batch.name} is not ${batch.state} any more: it was not moved under its lock.`)
  return row
}

/** Whether a start has anything to do: an entry to continue, or a free instance. */
export const hasInstances = async (db: Queryable, batchId: string): Promise<boolean> => {
  const [row] = await db<{ some: boolean }[]>`
    select exists (select from entry where batch_id = ${batchId}::uuid)
      or exists (select from batch_instance a where a.batch_id = ${batchId}::uuid
        and not exists (select from entry e where e.instance_id = a.instance_id)) as some`
  return row?.some ?? false
}

/** Other batches with instances of this one, those with the most first, and how many they have. */
export const listHolders = async (
  db: Queryable,
  batchId: string,
): Promise<readonly { readonly name: string; readonly instances: number }[]> => db<
  { name: string; instances: number }[]
>`
  select b.name, count(*)::int as instances from batch_instance a join entry e on e.instance_id = a.instance_id
    join batch b on b.id = e.batch_id
  where a.batch_id = ${batchId}::uuid and b.id <> ${batchId}::uuid group by b.name order by 2 desc, 1 limit 5`
