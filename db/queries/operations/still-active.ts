import type { JobState } from '../../../src/domain/job/state.ts'
import type { OperationKind } from '../../../src/domain/operation/kinds/kinds.ts'
import type { OperationState } from '../../../src/domain/operation/kinds/state.ts'
import { storableText } from '../../../src/storable.ts'
import type { Queryable, Tx } from '../../client.ts'
import { isMachineDebt } from '../effects/machine-debts.ts'

/** An operation that has ended and is still active, with the reason. */
export interface StillActiveRow {
  readonly id: string
  readonly kind: OperationKind
  readonly force: boolean
  readonly state: OperationState
  readonly endedSeconds: number
  readonly jobId: string
  readonly jobState: JobState
  /** Effects that could not be undone so far, and the number of tries. */
  readonly debts: number
  readonly tries: number
  readonly lastError: string | null
}

/** The ended operations of a machine whose job or debts can still change it, the oldest first. */
export const findStillActive = async (tx: Tx, machineId: string): Promise<StillActiveRow[]> => tx<
  StillActiveRow[]
>`
  select o.id, o.kind, o.force, o.state, extract(epoch from now() - o.finished_at)::float8 as ended_seconds,
    o.job_id, j.state as job_state, d.debts, d.tries, coalesce(d.last_error, j.error ->> 'message') as last_error
  from operation o join job j on j.id = o.job_id
    cross join lateral (
      select count(*)::int as debts, coalesce(max(attempts), 0)::int as tries,
        (array_agg(error ->> 'message' order by updated_at desc))[1] as last_error
      from effect e where e.job_id = o.job_id and ${isMachineDebt(tx)}) d
  where o.machine_id = ${machineId}::uuid and o.settled_at is null and o.finished_at is not null
    and (j.finished_at is null or d.debts > 0)
  order by o.seq`

/** Retries debts that an operation waits for at least this often, however often they have failed. */
export const hastenDebts = async (tx: Tx, jobIds: readonly string[], everySeconds: number): Promise<void> => {
  await tx`
    update effect set next_try_at = updated_at + ${everySeconds} * interval '1 second'
    where job_id = any(${jobIds as string[]}::uuid[]) and state = 'debt'
      and next_try_at > updated_at + ${everySeconds} * interval '1 second'`
}

/** Records that the operation before is still active, with an event the first time. True: it was not recorded before. */
export const noteStillActive = async (
  tx: Tx,
  note: { readonly id: string; readonly message: string; readonly actor: string },
): Promise<boolean> => {
  const message = storableText(note.message)
  const rows = await tx`
    with before as (
      select id, reason from operation where id = ${note.id}::uuid and state = 'pending' for no key update
    ), noted as (
      update operation o set reason = 'older-keeps-on',
        reason_at = case when o.reason = 'older-keeps-on' then o.reason_at else now() end, message = ${message}, updated_at = now()
      from before where o.id = before.id returning o.*, before.reason <> 'older-keeps-on' as is_news
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason, detail)
      select 'operation.older-keeps-on', 'operation', id, ${note.actor}, state, state, message,
        jsonb_build_object('machine', machine_id, 'kind', kind, 'force', force, 'cause', cause, 'reason', reason)
      from noted where is_news
    )
    select 1 from noted where is_news`
  return rows.length === 1
}

/** Machine warnings whose cause is gone: no operation is still active, the run policy is kept again, or the machine runs. */
export const findHealedMachines = async (
  db: Queryable,
  limit: number,
): Promise<{ machine: string; type: 'left-off' | 'older-keeps-on' | 'policy-fails' }[]> => db<
  { machine: string; type: 'left-off' | 'older-keeps-on' | 'policy-fails' }[]
>`
  select w.entity_id as machine, w.type from warning w left join machine m on m.id = w.entity_id::uuid
  -- By its types first: that is what the index begins with.
  where w.type in ('left-off', 'older-keeps-on', 'policy-fails') and w.entity_type = 'machine' and case w.type
    when 'older-keeps-on' then not exists (select from operation o where o.machine_id = w.entity_id::uuid
      and o.settled_at is null and o.finished_at is not null)
    when 'policy-fails' then m.id is null or m.gone_at is not null or m.policy_failures = 0
      or m.run_policy = 'manual'
    when 'left-off' then m.id is null or m.gone_at is not null or m.power not in ('off', 'unknown')
      or m.run_policy = 'always-off' end
  order by w.entity_id, w.type limit ${limit}`
