import type { OperationReason } from '../../../src/domain/operation/kinds/reasons.ts'
import { storableJson } from '../../../src/storable.ts'
import type { Tx } from '../../client.ts'

/** A refused request to a machine. */
export interface RefusalRecord {
  readonly machineId: string
  readonly kind: string
  readonly force: boolean
  readonly cause: string
  readonly reason: OperationReason
  /** What is in the way: an operation, or the entry of a migration. */
  readonly blocker: string | null
  readonly message: string
  readonly askedBy: string
}

/**
 * Counts refusals, with an event at most once a minute for the same request by the same person. Each key of `refusals`
 * (machine, kind, force, reason, person) occurs once.
 */
export const recordRefusalRows = async (tx: Tx, refusals: readonly RefusalRecord[]): Promise<void> => {
  await tx`
    with asked as (
      select * from jsonb_to_recordset(${storableJson(refusals)}::text::jsonb) as a(
        "machineId" uuid, kind text, force boolean, reason text, "askedBy" text, cause text, blocker text, message text)
    ), counted as (
      insert into operation_refusal as r (machine_id, kind, force, reason, asked_by, times, since)
      select "machineId", kind, force, reason, "askedBy", 1, now() from asked
      -- Everybody takes them in the same order: two that wait for each other would wait for ever.
      order by "machineId", kind, force, reason, "askedBy"
      on conflict (machine_id, kind, force, reason, asked_by) do update set
        times = case when r.since <= now() - interval '1 minute' then 1 else r.times + 1 end,
        unsaid = case when r.since <= now() - interval '1 minute' then r.times - 1 else r.unsaid end,
        since = case when r.since <= now() - interval '1 minute' then now() else r.since end
      returning *
    ), ended as (
      insert into operation_end (kind, force, outcome, reason) select kind, force, 'refused', reason from asked
    )
    insert into event (type, subject_type, subject_id, actor, reason, detail)
    select 'operation.refused', 'machine', c.machine_id::text, c.asked_by, a.message,
      jsonb_build_object('machine', c.machine_id, 'kind', a.kind, 'force', a.force, 'cause', a.cause,
        'reason', a.reason, 'blocker', a.blocker, 'not_told_of', c.unsaid)
    from asked a join counted c on c.machine_id = a."machineId" and c.asked_by = a."askedBy"
        and c.kind = a.kind and c.force = a.force and c.reason = a.reason
    where c.times = 1`
}
