import type { Queryable, Tx } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'

/** The ASCII codes of `TOKN`: the first half of the lock that makes a token's count exact. */
const tokenLock = 0x544f4b4e

/** Locks tokens until the transaction ends, always in the order of their names, so that no cycle of waits arises. */
export const lockTokens = async (tx: Tx, tokens: readonly string[]): Promise<void> => {
  for (const token of [...tokens].sort())
    await tx`select pg_advisory_xact_lock(${tokenLock}::int, hashtext(${token}))`
}

export const readAdmissionLimits = async (db: Queryable): Promise<ReadonlyMap<string, number>> => {
  const rows = await db<{ name: string; capacity: number }[]>`select name, capacity from admission_limit`
  return new Map(rows.map((row) => [row.name, row.capacity]))
}

export const countTokenHolds = async (
  db: Queryable,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = await db<{ token: string; holds: number }[]>`
    select token, count(*)::int as holds from token_hold where token = any(${tokens as string[]}) group by token`
  return new Map(rows.map((row) => [row.token, row.holds]))
}

export const findTokensHeldBy = async (db: Queryable, jobId: string): Promise<string[]> => {
  const rows = await db<{ token: string }[]>`select token from token_hold where job_id = ${jobId}::uuid`
  return rows.map((row) => row.token)
}

/** Gives tokens to a job. Epoch 0: granted while it waits, and kept for its claim. */
export const holdTokens = async (
  tx: Tx,
  jobId: string,
  epoch: number,
  tokens: readonly string[],
): Promise<void> => {
  await tx`insert into token_hold (token, job_id, epoch)
    select t, ${jobId}::uuid, ${epoch} from unnest(${tokens as string[]}::text[]) t on conflict do nothing`
}

/** Releases one token of a job; false: it did not hold it. */
export const releaseToken = async (tx: Tx, jobId: string, token: string): Promise<boolean> => {
  const gone = await tx`delete from token_hold where job_id = ${jobId}::uuid and token = ${token}`
  return gone.count > 0
}

/** Releases a job's tokens and returns them. */
export const releaseTokens = async (tx: Tx, jobIds: readonly string[]): Promise<string[]> => {
  const rows = await tx<{ token: string }[]>`
    delete from token_hold where job_id = any(${jobIds as string[]}::uuid[]) returning token`
  return [...new Set(rows.map((row) => row.token))]
}

/** Releases the tokens that a job was granted and has not claimed, and returns them. */
export const releaseReserved = async (tx: Tx, jobId: string): Promise<string[]> => {
  const rows = await tx<{ token: string }[]>`
    delete from token_hold where job_id = ${jobId}::uuid and epoch = 0 returning token`
  return rows.map((row) => row.token)
}

/** Releases the tokens that jobs hold and no longer need, and returns them. */
export const releaseUnasked = async (tx: Tx, jobIds: readonly string[]): Promise<string[]> => {
  const rows = await tx<{ token: string }[]>`
    delete from token_hold h using job j
    where h.job_id = any(${jobIds as string[]}::uuid[]) and j.id = h.job_id and h.token <> all(j.tokens)
    returning h.token`
  return [...new Set(rows.map((row) => row.token))]
}

export interface TokenWaiter {
  readonly id: string
  readonly kind: string
  readonly lane: string
  readonly tokens: string[]
}

export interface FindWaiters {
  readonly tokens: readonly string[]
  /** Waiters that need one of these are left out: they would only be in the way of others. */
  readonly full: readonly string[]
  /** Left out too: waiters of a kind whose lane and tokens include all of these. */
  readonly crowded: readonly { readonly kind: string; readonly things: readonly string[] }[]
  /** Of these kinds at most `alike` waiters in one lane with the same needs. */
  readonly sharing: readonly string[]
  readonly alike: number
  readonly limit: number
}

/**
 * The waiters for any of these tokens, in the order of admission: priority, deadline, longest wait. An obstacle for
 * all equal waiters (a pause, a crowd) is checked for the first of them, not for each of a long queue.
 */
export const findTokenWaiters = async (tx: Tx, find: FindWaiters): Promise<TokenWaiter[]> => tx<
  TokenWaiter[]
