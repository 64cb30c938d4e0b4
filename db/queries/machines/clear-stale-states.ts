import {
  savedStateDropKind,
  staleStateOwed,
} from '../../../src/domain/operation/admission/non-blocking-effects.ts'
import type { Tx } from '../../client.ts'

const why = JSON.stringify(staleStateOwed)

/** One machine, or the machines that a page of a target's sync has just written, except machines that are being woken. */
export type StaleScope =
  | { readonly machineId: string }
  /** The machine has run from this state, or without it, whether or not it runs now. */
  | { readonly machineId: string; readonly outlived: string }
  | { readonly targetId: string; readonly after: string; readonly last: string }

const inScope = (tx: Tx, scope: StaleScope) =>
  'machineId' in scope
    ? tx`m.id = ${scope.machineId}::uuid
        and ${'outlived' in scope ? tx`m.saved_state = ${scope.outlived}` : tx`m.power = 'on'`}`
    : tx`m.power = 'on' and m.target_id = ${scope.targetId}::uuid and m.ref > ${scope.after} and m.ref <= ${scope.last}
        and not exists (select from operation o where o.machine_id = m.id and o.settled_at is null
          and o.kind = 'wake' and o.started_at is not null)`

/**
 * Clears the saved states of machines that have run since. Their disks have changed, and waking from the old memory would
 * destroy the data. The state that is still stored at the platform becomes a debt of the job. Every query that records a
 * machine as on calls this in the same transaction: later there is no sign that the machine has run.
 */
export const clearStaleStates = async (tx: Tx, scope: StaleScope, jobId: string): Promise<void> => {
  await tx`
    with stale as (
      select m.id, m.ref, m.saved_state, s.name as target from machine m left join site s on s.id = m.target_id
      where m.saved_state is not null and ${inScope(tx, scope)} order by m.id for no key update of m
    ), forgotten as (
      update machine m set saved_state = null from stale where m.id = stale.id
    ), owed as (
      insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, undo, state, error, next_try_at)
      select gen_random_uuid(), j.id, j.subject_type, j.subject_id, j.lease_epoch, ${savedStateDropKind}, stale.target,
        'stale/' || stale.saved_state,
        jsonb_build_object('target', stale.target, 'ref', stale.ref, 'machine_id', stale.id, 'state', stale.saved_state),
        'debt', ${why}::text::jsonb, now()
      from stale cross join job j where j.id = ${jobId}::uuid and stale.target is not null
      on conflict (job_id, kind, name) do nothing
      returning *
    )
    insert into event (type, subject_type, subject_id, job_id, actor, to_state, reason, detail)
    select 'effect.debt', subject_type, subject_id, job_id, 'job/' || job_id::text, 'debt', error ->> 'message',
      jsonb_build_object('effect', id, 'kind', kind, 'name', name, 'platform', platform)
    from owed`
}
