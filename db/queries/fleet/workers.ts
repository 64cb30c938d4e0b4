import type { Queryable } from '../../client.ts'

export interface WorkerRegistration {
  readonly id: string
  readonly role: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly kinds: Readonly<Record<string, number>>
  readonly slots: Readonly<Record<string, number>>
}

/** Records the heartbeat of a process with its abilities. Repeated, so that a pruned row comes back. */
export const beatWorker = async (
  db: Queryable,
  worker: WorkerRegistration,
  state: 'active' | 'draining',
): Promise<void> => {
  await db`
    insert into worker (id, role, host, pid, version, kinds, slots, state)
    values (${worker.id}::uuid, ${worker.role}, ${worker.host}, ${worker.pid}, ${worker.version},
      ${JSON.stringify(worker.kinds)}::text::jsonb, ${JSON.stringify(worker.slots)}::text::jsonb, ${state})
    on conflict (id) do update set heartbeat_at = now(), state = excluded.state, slots = excluded.slots, stopped_at = null`
}

export const stopWorker = async (db: Queryable, id: string): Promise<void> => {
  await db`update worker set state = 'stopped', stopped_at = now() where id = ${id}::uuid`
}

/** Counts processes without a heartbeat for `silentMs` as lost. Returns their ids. */
export const loseSilentWorkers = async (db: Queryable, silentMs: number): Promise<string[]> => {
  const rows = await db<{ id: string }[]>`
    with lost as (
      update worker set state = 'lost', stopped_at = now()
      where stopped_at is null and heartbeat_at < now() - ${silentMs}::float8 * interval '1 millisecond'
      returning id, role, host, pid
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason, detail)
      select 'worker.lost', 'worker', id::text, 'conductor', 'active', 'lost', 'silent',
        jsonb_build_object('role', role, 'host', host, 'pid', pid)
      from lost
    )
    select id from lost`
  return rows.map((row) => row.id)
}

/** How many jobs of each kind the living workers can run at once. */
export const countSlots = async (db: Queryable, silentMs: number): Promise<ReadonlyMap<string, number>> => {
  const rows = await db<{ kind: string; slots: number }[]>`
    select s.key as kind, sum(s.value::int)::int as slots from worker w, jsonb_each_text(w.slots) s
    where w.role = 'worker' and w.state = 'active'
      and w.heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond'
    group by s.key`
  return new Map(rows.map((row) => [row.kind, row.slots]))
}
