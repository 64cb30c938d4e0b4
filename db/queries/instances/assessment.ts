import type { Queryable } from '../../client.ts'
import { isMigrated } from './is-migrated.ts'

/** Instances that count, by readiness. */
export interface ReadinessCounts {
  readonly instances: number
  readonly ready: number
  readonly warning: number
  readonly blocked: number
  /** Not included above: a certified copy has replaced them. */
  readonly migrated: number
}

/** For rows `i` with `readiness` and `migrated`. */
export const readinessColumns = (db: Queryable) => db`
  count(*) filter (where not i.migrated)::int as instances,
  count(*) filter (where not i.migrated and i.readiness = 'ready')::int as ready,
  count(*) filter (where not i.migrated and i.readiness = 'warning')::int as warning,
  count(*) filter (where not i.migrated and i.readiness = 'blocked')::int as blocked,
  count(*) filter (where i.migrated)::int as migrated`

const ofSource = (db: Queryable, source: string | undefined) =>
  source === undefined ? db`true` : db`s.name = ${source}`

export const countReadiness = async (
  db: Queryable,
  source: string | undefined,
): Promise<(ReadinessCounts & { readonly source: string })[]> => db<
  (ReadinessCounts & { readonly source: string })[]
>`
  select i.source, ${readinessColumns(db)} from (
    select s.name as source, i.readiness, ${isMigrated(db)} as migrated from instance i join site s on s.id = i.site_id
    where i.gone_at is null and i.ignored is null and ${ofSource(db, source)} offset 0) i
  group by i.source order by i.source`

export interface RuleCount {
  readonly rule: string
  /** Instances that break the rule without a waiver. */
  readonly broken: number
  readonly waived: number
}

/** How many instances that count break each rule. */
export const countFindings = async (db: Queryable, source: string | undefined): Promise<RuleCount[]> => db<
  RuleCount[]
>`
  select f.rule, count(*) filter (where not f.waived)::int as broken,
    count(*) filter (where f.waived)::int as waived
  from finding f join instance i on i.id = f.instance_id join site s on s.id = i.site_id
  where i.gone_at is null and i.ignored is null and not ${isMigrated(db)} and ${ofSource(db, source)}
  group by f.rule order by f.rule`

/** The age of the facts behind an assessment: the oldest and the newest last sync of the sources. */
export const findSyncSpan = async (
  db: Queryable,
  source: string | undefined,
): Promise<{ oldest: Date | null; newest: Date | null; never: number }> => {
  const [row] = await db<{ oldest: Date | null; newest: Date | null; never: number }[]>`
    select min(synced_at) as oldest, max(synced_at) as newest,
      count(*) filter (where synced_at is null)::int as never
    from site s where role = 'source' and ${ofSource(db, source)}`
  return row ?? { oldest: null, newest: null, never: 0 }
}
