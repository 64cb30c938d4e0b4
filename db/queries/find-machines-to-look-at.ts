import type { Queryable } from '../client.ts'
import { isMachineDebt } from './machine-debts.ts'

export interface LookFor {
  readonly limit: number
  /** For how long an ended one may keep a newer one waiting before it is told of. */
  readonly olderKeepsOnSeconds: number
  /** For how long one may be overdue before it is ended from outside: its own job looks as well. */
  readonly overdueSeconds: number
}

/**
 * Machines of which an operation has to be ended, settled, told of or let have its turn: few, whatever there is in all.
 * Reads the open ones alone, through their index.
 */
export const findMachinesToLookAt = async (db: Queryable, look: LookFor): Promise<string[]> => {
  const rows = await db<{ machineId: string }[]>`
    with open as materialized (
      select id, machine_id, state, reason, job_id, started_at, finished_at, expires_at, deadline_at
      from operation where settled_at is null
    )
    select distinct o.machine_id from open o left join job j on j.id = o.job_id
    where (o.state <> 'queued' and (j.id is null or j.finished_at is not null) and (o.finished_at is null
        or not exists (select from effect e where e.job_id = o.job_id and ${isMachineDebt(db)})))
      or (o.started_at is null and o.finished_at is null and o.expires_at <= now())
      or (o.finished_at is null and o.deadline_at <= now() - ${look.overdueSeconds} * interval '1 second')
      or (o.state = 'queued' and not exists (
        select from open at_it where at_it.machine_id = o.machine_id and at_it.state in ('pending', 'running')))
      or (o.state = 'pending' and o.reason <> 'older-keeps-on' and exists (
        select from open older where older.machine_id = o.machine_id
          and older.finished_at <= now() - ${look.olderKeepsOnSeconds} * interval '1 second'))
    limit ${look.limit}`
  return rows.map(({ machineId }) => machineId)
}
