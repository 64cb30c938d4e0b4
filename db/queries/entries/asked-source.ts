import type { EntryStage, EntryState } from '../../../src/domain/migration/entry/entry.ts'
import type { Queryable, Tx } from '../../client.ts'
import { isSamePlace } from '../instances/same-place.ts'

/** A source that was asked to go off. */
export interface SourceAsked {
  readonly siteId: string
  readonly ref: string
  /** The entry of the request, and its time. */
  readonly entryId: string
  readonly at: Date
}

/** What is known of such a source now. */
export interface AskedSource {
  readonly now: Date
  readonly instanceId: string | null
  readonly name: string
  /** Its current entry, which may be another one. */
  readonly entryId: string | null
  readonly state: EntryState | null
  readonly stage: EntryStage | null
  readonly sourceStoppedAt: Date | null
  readonly targetId: string | null
  readonly machineRef: string | null
  readonly certified: boolean
  /** The last requested power change since then, of the source or of the same machine on a target. */
  readonly lastVerb: string | null
}

export const findAskedSource = async (
  db: Queryable,
  { siteId, ref, entryId, at }: SourceAsked,
): Promise<AskedSource | undefined> => {
  const [row] = await db<AskedSource[]>`
    with here as materialized (
      select b.id from site a join site b on b.id = a.id or ${isSamePlace(db)} where a.id = ${siteId}::uuid
    ), its as materialized (
      select i.id, i.name from instance i where i.site_id = ${siteId}::uuid and i.ref = ${ref} and i.gone_at is null
    ), wishes as (
      select j.payload ->> 'verb' as verb, j.created_at from its
        join job_search s on s.kind = 'power-instance' and s.subject_type = 'instance' and s.subject_id = its.id::text
        join job j on j.id = s.job_id
        where j.created_at > ${at} and j.state <> 'canceled'
      union all
      select o.kind, o.created_at from machine m join here h on h.id = m.target_id join operation o on o.machine_id = m.id
        where m.ref = ${ref} and m.gone_at is null and o.created_at > ${at} and o.state <> 'canceled'
          and o.kind in ('start', 'stop', 'restart', 'hibernate', 'wake', 'restore')
    )
    select now() as now, its.id as instance_id, coalesce(its.name, ${ref}) as name, e.id as entry_id, e.state, e.stage,
      e.source_stopped_at, e.target_id, e.machine_ref,
      exists (select from certificate c where c.created_at > ${at}
        and (c.entry_id = ${entryId}::uuid or c.instance_id = its.id)) as certified,
      (select verb from wishes order by created_at desc limit 1) as last_verb
    from (select 1) one left join its on true left join entry e on e.instance_id = its.id limit 1`
  return row
}

/**
 * Turns requests of an entry's earlier jobs that may still happen into debts. What a person has waived stays waived.
 */
export const oweStops = async (
  tx: Tx,
  owed: { readonly ids: readonly string[]; readonly error: string; readonly actor: string },
): Promise<void> => {
  const { ids, error, actor } = owed
  await tx`
    with before as (
      select id, state from effect where id = any(${ids as string[]}::uuid[]) and state <> 'waived' for no key update
    ), owed as (
      update effect e set state = 'debt', error = ${error}::text::jsonb, updated_at = now(),
        next_try_at = least(e.next_try_at, now() + interval '30 seconds')
      from before where e.id = before.id
      returning e.*, before.state as was
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
    select 'effect.debt', subject_type, subject_id, job_id, ${actor}, was, 'debt', error ->> 'message',
      jsonb_build_object('effect', id, 'kind', kind, 'name', name, 'platform', platform)
    from owed where was <> 'debt'`
}
