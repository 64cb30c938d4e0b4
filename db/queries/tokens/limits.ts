import type { Queryable, Tx } from '../../client.ts'

export interface LimitRow {
  readonly name: string
  readonly capacity: number
  readonly updatedBy: string
  readonly updatedAt: Date
}

export interface TokenUse {
  readonly name: string
  readonly holds: number
  readonly waiters: number
}

/** Limits that people set, for a class or for one thing. */
export const readLimitRows = async (db: Queryable): Promise<LimitRow[]> => db<LimitRow[]>`
  select name, capacity, updated_by, updated_at from admission_limit order by name`

/**
 * The ASCII codes of `LIMT`: two people who change one limit must not both succeed, even when there is no row to lock
 * yet.
 */
const limitLock = 0x4c494d54

export const lockLimit = async (tx: Tx, name: string): Promise<LimitRow | undefined> => {
  await tx`select pg_advisory_xact_lock(${limitLock}::int, hashtext(${name}))`
  const [row] = await tx<LimitRow[]>`
    select name, capacity, updated_by, updated_at from admission_limit where name = ${name}`
  return row
}

export const writeLimit = async (
  tx: Tx,
  limit: { name: string; capacity: number; by: string },
): Promise<LimitRow> => {
  const [row] = await tx<LimitRow[]>`
    insert into admission_limit (name, capacity, updated_by) values (${limit.name}, ${limit.capacity}, ${limit.by})
    on conflict (name) do update set capacity = excluded.capacity, updated_by = excluded.updated_by,
      updated_at = clock_timestamp()
    returning name, capacity, updated_by, updated_at`
  if (!row) throw new Error(`The limit ${limit.name} was written but did not come back.`)
  return row
}

export const deleteLimit = async (tx: Tx, name: string): Promise<boolean> => {
  const rows = await tx`delete from admission_limit where name = ${name} returning 1`
  return rows.length === 1
}

/** Every token with holders or waiters. */
export const countTokenUse = async (db: Queryable): Promise<TokenUse[]> => db<TokenUse[]>`
  select name, sum(holds)::int as holds, sum(waiters)::int as waiters from (
    select token as name, count(*) as holds, 0 as waiters from token_hold group by token
    union all
    select t.token, 0, count(*) from job j cross join lateral unnest(j.tokens) as t(token)
    where j.state = 'waiting' and j.wait_signal = 'token' group by t.token
  ) part group by name order by name`

export interface TokenHolder {
  readonly jobId: string
  readonly acquiredAt: Date
}

export const listTokenHolders = async (db: Queryable, token: string, limit: number): Promise<TokenHolder[]> =>
  db<TokenHolder[]>`
    select job_id, acquired_at from token_hold where token = ${token} order by acquired_at, job_id limit ${limit}`

export interface TokenWaiting {
  readonly jobId: string
  readonly priority: number
  readonly since: Date | null
}

/** The queue of one token, in the order of admission. */
export const listTokenLine = async (db: Queryable, token: string, limit: number): Promise<TokenWaiting[]> =>
  db<TokenWaiting[]>`
    select id as job_id, priority, wait_since as since from job
    where state = 'waiting' and wait_signal = 'token' and ${token} = any(tokens)
    order by priority desc, deadline, wait_since, id limit ${limit}`
