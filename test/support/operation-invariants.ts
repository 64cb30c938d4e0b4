import type { Db, Queryable } from '../../db/client.ts'
import type { OperationKind } from '../../src/domain/operation/kinds/kinds.ts'
import { operationMatrix } from '../../src/domain/operation/kinds/matrix.ts'
import {
  endedStates,
  type OperationState,
  operationStates,
  operationTable,
} from '../../src/domain/operation/kinds/state.ts'

/** How long an operation may be due for an end, a settling or its turn before that counts as forgotten. */
const overdueMs = 300_000

/**
 * Looks at all operations, in one snapshot, for what their laws forbid. Good at any moment, also under load; with
 * `atRest` nothing may be under way any more. An empty list means that all is well. What the platform was asked:
 * operated-machines.ts. The ledger's own laws: invariants.ts.
 */
export const checkOperations = (db: Db, options: { readonly atRest?: boolean } = {}): Promise<string[]> =>
  db.begin('isolation level repeatable read read only', async (tx) => {
    const found: string[] = []
    for (const rule of [oneAtATime, links, pairs, attended, effects, walks, watched])
      found.push(...(await rule(tx)))
    return options.atRest ? [...found, ...(await atRest(tx))] : found
  }) as Promise<string[]>

const sentences = async (rows: PromiseLike<readonly { what: string }[]>): Promise<string[]> =>
  (await rows).map(({ what }) => what)

/** At most one is at a machine, and nothing of an older one is under way once it acts. */
const oneAtATime = (db: Queryable): Promise<string[]> =>
  sentences(db<{ what: string }[]>`
    select format('one: machine %s has %s operations at it', machine_id, count(*)) as what
      from operation where state in ('pending', 'running') group by machine_id having count(*) > 1
    union all select format('one: %s %s runs, and %s %s has not settled', o.kind, o.id, older.kind, older.id)
      from operation o join operation older on older.machine_id = o.machine_id and older.id <> o.id
      where o.state = 'running' and older.state = any(${[...endedStates]}::text[]) and older.settled_at is null
        and older.started_at is not null`)

/** Both ends of every supersede, and what goes with each state. */
const links = (db: Queryable): Promise<string[]> =>
  sentences(db<{ what: string }[]>`
    select format('links: %s %s is %s, and its superseded_by is %s', kind, id, state, coalesce(superseded_by::text, 'none')) as what
      from operation where (state = 'superseded') <> (superseded_by is not null)
    union all select format('links: %s was superseded by %s, which %s', o.id, o.superseded_by,
        case when newer.id is null then 'does not exist' when newer.machine_id <> o.machine_id then 'is of another machine'
          else 'is not newer' end)
      from operation o left join operation newer on newer.id = o.superseded_by
      where o.superseded_by is not null and (newer.id is null or newer.machine_id <> o.machine_id or newer.seq <= o.seq)
    union all select format('links: two operations were superseded by %s', superseded_by)
      from operation where superseded_by is not null group by superseded_by having count(*) > 1
    union all select format('links: %s %s is %s, with finished_at %s, settled_at %s, started_at %s, progress %s', kind, id, state,
        finished_at, settled_at, started_at, progress)
      from operation where (state = any(${[...endedStates]}::text[])) <> (finished_at is not null)
        or (settled_at is not null and (finished_at is null or settled_at < finished_at))
        or (state in ('running', 'completed') and started_at is null) or (state in ('queued', 'pending') and started_at is not null)
        or (state = 'completed') <> (progress = 100) or (deadline_at is null) <> (started_at is null)
    union all select format('links: %s %s is %s without a word why', kind, id, state)
      from operation where reason = '' or message = '' or (state = 'failed' and reason in ('completed', 'superseded', 'in-progress'))`)

/** Nothing took the place of another but by the matrix, nor of one that could not be taken back. */
const pairs = async (db: Queryable): Promise<string[]> => {
  const rows = await db<
    {
      older: string
      olderKind: string
      olderForce: boolean
      newerKind: string
      newerForce: boolean
      pastReturn: boolean
    }[]
  >`
    select o.id as older, o.kind as older_kind, o.force as older_force, newer.kind as newer_kind,
      newer.force as newer_force, o.past_return
    from operation o join operation newer on newer.id = o.superseded_by`
  const allowed = new Set(
    operationMatrix
      .filter(({ outcome }) => outcome === 'supersede')
      .map(({ older, newer }) => `${older.kind} ${older.force} ${newer.kind} ${newer.force}`),
  )
  return rows.flatMap((row) => {
    const { older, olderKind, olderForce, newerKind, newerForce, pastReturn } = row
    const wrong = allowed.has(`${olderKind} ${olderForce} ${newerKind} ${newerForce}`)
      ? pastReturn
        ? 'after its point of no return'
        : undefined
      : 'against the matrix'
    return wrong ? [`pairs: ${olderKind} ${older} gave way to ${newerKind}, ${wrong}`] : []
  })
}

