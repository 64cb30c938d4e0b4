import type { Queryable } from '../../client.ts'
import type { StageOwner } from './stage-inventory.ts'

export interface MissingAt extends StageOwner {
  readonly siteId: string
}

/**
 * A condition on an instance or machine `i` of the site: this reading does not show it. In a full reading it was not
 * mentioned, in a delta it was reported as gone. Each has an index of its own: a delta must not cost as much as the
 * source is large.
 */
export const isMissing = (db: Queryable, at: StageOwner, full: boolean) => {
  const staged = db`s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'`
  return full
    ? db`not exists (select from inventory_stage s where ${staged} and s.ref = i.ref and s.action <> 'gone')`
    : db`i.ref = any(array(select s.ref from inventory_stage s where ${staged} and s.action = 'gone'))`
}

/** Live instances that this reading does not show. */
export const findMissing = async (db: Queryable, at: MissingAt, full: boolean): Promise<string[]> => {
  const rows = await db<{ ref: string }[]>`
    select i.ref from instance i
    where i.site_id = ${at.siteId}::uuid and i.gone_at is null and ${isMissing(db, at, full)}
    order by i.ref`
  return rows.map((row) => row.ref)
}

/** Live machines of a target that this reading does not show. */
export const findMissingMachines = async (db: Queryable, at: MissingAt, full: boolean): Promise<string[]> => {
  const rows = await db<{ ref: string }[]>`
    select i.ref from machine i
    where i.target_id = ${at.siteId}::uuid and i.gone_at is null and ${isMissing(db, at, full)}
    order by i.ref`
  return rows.map((row) => row.ref)
}
