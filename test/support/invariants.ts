import type { Db, Queryable } from '../../db/client.ts'
import { jobKinds } from '../../src/domain/job/kinds/registry.ts'
import { isTerminal, type JobState, jobStates, jobTable } from '../../src/domain/job/state.ts'
import { tokenLimit } from '../../src/domain/job/token.ts'
import { verifySeals } from '../../src/ledger/seals/verify-seals.ts'
import { createSealer, type Sealer } from '../../src/seal/seal.ts'

export interface InvariantOptions {
  /** How long a lease, a hold or a wait may be overdue before it counts as forgotten. */
  readonly overdueMs?: number
  /** Proves the seals; by default with the key that `onEachBell` gives to every role. */
  readonly sealer?: Pick<Sealer, 'isMac' | 'open'>
}

/**
 * Looks at the whole database, in one snapshot, for anything that the laws of the ledger forbid. Every sentence
 * it gives names the rule and the row; an empty list means that all is well. Good at any moment, also under
 * load: it says nothing of what is merely under way.
 */
export const checkInvariants = (db: Db, options: InvariantOptions = {}): Promise<string[]> =>
  db.begin('isolation level repeatable read read only', (tx) => findViolations(tx, options)) as Promise<
    string[]
  >

/** `checkInvariants` inside a transaction of the caller's. */
export const findViolations = async (db: Queryable, options: InvariantOptions = {}): Promise<string[]> => {
  const found: string[] = []
  const overdueMs = options.overdueMs ?? 300_000
  for (const rule of [
    () => jobsAtRest(db, overdueMs),
    () => search(db),
    () => histories(db),
    () => turns(db),
    () => outcomes(db),
    () => effects(db),
    () => tokens(db),
    () => world(db),
    () => seals(db, options.sealer ?? createSealer('5e'.repeat(32))),
  ])
    found.push(...(await rule()))
  return found
}

const sentences = (rows: readonly { what: string }[]): string[] => rows.map((row) => row.what)

/** Every job is found by what it is, and nothing else is. */
const search = async (db: Queryable): Promise<string[]> =>
  sentences(
    await db<{ what: string }[]>`
      select format('search: job %s is not found by its kind, lane and subject', coalesce(j.id, s.job_id)) as what
      from job j full join job_search s on s.job_id = j.id
      where (j.kind, j.lane, j.subject_type, j.subject_id) is distinct from (s.kind, s.lane, s.subject_type, s.subject_id)`,
  )

/** Every job is over, or somebody or something will take it further. */
const jobsAtRest = async (db: Queryable, overdueMs: number): Promise<string[]> => {
  const late = db`(now() - ${overdueMs}::float8 * interval '1 millisecond')`
  return sentences(
    await db<{ what: string }[]>`
      select format('rest: job %s is %s without a lease', id, state) as what from job
        where state = 'running' and (lease_until is null or worker_id is null)
      union all select format('rest: job %s runs, but its lease ended at %s', id, lease_until) from job
        where state = 'running' and lease_until < ${late}
      union all select format('rest: job %s is %s and still has a lease', id, state) from job
        where state <> 'running' and lease_until is not null
      union all select format('rest: job %s is ready, but its bell is "%s": nobody will ring', id, bell) from job
        where state = 'ready' and bell not in ('due', 'held', 'rung')
      union all select format('rest: the bell of job %s is out since never: no sweep will miss it', id) from job
        where state = 'ready' and bell = 'rung' and published_at is null
      union all select format('rest: job %s is held, but was due at %s', id, run_after) from job
        where state = 'ready' and bell = 'held' and run_after < ${late}
      union all select format('rest: job %s waits without a reason, a since or an until', id) from job
        where state = 'waiting' and (wait_reason is null or wait_since is null or wait_until is null)
      union all select format('rest: job %s waits for %s, and does not say whom or what that is', id, wait_reason) from job
        where state = 'waiting' and (wait_reason = '' or coalesce(wait_detail, '') = '')
      union all select format('rest: job %s still waits, although only until %s', id, wait_until) from job
        where state = 'waiting' and wait_until < ${late}
      union all select format('rest: job %s is %s, but has finished_at %s', id, state, finished_at) from job
        where (state in ('succeeded', 'failed', 'canceled')) <> (finished_at is not null)
      union all select format('rest: job %s is in the unknown state %s', id, state) from job
        where state <> all(${[...jobStates]})`,
  )
}