/** Somebody is at it, or will look: none is forgotten, and the job of none is at work for another. */
const attended = (db: Queryable): Promise<string[]> => {
  const late = db`(now() - ${overdueMs}::float8 * interval '1 millisecond')`
  return sentences(db<{ what: string }[]>`
    select format('attended: %s %s is %s, and its job %s since %s', o.kind, o.id, o.state, j.state, j.finished_at) as what
      from operation o join job j on j.id = o.job_id
      where o.state in ('pending', 'running') and j.finished_at < ${late}
    union all select format('attended: %s %s is %s without a job', o.kind, o.id, o.state)
      from operation o left join job j on j.id = o.job_id
      where o.state in ('pending', 'running') and o.updated_at < ${late} and j.id is null
    union all select format('attended: %s %s is queued and has job %s', kind, id, job_id)
      from operation where state = 'queued' and job_id is not null
    union all select format('attended: %s %s has ended at %s with job %s and is not settled', o.kind, o.id, o.finished_at, j.state)
      from operation o left join job j on j.id = o.job_id
      where o.finished_at < ${late} and o.settled_at is null and (j.id is null or j.finished_at < ${late})
        and not exists (select from effect e where e.job_id = o.job_id and e.state = 'debt')
    union all select format('attended: %s %s is queued, and nobody is at its machine', o.kind, o.id)
      from operation o where o.state = 'queued' and o.created_at < ${late} and not exists (select from operation other
        where other.machine_id = o.machine_id and other.id <> o.id
          and (other.settled_at is null and other.state <> 'queued' or other.settled_at >= ${late}))
    union all select format('attended: %s %s is %s, although its turn had to come by %s', kind, id, state, expires_at)
      from operation where (started_at is null or in_line_since is not null) and finished_at is null and expires_at < ${late}
    union all select format('attended: job %s works for %s operations', job_id, count(*))
      from operation where job_id is not null group by job_id having count(*) > 1`)
}

/** What an operation has outside belongs to one that is not settled. */
const effects = (db: Queryable): Promise<string[]> =>
  sentences(db<{ what: string }[]>`
    select format('effects: %s %s is settled, and %s is %s (its job: %s)', o.kind, o.id, e.name, e.state, j.state) as what
      from operation o join effect e on e.job_id = o.job_id join job j on j.id = o.job_id
      where o.settled_at is not null and not (e.state = 'debt' and e.kind = 'saved-state-drop')
        and (e.state in ('intended', 'debt') or (e.state = 'done' and j.state <> 'succeeded'))
    union all select format('effects: %s %s is settled, and its job %s', o.kind, o.id, j.state)
      from operation o join job j on j.id = o.job_id
      where o.settled_at is not null and j.finished_at is null
    union all select format('effects: %s %s is %s, and its job has succeeded', o.kind, o.id, o.state)
      from operation o join job j on j.id = o.job_id where j.state = 'succeeded' and o.state <> 'completed'
    union all select format('effects: %s %s is completed, and its job %s', o.kind, o.id, j.state)
      from operation o join job j on j.id = o.job_id where j.state <> 'succeeded' and o.state = 'completed'`)

interface Step {
  readonly id: string
  readonly state: OperationState
  readonly type: string | null
  readonly fromState: OperationState | null
  readonly toState: OperationState | null
  readonly times: number
}

/** The events of an operation are edges of its table, and together one walk from where it was asked to where it is. */
const walks = async (db: Queryable): Promise<string[]> => {
  const steps = await db<Step[]>`
    select o.id, o.state, e.type, e.from_state, e.to_state, count(e.id)::int as times
    from operation o left join event e on e.subject_type = 'operation' and e.subject_id = o.id::text
      and e.type = any(${operationStates.map((state) => `operation.${state}`)}::text[])
    group by 1, 2, 3, 4, 5 order by 1`
  const byOperation = new Map<string, Step[]>()
  for (const step of steps) byOperation.set(step.id, [...(byOperation.get(step.id) ?? []), step])
  return [...byOperation].flatMap(([id, all]) => [
    ...all
      .filter((step) => !isEdge(step))
      .map(
        ({ type, fromState, toState }) =>
          `walk: operation ${id} has ${type ?? 'no event at all'}, ${fromState} > ${toState}`,
      ),
    ...tornWalk(id, all),
  ])
}

