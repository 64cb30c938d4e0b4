import type { Queryable } from '../../client.ts'

/** The holder of a slot: an operation of a machine, or another job. */
export interface SlotHolder {
  readonly jobId: string
  readonly operationId: string | null
  readonly machine: string | null
}

/** The operations of these jobs, in the order of the jobs. */
export const findOperationsOfJobs = async (db: Queryable, jobIds: readonly string[]): Promise<SlotHolder[]> =>
  await db<SlotHolder[]>`
  select asked.id as job_id, o.id as operation_id, m.name as machine
  from unnest(${jobIds as string[]}::uuid[]) with ordinality asked(id, place)
    left join operation o on o.job_id = asked.id left join machine m on m.id = o.machine_id
  order by asked.place`