interface Step {
  readonly jobId: string
  readonly state: JobState
  readonly type: string | null
  readonly fromState: JobState | null
  readonly toState: JobState | null
  readonly times: number
}

/**
 * The events of a job lead to its state: each is an edge of the transition table, and together they are one
 * walk from `job.created` to where the job is. Whether edges make a walk does not depend on their order: every
 * state is left as often as it is entered, but for the last one. (The feed's order is that of transaction ids,
 * which two transactions that meet on one row may get the other way round.)
 */
const histories = async (db: Queryable): Promise<string[]> => {
  const steps = await db<Step[]>`
    select j.id as job_id, j.state, e.type, e.from_state, e.to_state, count(e.id)::int as times
    from job j left join event e on e.job_id = j.id and e.type like 'job.%'
    group by j.id, j.state, e.type, e.from_state, e.to_state order by j.id`
  const byJob = new Map<string, Step[]>()
  for (const step of steps) byJob.set(step.jobId, [...(byJob.get(step.jobId) ?? []), step])
  return [...byJob].flatMap(([jobId, all]) => [
    ...all
      .filter((step) => !isEdge(step))
      .map(
        ({ type, fromState, toState }) =>
          `history: job ${jobId} has ${type ?? 'no event at all'}${type ? ` from ${fromState} to ${toState}` : ''}`,
      ),
    ...brokenWalk(jobId, all),
  ])
}

const isEdge = ({ type, fromState, toState, times }: Step): boolean => {
  if (type === null || toState === null) return false
  if (type === 'job.created') return fromState === null && toState === 'ready' && times === 1
  if (fromState === null || !jobStates.includes(fromState)) return false
  return jobTable.moves.some(
    ({ tells, from, to }) => tells === type && from.includes(fromState) && to === toState,
  )
}

const brokenWalk = (jobId: string, steps: readonly Step[]): string[] => {
  const { state } = steps[0] as Step
  const sum = (counted: readonly Step[]) => counted.reduce((total, step) => total + step.times, 0)
  return jobStates
    .map((name) => ({
      name,
      entered: sum(steps.filter((step) => step.toState === name)),
      left: sum(steps.filter((step) => step.fromState === name)),
    }))
    .filter(({ name, entered, left }) => entered - left !== (name === state ? 1 : 0))
    .map(
      ({ name, entered, left }) =>
        `history: job ${jobId} is ${state}, but its events enter ${name} ${entered} times and leave it ${left} times`,
    )
}

/** Every claim raised the epoch by one and has its event; every turn ended once, under its own epoch. */
const turns = async (db: Queryable): Promise<string[]> =>
  sentences(
    await db<{ what: string }[]>`
      with claim as (
        select job_id, (detail->>'epoch')::bigint as epoch,
          lag((detail->>'epoch')::bigint) over (partition by job_id order by era, xid, id) as before
        from event where type = 'job.running'
      ), ending as (
        select job_id, type, (detail->>'epoch')::bigint as epoch from event
        where from_state = 'running' and to_state <> 'running' and type like 'job.%'
      )
      select format('turns: job %s was claimed at epoch %s after epoch %s', job_id, epoch, before) as what
        from claim where epoch is null or epoch <= before
      union all
      select format('turns: job %s is at epoch %s, but has %s claims, the last at %s', j.id, j.lease_epoch,
          count(c.epoch), max(c.epoch))
        from job j left join claim c on c.job_id = j.id group by j.id
        having count(c.epoch) <> j.lease_epoch or coalesce(max(c.epoch), 0) <> j.lease_epoch
      union all
      select format('turns: %s of job %s carries epoch %s, which nobody claimed', e.type, e.job_id, e.epoch)
        from ending e join job j on j.id = e.job_id
        where not exists (select from claim c where c.job_id = e.job_id and c.epoch = e.epoch)
      union all
      select format('turns: epoch %s of job %s ended %s times', c.epoch, c.job_id, count(e.type))
        from claim c join job j on j.id = c.job_id
        left join ending e on e.job_id = c.job_id and e.epoch = c.epoch
        group by c.job_id, c.epoch, j.state, j.lease_epoch
        having count(e.type) <> case when j.state = 'running' and c.epoch = j.lease_epoch then 0 else 1 end`,
  )

