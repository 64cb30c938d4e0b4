import type { Queryable } from '../../client.ts'
import type { WorkerRow } from '../../schema/fleet.ts'

export type WorkerLine = WorkerRow & { readonly running: number; readonly silentMs: number }

/** Processes of the fleet, the newest first, each with how many jobs it holds now. */
export const listWorkers = async (
  db: Queryable,
  filter: { live: boolean | undefined; role: string | undefined },
  page: { before: string | undefined; limit: number },
): Promise<WorkerLine[]> => db<WorkerLine[]>`
  select id, role, host, pid, version, kinds, slots, state, started_at, heartbeat_at, stopped_at,
    (extract(epoch from now() - heartbeat_at) * 1000)::float8 as silent_ms,
    coalesce(held.jobs, 0)::int as running
  from worker w
  left join (
    select worker_id, count(*) as jobs from job where lease_until is not null group by worker_id
  ) held on held.worker_id = w.id
  where ${filter.live === undefined ? db`true` : filter.live ? db`stopped_at is null` : db`stopped_at is not null`}
    and ${filter.role === undefined ? db`true` : db`role = ${filter.role}`}
    and ${page.before === undefined ? db`true` : db`id < ${page.before}::uuid`}
  order by id desc limit ${page.limit}`
