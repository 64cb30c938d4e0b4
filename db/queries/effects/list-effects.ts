import type { Queryable } from '../../client.ts'
import type { EffectRow } from '../../schema/effect.ts'

export interface EffectFilter {
  readonly states?: readonly string[] | undefined
  readonly platform?: string | undefined
  readonly kind?: string | undefined
  readonly jobId?: string | undefined
  readonly subject?: { readonly type: string; readonly id: string } | undefined
}

const matching = (db: Queryable, filter: Omit<EffectFilter, 'states'>) => db`
  ${filter.platform === undefined ? db`true` : db`platform = ${filter.platform}`}
  and ${filter.kind === undefined ? db`true` : db`kind = ${filter.kind}`}
  and ${filter.jobId === undefined ? db`true` : db`job_id = ${filter.jobId}::uuid`}
  and ${filter.subject === undefined ? db`true` : db`subject_type = ${filter.subject.type} and subject_id = ${filter.subject.id}`}`

/** Names a state in the condition of the partial index that serves it. */
const inState = (db: Queryable, state: string | undefined) => {
  if (state === undefined) return db`true`
  return state === 'done' ? db`state = 'done'` : db`state = ${state} and state <> 'done'`
}

/** Effects, the newest first. Each state is read in its own order, and no further than needed. */
export const listEffects = async (
  db: Queryable,
  filter: EffectFilter,
  page: { before: string | undefined; limit: number },
): Promise<EffectRow[]> => {
  const listOf = (state: string | undefined) => db`(
    select * from effect
    where ${inState(db, state)} and ${matching(db, filter)}
      and ${page.before === undefined ? db`true` : db`id < ${page.before}::uuid`}
    order by id desc limit ${page.limit})`
  const [first, ...rest] = filter.states === undefined ? [undefined] : new Set(filter.states)
  const lists = rest.reduce((all, state) => db`${all} union all ${listOf(state)}`, listOf(first))
  return await db<EffectRow[]>`select * from (${lists}) listed order by id desc limit ${page.limit}`
}

/** The limit for counting open effects: beyond it, "many". */
export const openEffectsMax = 10_000

export interface OpenEffects {
  readonly intended: number
  readonly debt: number
}

/** Open effects: begun and not known to be done, or still to be undone. Each counted up to one more than the limit. */
export const countOpenEffects = async (
  db: Queryable,
  filter: Omit<EffectFilter, 'states'>,
): Promise<OpenEffects> => {
  const countOf = (state: keyof OpenEffects) => db`(
    select count(*)::int from (
      select from effect where ${inState(db, state)} and ${matching(db, filter)} limit ${openEffectsMax + 1}
    ) counted)`
  const [row] = await db<OpenEffects[]>`select ${countOf('intended')} as intended, ${countOf('debt')} as debt`
  return row ?? { intended: 0, debt: 0 }
}