/** At most one accepted outcome per generation of a job. */
const outcomes = async (db: Queryable): Promise<string[]> => {
  const rows = await db<
    { id: string; state: JobState; generation: number; ends: number; redrives: number }[]
  >`
    select j.id, j.state, j.generation, count(e.id) filter (where e.to_state in ('succeeded', 'failed', 'canceled'))::int as ends,
      count(e.id) filter (where e.type = 'job.redriven')::int as redrives
    from job j left join event e on e.job_id = j.id and e.type like 'job.%' group by j.id`
  const twice = await db<{ what: string }[]>`
    with generation as (
      select job_id, to_state,
        1 + count(*) filter (where type = 'job.redriven') over (partition by job_id order by era, xid, id) as number
      from event where job_id is not null and type like 'job.%'
    )
    select format('outcomes: generation %s of job %s has %s outcomes', number, job_id, count(*)) as what
    from generation where to_state in ('succeeded', 'failed', 'canceled') group by job_id, number having count(*) > 1`
  const wrong = rows.filter(
    ({ state, generation, ends, redrives }) =>
      generation !== redrives + 1 || ends !== redrives + (isTerminal(state) ? 1 : 0),
  )
  return [
    ...sentences(twice),
    ...wrong.map(
      ({ id, state, generation, ends, redrives }) =>
        `outcomes: job ${id} is ${state} in generation ${generation}, with ${ends} outcomes and ${redrives} redrives`,
    ),
  ]
}

/** Nothing is outside without a job that answers for it, and what ended has left nothing unseen. */
export const effects = async (db: Queryable): Promise<string[]> =>
  sentences(
    await db<{ what: string }[]>`
      select format('effects: %s %s has no job', e.kind, e.name) as what from effect e
        where not exists (select from job j where j.id = e.job_id)
      union all select format('effects: %s %s of job %s was written at epoch %s, but the job is at %s',
          e.kind, e.name, j.id, e.epoch, j.lease_epoch) from effect e join job j on j.id = e.job_id
        -- What is owed before anybody has begun was written at no epoch.
        where e.epoch > j.lease_epoch or (e.epoch < 1 and e.state in ('intended', 'done'))
      union all select format('effects: job %s is %s, but %s %s is still %s', j.id, j.state, e.kind, e.name, e.state)
        from effect e join job j on j.id = e.job_id
        where (j.state in ('failed', 'canceled') and e.state in ('intended', 'done'))
          or (j.state = 'succeeded' and e.state = 'intended')
      union all select format('effects: the debt %s %s has no next try', kind, name) from effect
        where state = 'debt' and next_try_at is null
      union all select format('effects: %s %s was waived by nobody', kind, name) from effect
        where state = 'waived' and (waived_by is null or waived_reason is null)`,
  )

const keepers = jobKinds.filter(({ keepsTokens }) => keepsTokens).map(({ kind }) => kind)

