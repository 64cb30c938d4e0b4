import type { Queryable } from '../../client.ts'

/**
 * Whether a start or a stop was requested after the operation of this job, and was not cancelled. Other kinds do not
 * decide about the power of the machine.
 */
export const hasLaterPowerRequest = async (
  db: Queryable,
  of: { readonly machineId: string; readonly jobId: string },
): Promise<boolean> => {
  const rows = await db`
    select 1 from operation mine join operation newer on newer.machine_id = mine.machine_id and newer.seq > mine.seq
    where mine.job_id = ${of.jobId}::uuid and mine.machine_id = ${of.machineId}::uuid
      and newer.kind in ('start', 'stop') and newer.state <> 'canceled'
      and (newer.started_at is not null or newer.finished_at is null) limit 1`
  return rows.length > 0
}
