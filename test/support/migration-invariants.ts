import type { Db, Queryable } from '../../db/client.ts'
import { type EntryState, isCommitted, isMigrating } from '../../src/domain/migration/entry/entry.ts'
import { type EntryEvent, entryEvents, entryTable } from '../../src/domain/migration/entry/entry-table.ts'

/** How long an entry may be due, or a source be owed its start, before that counts as forgotten. */
const overdueMs = 300_000

/**
 * Looks at everything of batches and entries, in one snapshot, for what the laws of migration forbid. Good at any
 * moment, also under load; an empty list means that all is well. The ledger's own laws: invariants.ts.
 */
export const checkMigration = (db: Db): Promise<string[]> =>
  db.begin('isolation level repeatable read read only', (tx) => findMigrationViolations(tx)) as Promise<
    string[]
  >

/** `checkMigration` inside a transaction of the caller's. */
export const findMigrationViolations = async (db: Queryable): Promise<string[]> => {
  const found: string[] = []
  for (const rule of [walks, attended, frozen, windows, ends, sources, machines])
    found.push(...(await rule(db)))
  return found
}

const sentences = async (rows: PromiseLike<readonly { what: string }[]>): Promise<string[]> =>
  (await rows).map(({ what }) => what)

interface Step {
  readonly entryId: string
  readonly state: EntryState | null
  readonly type: string
  readonly fromState: EntryState | null
  readonly toState: string
  readonly stage: string | null
  readonly times: number
}

/**
 * Each event of an entry is an edge of the transition table, and together they are one walk to where it is. Whether
 * edges make a walk does not depend on their order: every state is left as often as it is entered, but for the last.
 */
const walks = async (db: Queryable): Promise<string[]> => {
  const steps = await db<Step[]>`
    select ev.subject_id as entry_id, e.state, ev.type, ev.from_state, ev.to_state, ev.detail ->> 'stage' as stage,
      count(*)::int as times
    from event ev left join entry e on e.id = ev.subject_id::uuid
    where ev.type = any(${['entry.created', ...entryEvents.map((event) => `entry.${event}`)]}::text[])
    group by 1, 2, 3, 4, 5, 6`
  const byEntry = new Map<string, Step[]>()
  for (const step of steps) byEntry.set(step.entryId, [...(byEntry.get(step.entryId) ?? []), step])
  return [...byEntry].flatMap(([id, all]) => [
    ...all.filter((step) => !isEdge(step)).map((step) => `walk: entry ${id} went ${tell(step)}, by no rule`),
    ...tornWalk(id, all),
  ])
}

const tell = ({ type, fromState, toState, stage }: Step) => `${type} ${fromState} > ${toState}/${stage}`

const isBirth = ({ type, fromState }: Step) => type === 'entry.created' && fromState === null

const isEdge = (step: Step): boolean => {
  if (isBirth(step)) return (entryTable.starts as readonly string[]).includes(step.toState)
  const event = step.type.slice('entry.'.length) as EntryEvent
  return entryTable.moves.some(
    (rule) =>
      rule.event === event &&
      step.fromState !== null &&
      rule.from.includes(step.fromState) &&
      rule.to === step.toState &&
      (rule.to === 'gone' || rule.stage === undefined || rule.stage === step.stage),
  )
}

const tornWalk = (id: string, steps: readonly Step[]): string[] => {
  // Entries that a test has put there have no beginning to be held to.
  if (!steps.some(isBirth)) return []
  const balance = new Map<string, number>()
  const add = (state: string, by: number) => balance.set(state, (balance.get(state) ?? 0) + by)
  for (const { fromState, toState, times } of steps) {
    if (fromState !== null) add(fromState, -times)
    add(toState, times)
  }
  const ends = [...balance].filter(([, count]) => count !== 0)
  const state = steps[0]?.state ?? null
  const [end] = ends
  const whole = ends.length === 1 && end?.[1] === 1
  if (whole && (end[0] === (state ?? 'gone') || end[0] === 'gone')) return []
  // A person may take off the list, or remove with its batch, what nobody is at.
  if (whole && state === null && !isMigrating(end[0] as EntryState)) return []
  return [`walk: the events of entry ${id} end at ${JSON.stringify(ends)}, and it is ${state ?? 'gone'}`]
}

/** Somebody is at it, or will look: no entry is forgotten. */
const attended = (db: Queryable): Promise<string[]> =>
  sentences(db<{ what: string }[]>`
    select format('attended: entry %s is %s and was due at %s', e.id, e.state, e.look_at) as what
      from entry e where e.state not in ('finished', 'error', 'canceled')
        and e.look_at < now() - ${overdueMs}::float8 * interval '1 millisecond'
    union all select format('attended: entry %s has the job %s, which does not exist', e.id, e.job_id)
      from entry e left join job j on j.id = e.job_id where e.job_id is not null and j.id is null
    union all select format('attended: the open %s %s is at no entry', j.kind, j.id)
      from job j join job_search s on s.job_id = j.id left join entry e on e.job_id = j.id
      where s.subject_type = 'entry' and j.finished_at is null and e.id is null
    union all select format('attended: entry %s waits without a reason', e.id)
      from entry e where e.reason = '' or e.message = ''
    union all select format('attended: entry %s is %s, and nobody is going to look at it', e.id, e.state)
      from entry e left join job j on j.id = e.job_id and j.finished_at is null
      where e.state not in ('finished', 'error', 'canceled') and j.id is null and not isfinite(e.look_at)`)