/** Tokens are held by jobs that run, or that were let in and are about to; never more than there are. */
const tokens = async (db: Queryable): Promise<string[]> => {
  const limits = await db<{ name: string; capacity: number }[]>`select name, capacity from admission_limit`
  const inForce = new Map(limits.map((row) => [row.name, row.capacity]))
  const held = await db<{ token: string; holds: number }[]>`
    select token, count(*)::int as holds from token_hold group by token`
  const idle = await db<{ what: string }[]>`
    select format('tokens: %s is held by job %s at epoch %s, which is %s at epoch %s', h.token, h.job_id, h.epoch,
        coalesce(j.state, 'gone'), j.lease_epoch) as what
      from token_hold h left join job j on j.id = h.job_id
      where ((j.state = 'running' and h.epoch = j.lease_epoch) or (j.state = 'ready' and h.epoch = 0)
        -- A handler whose deadline passed may be at it still: its tokens lapse a little later.
        -- A kind that keeps its tokens holds them between its turns too.
        or (j.state in ('ready', 'waiting') and h.epoch > 0 and h.epoch = j.lease_epoch
          and h.token = any(j.tokens) and j.kind = any(${keepers}::text[]))
        or (j.error ->> 'code' = 'deadline-passed' and j.finished_at > now() - interval '1 minute')) is not true
    union all select format('tokens: job %s runs without %s', j.id, t)
      from job j, unnest(j.tokens) t
      where j.state = 'running' and j.cancel_requested_at is null
        and not exists (select from token_hold h where h.job_id = j.id and h.token = t)`
  return [
    ...sentences(idle),
    ...held
      .filter(({ token, holds }) => holds > tokenLimit(token, inForce))
      .map(
        ({ token, holds }) =>
          `tokens: ${token} is held ${holds} times, more than ${tokenLimit(token, inForce)}`,
      ),
  ]
}

/**
 * The self-test's outside world: an intent came before every call, nothing was made while it was there, and
 * what is there is exactly what the ledger knows of.
 */
const world = async (db: Queryable): Promise<string[]> =>
  sentences(
    await db<{ what: string }[]>`
      with name as (
        select name, job_id, count(*) filter (where action = 'made')::int as made,
          count(*) filter (where action = 'removed')::int as removed,
          count(*) filter (where action = 'found')::int as repeated
        from self_test.call group by name, job_id
      )
      select format('world: %s was made again while it was there', name) as what from name where repeated > 0
      union all select format('world: %s was made %s times and removed %s times, and is %s', n.name, n.made, n.removed,
          case when m.name is null then 'not there' else 'there' end)
        from name n left join self_test.marker m on m.name = n.name
        where n.made - n.removed <> case when m.name is null then 0 else 1 end
      union all select format('world: %s is there, but nobody called for it', m.name) from self_test.marker m
        where not exists (select from name n where n.name = m.name)
      union all select format('world: %s is there, but its effect is %s', m.name, coalesce(e.state, 'unknown'))
        from self_test.marker m
        left join effect e on e.job_id = m.job_id and e.kind = 'self-test-marker' and e.name = m.name
        where (e.state in ('intended', 'done', 'debt', 'waived')) is not true
      union all select format('world: %s is gone, but its effect is done', e.name)
        from effect e join job j on j.id = e.job_id
        where e.kind = 'self-test-marker' and e.state = 'done' and j.state = 'succeeded'
          and not exists (select from self_test.marker m where m.name = e.name)
      union all select format('world: job %s succeeded with %s of its %s effects', j.id, count(e.id), j.payload->>'effects')
        from job j left join effect e on e.job_id = j.id and e.kind = 'self-test-marker' and e.state = 'done'
        where j.kind = 'self-test' and j.state = 'succeeded'
        group by j.id having count(e.id) < (j.payload->>'effects')::int
      union all select format('world: %s was made at %s, before its intent', c.name, c.at) from self_test.call c
        where c.action in ('made', 'found') and exists (select from job j where j.id = c.job_id)
          and not exists (select from effect e where e.job_id = c.job_id and e.kind = 'self-test-marker'
            and e.name = c.name and e.created_at <= c.at)`,
  )

const seals = async (db: Queryable, sealer: Pick<Sealer, 'isMac' | 'open'>): Promise<string[]> => {
  const { firstBroken } = await verifySeals(db, sealer)
  return firstBroken ? [`seals: ${firstBroken.seq}: ${firstBroken.why}`] : []
}
