import type { Queryable } from '../client.ts'

/** Whether anything was asked of the machine after the operation of that job. */
export const hasNewerOperation = async (
  db: Queryable,
  of: { readonly machineId: string; readonly jobId: string },
): Promise<boolean> => {
  const rows = await db`
    select 1 from operation mine join operation newer on newer.machine_id = mine.machine_id and newer.seq > mine.seq
    where mine.job_id = ${of.jobId}::uuid and mine.machine_id = ${of.machineId}::uuid limit 1`
  return rows.length > 0
}
