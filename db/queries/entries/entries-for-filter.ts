import type { EffectiveFacts } from '../../../src/domain/inventory/overrides.ts'
import type { Queryable } from '../../client.ts'
import type { LeftOut } from '../instances/list-instances.ts'
import { type VerbChoice, verbFits } from './entries-for-verb.ts'
import { type EntryFilter, entryFits, entryJoins } from './list-entries.ts'

/** The parts of an entry that a filter needs. */
export interface JudgedEntry {
  readonly id: string
  readonly batch: string
  readonly source: string
  readonly sourceKind: string
  readonly target: string
  readonly window: string
  readonly state: string
  readonly stage: string
  readonly reason: string
  readonly reasons: readonly string[]
  readonly since: Date
  readonly retries: number
  readonly sourceOff: boolean
  readonly job: string
  readonly facts: EffectiveFacts
  readonly readiness: string
  readonly findings: readonly string[]
}

/** In the order of the list, with only what a filter reads. */
export const listEntriesForFilter = async (
  db: Queryable,
  choice: EntryFilter | VerbChoice,
  page: { readonly after: string | undefined; readonly limit: number; readonly without: LeftOut },
): Promise<JudgedEntry[]> => db<JudgedEntry[]>`
  select e.id, b.name as batch, s.name as source, s.kind as source_kind,
    coalesce(e.placement ->> 'target', b.defaults -> 'placement' ->> 'target', '') as target,
    coalesce(w.name, '') as window, e.state, e.stage, e.reason,
    array(select r ->> 'code' from jsonb_array_elements(e.reasons) as r) as reasons, e.since, e.retries,
    e.source_stopped_at is not null as source_off,
    case when j.finished_at is null then coalesce(j.kind, '') else '' end as job,
    e.facts - ${page.without.facts as string[]}::text[] as facts, coalesce(i.readiness, '') as readiness,
    ${page.without.findings ? db`'{}'::text[]` : db`array(select f.rule from finding f where f.instance_id = e.instance_id and not f.waived order by f.rule)`} as findings
  from ${entryJoins(db)} left join instance i on i.id = e.instance_id
  where ${'verb' in choice ? verbFits(db, choice) : entryFits(db, choice)}
    and ${page.after === undefined ? db`true` : db`e.id > ${page.after}::uuid`}
  order by e.id limit ${page.limit}`