/** What a batch holds is held for an entry that still goes on. */
const frozen = (db: Queryable): Promise<string[]> =>
  sentences(db<{ what: string }[]>`
    select format('frozen: %s is held by %s, and its entry is %s', i.name, i.frozen_by, coalesce(e.state, 'none')) as what
    from instance i left join entry e on e.instance_id = i.id left join job j on j.id = e.job_id
    where i.frozen_by like 'batch/%' and (e.id is null or e.state = 'finished'
      -- Its source may be off on our account until it has been put right.
      or (e.state = 'canceled' and (j.id is null or j.kind <> 'withdraw-entry' or j.state = 'succeeded')))`)

const windows = (db: Queryable): Promise<string[]> =>
  sentences(db<{ what: string }[]>`
    select format('window: %s has room for %s and holds %s', w.name, w.capacity, count(*)) as what
    from batch_window w join entry e on e.window_id = w.id
    where w.capacity > 0 group by w.id having count(*) > w.capacity`)

/**
 * A source that is off in a window is on again by its end, or its target runs: somebody looks by then. Also an entry that
 * a job is at; that job may stand in line.
 */
const ends = async (db: Queryable): Promise<string[]> => {
  const rows = await db<
    {
      readonly id: string
      readonly state: EntryState
      readonly stage: 'background' | 'final' | 'complete'
      readonly endsAt: Date
      readonly lookAt: Date
      readonly over: boolean
      readonly late: boolean
    }[]
  >`
    select e.id, e.state, e.stage, w.ends_at, e.look_at,
      w.ends_at < now() - ${overdueMs}::float8 * interval '1 millisecond' as over, e.look_at > w.ends_at as late
    from entry e join batch_window w on w.id = e.window_id left join job j on j.id = e.job_id and j.finished_at is null
    where w.ends_at is not null and e.source_stopped_at is not null
      -- It was called off, and its job lets go; or what takes it back is at it or owed.
      and (j.id is null or j.cancel_requested_at is null and j.kind <> 'withdraw-entry')
      and not exists (select from effect f where f.subject_type = 'entry' and f.subject_id = e.id::text
        and f.kind = 'source-stop' and f.state = 'debt')`
  return rows.filter(isCommitted).flatMap(({ id, state, endsAt, lookAt, over, late }) => {
    if (over)
      return [`end: the source of entry ${id} (${state}) is off, its window ended at ${endsAt.toISOString()}`]
    if (!late) return []
    return [
      `end: entry ${id} (${state}) is looked at ${lookAt.toISOString()}, after its window's end ${endsAt.toISOString()}`,
    ]
  })
}

/** A source that we switched off is off for an entry that needs it so, or somebody is about to start it. */
const sources = async (db: Queryable): Promise<string[]> => {
  const rows = await db<
    {
      id: string
      state: EntryState
      stage: 'background' | 'final' | 'complete'
      reason: string
      owed: boolean
    }[]
  >`
    select e.id, e.state, e.stage, e.reason,
      (j.kind = 'withdraw-entry' and j.state <> 'succeeded')
        or e.updated_at > now() - ${overdueMs}::float8 * interval '1 millisecond' as owed
    from entry e left join job j on j.id = e.job_id where e.source_stopped_at is not null`
  return rows
    .filter(
      (row) =>
        !isCommitted(row) &&
        row.owed !== true &&
        row.state !== 'finished' &&
        !(row.state === 'error' && row.reason.startsWith('identity-')),
    )
    .map(({ id, state, stage }) => `source: that of entry ${id} is off for it, and it is ${state}/${stage}`)
}

/** Of a machine that was made there is a record, and of a finish a certificate. */
const machines = (db: Queryable): Promise<string[]> =>
  sentences(db<{ what: string }[]>`
    select format('machine: entry %s is %s/%s without a machine', id, state, stage) as what from entry
      where machine_ref is null and (state in ('idle', 'background-import', 'final-import', 'post-import', 'worker-done',
        'finished') or stage = 'complete')
    union all select format('machine: entry %s is finished without a certificate', e.id)
      from entry e left join certificate c on c.id = e.certificate_id where e.state = 'finished' and c.id is null
    union all select format('machine: two entries say that %s is theirs', machine_ref)
      from entry where machine_ref is not null group by target_id, machine_ref having count(*) > 1`)
