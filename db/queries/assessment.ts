import type { Queryable } from '../client.ts'

/** Instances that count, by readiness. */
export interface ReadinessCounts {
  readonly instances: number
  readonly ready: number
  readonly warning: number
  readonly blocked: number
}

const readinessColumns = (db: Queryable) => db`
  count(*)::int as instances, count(*) filter (where i.readiness = 'ready')::int as ready,
  count(*) filter (where i.readiness = 'warning')::int as warning,
  count(*) filter (where i.readiness = 'blocked')::int as blocked`

const ofSource = (db: Queryable, source: string | undefined) =>
  source === undefined ? db`true` : db`s.name = ${source}`

export const countReadiness = async (
  db: Queryable,
  source: string | undefined,
): Promise<(ReadinessCounts & { readonly source: string })[]> => db<
  (ReadinessCounts & { readonly source: string })[]
>`
  select s.name as source, ${readinessColumns(db)} from instance i join site s on s.id = i.site_id
  where i.gone_at is null and i.ignored is null and ${ofSource(db, source)}
  group by s.name order by s.name`

export interface RuleCount {
  readonly rule: string
  /** Instances that break it and are not waived. */
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
  where i.gone_at is null and i.ignored is null and ${ofSource(db, source)}
  group by f.rule order by f.rule`

/** When the facts behind an assessment were read: the oldest and the newest last sync of the sources. */
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
