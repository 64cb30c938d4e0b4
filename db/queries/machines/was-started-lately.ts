import type { Queryable } from '../../client.ts'

/** Whether another operation has begun to start the machine within so many seconds. */
export const wasStartedLately = async (
  db: Queryable,
  of: { readonly machineId: string; readonly but: string; readonly withinSeconds: number },
): Promise<boolean> => {
  const rows = await db`
    select 1 from operation
    where machine_id = ${of.machineId}::uuid and id <> ${of.but}::uuid and kind in ('start', 'restart', 'wake')
      and started_at > now() - ${of.withinSeconds} * interval '1 second' limit 1`
  return rows.length > 0
}
