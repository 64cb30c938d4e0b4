import { cleanUpOwed, type MachineNeed } from '../../../src/domain/migration/entry/clean-up.ts'
import type { Queryable, Tx } from '../../client.ts'

const why = JSON.stringify(cleanUpOwed)

/**
 * Owes the removal of an entry's machine, before anything looks for it: one debt per entry and target, which is passed
 * on to the current job. A debt that a person has waived is owed again only with `anew`. The caller holds the entry's
 * lock.
 */
export const oweCleanUp = async (
  tx: Tx,
  asked: {
    readonly kind: string
    readonly entryId: string
    readonly jobId: string
    readonly anew: boolean
    readonly actor: string
  },
): Promise<void> => {
  const { kind, entryId, jobId, anew, actor } = asked
  await tx`
    with left_there as (
      select e.id::text as entry, j.id as job_id, j.lease_epoch as epoch, coalesce(s.name, e.placement ->> 'target', '') as target,
        jsonb_build_object('entry_id', e.id, 'site_id', coalesce(s.id, e.target_id), 'machine_ref', e.machine_ref) as undo
      from entry e join job j on j.id = ${jobId}::uuid left join site s on s.id = e.target_id
        or (e.target_id is null and s.role = 'target' and s.name = e.placement ->> 'target')
      where e.id = ${entryId}::uuid and coalesce(s.id, e.target_id) is not null
        and (e.machine_ref is not null or e.placement is not null)
    ), known as (
      select f.id, f.state from effect f join left_there l on f.subject_type = 'entry' and f.subject_id = l.entry
        and f.platform = l.target
      where f.kind = ${kind} and (f.state = 'debt' or f.state = 'waived') for no key update of f
    ), owed as (
      update effect f set state = 'debt', job_id = l.job_id, epoch = l.epoch, undo = l.undo, updated_at = now(),
        next_try_at = now(), error = ${why}::text::jsonb, waived_by = null, waived_reason = null
      from known, left_there l where f.id = known.id and (known.state = 'debt' or ${anew})
      returning f.*, known.state as was
    ), made as (
      insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, undo, state, error, next_try_at)
      select gen_random_uuid(), job_id, 'entry', entry, epoch, ${kind}, target,
        'machine of ' || entry || ' on ' || target, undo, 'debt', ${why}::text::jsonb, now()
      from left_there where not exists (select from known)
      -- Of the same job, it was settled and is owed again.
      on conflict (job_id, kind, name) do update set state = 'debt', epoch = excluded.epoch, undo = excluded.undo,
        error = excluded.error, next_try_at = excluded.next_try_at, updated_at = now()
      returning *, null::text as was
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
    select 'effect.debt', subject_type, subject_id, job_id, ${actor}, was, 'debt', error ->> 'message',
      jsonb_build_object('effect', id, 'kind', kind, 'name', name, 'platform', platform)
    from (select * from owed union all select * from made) told where was is distinct from 'debt'`
}

export interface CleanUp {
  readonly id: string
  readonly state: string
}

/** The debts for an entry's machine, including waived ones. */
export const findCleanUps = async (
  db: Queryable,
  asked: { readonly kind: string; readonly entryId: string },
): Promise<CleanUp[]> => db<CleanUp[]>`
  select id, state from effect
  where subject_type = 'entry' and subject_id = ${asked.entryId} and kind = ${asked.kind} and state in ('debt', 'waived')
  order by created_at, id`

/** What decides what the machine of an entry on that target is needed for; undefined: the entry is gone. */
export const findMachineNeed = async (
  db: Queryable,
  asked: { readonly entryId: string; readonly siteId: string },
): Promise<MachineNeed | undefined> => {
  const [row] = await db<MachineNeed[]>`
    select e.state, e.source_stopped_at is not null as source_off, j.kind as job_kind, j.state as job_state,
      e.target_id is not null and e.target_id <> ${asked.siteId}::uuid as lands_elsewhere
    from entry e left join job j on j.id = e.job_id where e.id = ${asked.entryId}::uuid`
  return row
}
