import type { Queryable } from '../../client.ts'

export interface StageOwner {
  readonly jobId: string
  readonly epoch: number
}

/**
 * Stores a reading until the sync's end. `lines` is the JSON text of an array of rows, so that facts that were
 * serialised for their hash are not serialised again. The later line about a thing wins. False: fenced.
 */
export const stageInventory = async (db: Queryable, owner: StageOwner, lines: string): Promise<boolean> => {
  const [row] = await db<{ held: boolean }[]>`
    with holder as (
      select id, lease_epoch from job
      where id = ${owner.jobId}::uuid and lease_epoch = ${owner.epoch}::bigint and state = 'running'
    ), staged as (
      insert into inventory_stage (job_id, epoch, kind, ref, action, record_id, base, hash, name, facts, more)
      select h.id, h.lease_epoch, s.kind, s.ref, s.action, s.record_id, s.base, s.hash, s.name, s.facts, s.more
      from holder h, jsonb_to_recordset(${lines}::text::jsonb) as s(
        kind text, ref text, action text, record_id uuid, base text, hash text, name text, facts jsonb, more jsonb)
      on conflict (job_id, epoch, kind, ref) do update set action = excluded.action,
        record_id = excluded.record_id, base = excluded.base, hash = excluded.hash, name = excluded.name,
        facts = excluded.facts, more = excluded.more
    )
    select exists (select from holder) as held`
  return row?.held ?? false
}

export const clearStage = async (db: Queryable, owner: StageOwner): Promise<void> => {
  await db`delete from inventory_stage where job_id = ${owner.jobId}::uuid and epoch = ${owner.epoch}::bigint`
}

export interface StageCounts {
  readonly kind: string
  readonly action: string
  readonly count: number
}

export const countStage = async (db: Queryable, owner: StageOwner): Promise<StageCounts[]> => db<
  StageCounts[]
>`
  select kind, action, count(*)::int as count from inventory_stage
  where job_id = ${owner.jobId}::uuid and epoch = ${owner.epoch}::bigint group by kind, action`

/** Removes stage rows of syncs that ended, or that another try has taken over. */
export const pruneStage = async (db: Queryable, limit: number): Promise<number> => {
  const deleted = await db`
    delete from inventory_stage s where (s.job_id, s.epoch) in (
      select job_id, epoch from (
        select distinct job_id, epoch from inventory_stage
      ) owner
      where not exists (
        select from job j where j.id = owner.job_id and j.lease_epoch = owner.epoch and j.finished_at is null)
      limit ${limit})`
  return deleted.count
}