const isEdge = ({ type, fromState, toState, times }: Step): boolean => {
  if (toState === null || type !== `operation.${toState}` || times !== 1) return false
  if (fromState === null) return operationTable.starts.includes(toState)
  return operationTable.moves.some(({ from, to }) => from.includes(fromState) && to === toState)
}

const tornWalk = (id: string, steps: readonly Step[]): string[] => {
  const { state } = steps[0] as Step
  const births = steps.filter(({ type, fromState }) => type !== null && fromState === null).length
  const torn = operationStates.filter((name) => {
    const entered = steps.filter(({ toState }) => toState === name).length
    const left = steps.filter(({ fromState }) => fromState === name).length
    return entered - left !== (name === state ? 1 : 0)
  })
  if (births === 1 && torn.length === 0) return []
  return [
    `walk: operation ${id} is ${state}, was asked for ${births} times, and its events disagree on ${torn.join(', ')}`,
  ]
}

/** What `watchOperations` has seen. */
const watched = async (db: Queryable): Promise<string[]> => {
  const [there] = await db<{ there: boolean }[]>`select to_regclass('watch.broken') is not null as there`
  return there?.there ? sentences(db<{ what: string }[]>`select what from watch.broken`) : []
}

const atRest = (db: Queryable): Promise<string[]> =>
  sentences(db<{ what: string }[]>`
    select format('rest: %s %s is %s (%s) and not settled; its job: %s %s', o.kind, o.id, o.state, o.reason,
        coalesce(j.state, 'none'), coalesce(j.wait_reason, '')) as what
      from operation o left join job j on j.id = o.job_id where o.settled_at is null
    union all select format('rest: %s of an operation is %s', e.name, e.state)
      from effect e join operation o on o.job_id = e.job_id where e.state in ('intended', 'debt')`)

/** What was asked for may be refused, or fail, and nothing has come of it: whoever waits for another try may give it up. */
const refusable: readonly OperationKind[] = ['hibernate', 'wake', 'restore', 'migrate', 'evict']

/**
 * From now on every single change of an operation is looked at, also those that the next one covers up. Whoever makes it:
 * a role has no right to the table in which what is broken is noted.
 */
export const watchOperations = async (db: Db): Promise<void> => {
  const edges = operationTable.moves.flatMap(({ from, to }) => from.map((state) => `${state}>${to}`))
  await db.unsafe(`
    create schema watch;
    create table watch.broken (what text not null);
    create function watch.operation() returns trigger language plpgsql security definer
      set search_path = public, pg_temp as $$
    begin
      insert into watch.broken
      select format('watch: %s %s: %s (%s %s%% > %s %s%%)', new.kind, new.id, rule.what, old.state, old.progress, new.state,
        new.progress)
      from (values
        (new.progress < old.progress, 'its progress went back'),
        (old.past_return and not new.past_return and not new.kind = any('{${refusable.join(',')}}'), 'it can be taken back again'),
        (old.finished_at is not null and (new.state <> old.state or new.finished_at is distinct from old.finished_at
          or new.reason <> old.reason), 'it changed after its end'),
        (old.settled_at is not null and new.settled_at is distinct from old.settled_at, 'it was settled twice'),
        (old.started_at is not null and new.started_at is distinct from old.started_at, 'it began twice'),
        (old.deadline_at is not null and new.deadline_at is distinct from old.deadline_at
          and (old.in_line_since is null or new.in_line_since is not null), 'its deadline moved while it ran'),
        (old.job_id is not null and new.job_id is distinct from old.job_id, 'it has another job'),
        (new.state <> old.state and new.state in ('canceled', 'superseded') and old.past_return, 'it was past its return'),
        (new.state <> old.state and not (old.state || '>' || new.state) = any('{${edges.join(',')}}'::text[]),
          'no rule leads there'),
        (new.settled_at is not null and old.settled_at is null and exists (select from job j where j.id = new.job_id
          and j.finished_at is null), 'it was settled while its job went on'),
        (new.settled_at is not null and old.settled_at is null and exists (select from effect e join job j on j.id = e.job_id
          where e.job_id = new.job_id and not (e.state = 'debt' and e.kind = 'saved-state-drop')
            and (e.state in ('intended', 'debt') or (e.state = 'done' and j.state <> 'succeeded'))),
          'it was settled with something outside'),
        (new.state = 'running' and old.state <> 'running' and exists (select from operation o where o.machine_id = new.machine_id
          and o.id <> new.id and o.finished_at is not null and o.settled_at is null), 'it began before an older one had settled')
      ) as rule (broken, what) where rule.broken;
      return new;
    end $$;
    create trigger watch before update on operation for each row execute function watch.operation();
  `)
}
