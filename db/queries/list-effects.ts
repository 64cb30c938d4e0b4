import type { Queryable } from '../client.ts'
import type { EffectRow } from '../schema/effect.ts'

export interface EffectFilter {
  readonly states?: readonly string[] | undefined
  readonly platform?: string | undefined
  readonly kind?: string | undefined
  readonly jobId?: string | undefined
  readonly subject?: { readonly type: string; readonly id: string } | undefined
}

const matching = (db: Queryable, filter: EffectFilter) => db`
  ${filter.states === undefined ? db`true` : db`state = any(${filter.states as string[]}::text[])`}
  and ${filter.platform === undefined ? db`true` : db`platform = ${filter.platform}`}
  and ${filter.kind === undefined ? db`true` : db`kind = ${filter.kind}`}
  and ${filter.jobId === undefined ? db`true` : db`job_id = ${filter.jobId}::uuid`}
  and ${filter.subject === undefined ? db`true` : db`subject_type = ${filter.subject.type} and subject_id = ${filter.subject.id}`}`

/** What Drover has done outside Postgres, the newest first. */
export const listEffects = async (
  db: Queryable,
  filter: EffectFilter,
  page: { before: string | undefined; limit: number },
): Promise<EffectRow[]> => db<EffectRow[]>`
  select * from effect
  where ${matching(db, filter)} and ${page.before === undefined ? db`true` : db`id < ${page.before}::uuid`}
  order by id desc limit ${page.limit}`

/** How many there are in each state: the answer to "what did we leave behind?". */
export const countEffects = async (db: Queryable, filter: EffectFilter): Promise<Record<string, number>> => {
  const rows = await db<{ state: string; effects: number }[]>`
    select state, count(*)::int as effects from effect where ${matching(db, filter)} group by state`
  return Object.fromEntries(rows.map((row) => [row.state, row.effects]))
}