>`
  with crowded as materialized (
    select * from jsonb_to_recordset(${JSON.stringify(find.crowded)}::text::jsonb) as c(kind text, things text[])
  ), waiter as materialized (
    select * from (
      select id, kind, lane, tokens, priority, deadline, wait_since,
        row_number() over (partition by kind, lane, tokens order by priority desc, deadline, wait_since, id) as turn
      from job
      where state = 'waiting' and wait_signal = 'token' and tokens && ${find.tokens as string[]}::text[]
        and not tokens && ${find.full as string[]}::text[]
    ) numbered
    where turn <= ${find.alike} or kind <> all(${find.sharing as string[]}::text[])
  )
  select id, kind, lane, tokens from waiter w
  where not exists (select from crowded c where c.kind = w.kind and c.things <@ array_prepend(w.lane, w.tokens))
    and not exists (
      select from pause p where (p.scope = 'kind' and p.name = w.kind) or (p.scope = 'lane' and p.name = w.lane))
  order by priority desc, deadline, wait_since, id limit ${find.limit}`

/** Makes a job wait for tokens: its bell is taken back and it queues. */
export const waitForTokens = async (
  tx: Tx,
  wait: {
    jobId: string
    generation: number
    /** `room`: all tokens are free, but too few slots would be left to others. */
    reason: 'token' | 'room'
    detail: string
    actor: string
    untilMs: number
  },
): Promise<void> => {
  const parking = jobSweep(tx, 'wait-for-tokens')
  await tx`
    with parked as (
      update job set state = ${parking.to}, wait_reason = ${wait.reason}, wait_detail = ${wait.detail}, publish = publish + 1,
        wait_since = coalesce(wait_since, now()), wait_signal = 'token',
        wait_until = now() + ${wait.untilMs}::float8 * interval '1 millisecond'
      where id = ${wait.jobId}::uuid and generation = ${wait.generation} and state ${parking.from}
      returning id, subject_type, subject_id
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason)
    select ${parking.tells}, subject_type, subject_id, id, ${wait.actor}, ${parking.was}, ${parking.to}, ${wait.detail} from parked`
}

/**
 * A waiter got all its tokens: it is due, and holds them until its claim. A waiter that another transaction is
 * changing is skipped: a holder of token locks must never wait for a job.
 */
export const admitWaiter = async (tx: Tx, jobId: string): Promise<boolean> => {
  const wake = jobSweep(tx, 'wake')
  const rows = await tx`
    with free as (
      select id from job where id = ${jobId}::uuid and state ${wake.from} and wait_signal = 'token'
      for update skip locked
    ), admitted as (
      update job j set state = ${wake.to}, bell = 'due', run_after = now(), wait_until = null, wait_signal = null
      from free where j.id = free.id returning j.id, subject_type, subject_id
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason)
      select ${wake.tells}, subject_type, subject_id, id, 'admission', ${wake.was}, ${wake.to}, 'tokens-granted' from admitted
    )
    select id from admitted`
  return rows.length === 1
}

/**
 * Jobs that hold tokens without running, locked until the transaction ends: jobs that were admitted long ago and not
 * claimed, and jobs that ended long ago while their handler was still active.
 */
export const lockIdleReservations = async (tx: Tx, olderMs: number, limit: number): Promise<string[]> => {
  const rows = await tx<{ id: string }[]>`
    select id from job
    where id in (
        select job_id from token_hold where acquired_at < now() - ${olderMs}::float8 * interval '1 millisecond')
      and (finished_at < now() - ${olderMs}::float8 * interval '1 millisecond'
        or state = 'ready' and exists (select from token_hold h where h.job_id = job.id and h.epoch = 0))
    limit ${limit} for update skip locked`
  return rows.map((row) => row.id)
}

/** Every token with waiters, and their kinds: what the conductor looks at after a limit was raised. */
export const findAwaitedTokens = async (
  db: Queryable,
): Promise<{ readonly tokens: string[]; readonly kinds: string[] }> => {
  const rows = await db<{ kind: string; token: string }[]>`
    select distinct kind, unnest(tokens) as token from job where state = 'waiting' and wait_signal = 'token'`
  return {
    tokens: [...new Set(rows.map(({ token }) => token))],
    kinds: [...new Set(rows.map(({ kind }) => kind))],
  }
}
