import type { Queryable } from '../../client.ts'

export interface TokenLine {
  readonly token: string
  readonly holders: string[]
  readonly holds: number
  readonly waiters: number
  /** 1: the next. */
  readonly position: number
}

/** The holders of what a waiting job needs, and its position in each queue; in the order of admission. */
export const explainTokenWait = async (db: Queryable, jobId: string): Promise<TokenLine[]> => db<TokenLine[]>`
  with me as (select id, unnest(tokens) as token from job where id = ${jobId}::uuid),
  waiting as (
    select w.id, t.token,
      row_number() over (partition by t.token order by w.priority desc, w.deadline, w.wait_since, w.id) as place
    from job w cross join lateral unnest(w.tokens) as t(token)
    where w.state = 'waiting' and w.wait_signal = 'token' and t.token in (select token from me)
  )
  select me.token,
    coalesce((select array_agg(h.job_id::text order by h.acquired_at) from
      (select job_id, acquired_at from token_hold where token = me.token order by acquired_at limit 20) h), '{}') as holders,
    (select count(*)::int from token_hold h where h.token = me.token) as holds,
    (select count(*)::int from waiting w where w.token = me.token) as waiters,
    coalesce((select place::int from waiting w where w.token = me.token and w.id = me.id), 0) as position
  from me order by me.token`
