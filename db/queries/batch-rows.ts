import type { Queryable, Tx } from '../client.ts'
import type { BatchRow, WindowRow } from '../schema/migration.ts'
import { openJobAbout } from './open-job-about.ts'

export const findBatch = async (db: Queryable, name: string): Promise<BatchRow | undefined> => {
  const [row] = await db<BatchRow[]>`select * from batch where name = ${name}`
  return row
}

export const findBatchById = async (db: Queryable, id: string): Promise<BatchRow | undefined> => {
  const [row] = await db<BatchRow[]>`select * from batch where id = ${id}::uuid`
  return row
}

/** Locked until the transaction ends: two verbs on one batch take turns. */
export const lockBatch = async (tx: Tx, name: string): Promise<BatchRow | undefined> => {
  const [row] = await tx<BatchRow[]>`select * from batch where name = ${name} for update`
  return row
}

export const listWindows = async (db: Queryable, batchId: string): Promise<WindowRow[]> => db<WindowRow[]>`
  select * from batch_window where batch_id = ${batchId}::uuid order by starts_at nulls first, name`

/** Room in windows and under constraints is given out by one at a time. */
export const lockRoom = async (tx: Tx, batchId: string): Promise<void> => {
  await tx`select 1 from batch where id = ${batchId}::uuid for no key update`
}

/** Running batches of which every entry has finished or was given up. */
export const finishBatches = async (db: Queryable): Promise<string[]> => {
  const rows = await db<{ name: string }[]>`
    with done as (
      update batch b set state = 'finished', finished_at = now(), updated_at = now(),
        message = case when exists (select from entry e where e.batch_id = b.id and e.state = 'finished')
          then 'Every entry has finished.' else 'Every entry was given up: nothing was migrated.' end
      where state = 'running' and exists (select from entry e where e.batch_id = b.id)
        and not exists (select from entry e where e.batch_id = b.id
          and (e.state not in ('finished', 'canceled') or e.intent is not null))
        -- Its start is still making entries.
        and not ${openJobAbout(db, 'batch', db`b.name`)}
      returning name, message
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason)
      select 'batch.finished', 'batch', name, 'conductor', 'running', 'finished', message from done
    )
    select name from done`
  return rows.map(({ name }) => name)
}

/** Moves a batch and tells of it. The caller holds its lock and has asked the table. */
export const moveBatch = async (
  tx: Tx,
  moved: {
    readonly batch: BatchRow
    readonly to: BatchRow['state']
    readonly event: string
    readonly message: string
    readonly by: string
    readonly started?: boolean
  },
): Promise<BatchRow> => {
  const { batch, to, message } = moved
  const [row] = await tx<BatchRow[]>`
    with moved as (
      update batch set state = ${to}, message = ${message}, updated_at = now(), version = version + 1,
        started_at = case when ${moved.started === true} then now() when ${to} = 'defined' then null else started_at end,
        finished_at = case when ${to} = 'finished' then now() else null end
      where id = ${batch.id}::uuid returning *
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason)
      select ${`batch.${moved.event}`}, 'batch', name, ${moved.by}, ${batch.state}, state, message from moved
    )
    select * from moved`
  if (!row) throw new Error(`Batch ${batch.name} vanished while its row was locked.`)
  return row
}

/** Whether a start has anything to do: an entry to go on with, or an instance that nobody has. */
export const hasInstances = async (db: Queryable, batchId: string): Promise<boolean> => {
  const [row] = await db<{ some: boolean }[]>`
    select exists (select from entry where batch_id = ${batchId}::uuid)
      or exists (select from batch_instance a where a.batch_id = ${batchId}::uuid
        and not exists (select from entry e where e.instance_id = a.instance_id)) as some`
  return row?.some ?? false
}

/** Other batches that have instances of this one, those with the most first, and how many that are. */
export const listHolders = async (
  db: Queryable,
  batchId: string,
): Promise<readonly { readonly name: string; readonly instances: number }[]> => db<
  { name: string; instances: number }[]
>`
  select b.name, count(*)::int as instances from batch_instance a join entry e on e.instance_id = a.instance_id
    join batch b on b.id = e.batch_id
  where a.batch_id = ${batchId}::uuid and b.id <> ${batchId}::uuid group by b.name order by 2 desc, 1 limit 5`
