import type { Queryable } from '../../client.ts'
import { isMachineDebt } from '../effects/machine-debts.ts'

export interface LookFor {
  readonly limit: number
  /** How long an ended operation may keep its successor waiting before a warning is raised. */
  readonly stillActiveSeconds: number
  /** How long an operation may be overdue before it is ended from outside: its own job checks as well. */
  readonly overdueSeconds: number
  /** The same while its job runs. */
  readonly runningOverdueSeconds: number
}

/**
 * Machines with an operation to end, settle, warn about or promote: few at any time. Reads only open operations,
 * through their index.
 */
export const findMachinesToLookAt = async (db: Queryable, look: LookFor): Promise<string[]> => {
  const rows = await db<{ machineId: string }[]>`
    with open as materialized (
      select machine_id, state, reason, job_id, started_at, finished_at, expires_at, deadline_at, in_line_since
      from operation where settled_at is null
    )
    select distinct o.machine_id from open o
    -- One look by key for each open one: joined as a whole, all jobs there are would be read for a few.
    left join lateral (select id, state, finished_at from job where job.id = o.job_id limit 1) j on true
    left join lateral (select true as owes from effect e where o.finished_at is not null and e.job_id = o.job_id
      and ${isMachineDebt(db)} limit 1) debt on true
    where (o.state <> 'queued' and (j.id is null or j.finished_at is not null) and debt.owes is null)
      or (o.finished_at is null and (o.started_at is null or o.in_line_since is not null) and o.expires_at <= now())
      or (o.finished_at is null and o.in_line_since is null
        and o.deadline_at <= now() - interval '1 second'
          * case when j.state = 'running' then ${look.runningOverdueSeconds}::int else ${look.overdueSeconds}::int end)
      or (o.state = 'queued' and not exists (
        select from operation at_it where at_it.machine_id = o.machine_id and at_it.state in ('pending', 'running')))
      or (o.state = 'pending' and o.reason <> 'older-keeps-on' and exists (
        select from operation older where older.machine_id = o.machine_id and older.settled_at is null
          and older.finished_at <= now() - ${look.stillActiveSeconds} * interval '1 second'))
    limit ${look.limit}`
  return rows.map(({ machineId }) => machineId)
}
