import type { ResumptionFacts } from '../../../src/domain/operation/admission/resumption-end.ts'
import type { Tx } from '../../client.ts'

/** How long an evacuation is resumed, and how many failures in a row it may have. */
export interface ResumptionBounds {
  readonly days: number
  readonly failures: number
}

export type ResumptionRow = ResumptionFacts & { readonly id: string }

/** Resumptions that may have to end, locked. Rows that another transaction has locked come in a later round. */
export const findDoubtfulResumptions = async (
  tx: Tx,
  bounds: ResumptionBounds,
  limit: number,
): Promise<ResumptionRow[]> => tx<ResumptionRow[]>`
  select o.id, o.failures, f.* from operation o left join machine m on m.id = o.machine_id
  cross join lateral (select m.id is null or m.gone_at is not null as machine_gone,
    coalesce(m.host <> o.leaves, false) and exists (select from operation mover where mover.machine_id = o.machine_id
      and mover.kind in ('migrate', 'evict', 'wake') and mover.state = 'completed'
      and mover.finished_at > o.finished_at) as moved,
    o.finished_at <= now() - ${bounds.days} * interval '1 day' as too_old) f
  where o.come_back_at is not null and o.finished_at is not null
    and (f.machine_gone or f.moved or f.too_old or o.failures >= ${bounds.failures})
  limit ${limit} for update of o skip locked`

/** Ends resumptions, with an event that says why. The caller holds their locks. */
export const endResumptionRows = async (
  tx: Tx,
  resumptions: readonly { readonly id: string; readonly reason: string }[],
  actor: string,
): Promise<void> => {
  await tx`
    with over as (
      select * from unnest(${resumptions.map(({ id }) => id)}::uuid[], ${resumptions.map(({ reason }) => reason)}::text[])
        as w(id, why)
    ), ended as (
      update operation o set come_back_at = null, updated_at = now()
      from over where o.id = over.id returning o.*, over.why
    )
    insert into event (type, subject_type, subject_id, actor, reason, detail)
    select 'operation.stays-down', 'operation', id, ${actor}, why,
      jsonb_build_object('machine', machine_id, 'kind', kind, 'force', force, 'cause', cause)
    from ended`
}
