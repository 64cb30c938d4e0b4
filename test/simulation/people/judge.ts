import type { Db } from '../../../db/client.ts'
import { type EntryStage, type EntryState, isCommitted } from '../../../src/domain/migration/entry/entry.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { checkMigration } from '../../support/migration-invariants.ts'
import { type Estate, type EstateMachine, hasBytesOf, tell } from './estate.ts'
import { atOnce } from './people.ts'
import type { PeopleWorld } from './people-world.ts'

const idLength = 36
/** A person gave the word for what these do to a machine's power. */
const personal: readonly string[] = ['power-instance', 'operate-machine']

/** Whom the ledger names, by the name of a call. */
const kindOf = async (db: Db, call: string): Promise<string> => {
  const [row] = await db<{ kind: string }[]>`
    select coalesce(j.kind, '') as kind from (select 1) one
      left join job j on j.id::text = ${call.slice(0, idLength)}`
  return row?.kind ?? ''
}

/** No two machines of one identity ever ran, by the record of the places themselves. */
export const judgeDoubles = ({ doubled }: Estate): string[] => doubled.map((what) => `two copies: ${what}`)

/** No copy was started with other bytes than its source has, and who has a certificate has the last of them. */
export const judgeBytes = async ({ db, estate }: PeopleWorld): Promise<string[]> => {
  const finished = await db<{ ref: string }[]>`
    select machine_ref as ref from entry where state = 'finished' and certificate_id is not null`
  const behind = [...estate.machines.values()].flatMap((copy) => {
    const source = estate.sourceOf(copy)
    if (!source || !copy.copied || !finished.some(({ ref }) => ref === copy.ref)) return []
    return hasBytesOf(source, copy.copied) ? [] : [`${tell(copy)} is certified, and ${tell(source)} has more`]
  })
  return [...estate.stale, ...behind].map((what) => `bytes: ${what}`)
}

/** No more sources are off, or about to be, than the constraint of each batch allows; nor than a window has room for. */
export const judgeLimits = async ({ db }: PeopleWorld): Promise<string[]> => {
  const rows = await db<{ batch: string; state: EntryState; stage: EntryStage; windowId: string | null }[]>`
    select b.name as batch, e.state, e.stage, e.window_id from entry e join batch b on b.id = e.batch_id`
  const counts = new Map<string, number>()
  for (const row of rows) {
    if (isCommitted(row)) counts.set(row.batch, (counts.get(row.batch) ?? 0) + 1)
    if (row.windowId !== null) counts.set(row.windowId, (counts.get(row.windowId) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, many]) => many > atOnce)
    .map(([of, many]) => `limit: ${many} at once in ${of}`)
}

/** Whoever ran at the beginning runs somewhere; or a person switched it off; or an entry, a debt or a warning says who is off since when. */
export const judgeLosses = async ({ db, estate }: PeopleWorld): Promise<string[]> => {
  const ran = new Map(estate.power.filter(({ by }) => by === 'before').map((line) => [line.uuid, line]))
  const lost: string[] = []
  for (const [uuid, { place, ref }] of ran) {
    const family = [...estate.machines.values()].filter((machine) => machine.uuid === uuid)
    // It was not lost here: somebody has put another in its place.
    if (estate.replaced.has(uuid)) continue
    if (family.some(({ power }) => power === 'on')) continue
    if (await isByPerson(db, estate, uuid)) continue
    if (await isTold(db, { place, ref })) continue
    lost.push(`lost: ${place}/${ref} is off everywhere and nobody is told: ${tellFamily(family, estate)}`)
  }
  return lost
}

const tellFamily = (family: readonly EstateMachine[], estate: Estate): string =>
  family
    .map((one) => {
      const last = estate.power.findLast(({ place, ref }) => place === one.place && ref === one.ref)
      return `${tell(one)} is ${one.power}, by ${last?.by ?? 'nobody'}`
    })
    .join('; ')

/** The last that happened to one of them was a person's word. */
const isByPerson = async (db: Db, { power }: Estate, uuid: string): Promise<boolean> => {
  const last = new Map(
    power.filter((line) => line.uuid === uuid).map((line) => [line.place + line.ref, line]),
  )
  for (const { to, by } of last.values())
    if (to === 'off' && personal.includes(await kindOf(db, by))) return true
  return false
}

const isTold = async (db: Db, { place, ref }: { place: string; ref: string }): Promise<boolean> => {
  const [row] = await db<{ told: boolean }[]>`
    select exists (select from entry e join instance i on i.id = e.instance_id join site s on s.id = i.site_id
        where s.name = ${place} and i.ref = ${ref} and e.source_stopped_at is not null and e.state <> 'finished')
      or exists (select from effect where state in ('debt', 'waived') and undo ->> 'ref' = ${ref})
      -- Its migration found it running, and has told people that it leaves it off, as it was when its batch took it in.
      or exists (select from warning w join machine m on m.id::text = w.entity_id
        join instance i on i.id = m.instance_id join site s on s.id = i.site_id
        where w.type = 'left-off' and w.entity_type = 'machine' and s.name = ${place} and i.ref = ${ref}) as told`
  return row?.told ?? false
}

/** With all well again nothing is intended, owed or under way, and each wait says why. */
export const judgeRest = async (world: PeopleWorld): Promise<string[]> => {
  const { db } = world
  const rows = await db<{ what: string }[]>`
    select format('rest: %s %s is %s, and its job %s', e.kind, e.name, e.state, j.state) as what
      from effect e left join job j on j.id = e.job_id
      where e.state = 'debt' or (e.state = 'intended' and not ${isStopped(db)})
    union all select format('rest: the %s %s is %s (%s)', kind, id, state, coalesce(wait_reason, error ->> 'code', ''))
      from job j where finished_at is null and not ${isStopped(db)}
        -- For a guest that does not hear it waits until its deadline.
        and wait_reason is distinct from 'waiting-for-guest'
    union all select format('rest: entry %s is %s/%s (%s: %s), and its batch runs', e.id, e.state, e.stage, e.reason, e.message)
      from entry e join batch b on b.id = e.batch_id
      where b.state = 'running' and not e.state = any(${atRest as string[]}::text[]) and not ${waitsForPerson(db)}
    union all select format('rest: entry %s is %s without a reason', id, state) from entry
      where reason = '' or message = ''`
  return [
    ...rows.map(({ what }) => what),
    ...(await judgeCopies(world)),
    ...(await checkInvariants(db)),
    ...(await checkMigration(db)),
  ]
}

/** A person has stopped the batch of the job `j`: it goes on when she starts it. */
const isStopped = (db: Db) => db`exists (select from pause p where p.scope = 'lane' and p.name = j.lane)`

/** Who has the place in the window of the entry `e`, and its source off, waits for a person. */
const waitsForPerson = (db: Db) => db`(e.reason in ('windows-full', 'constraint-full') and exists (
  select from entry o where o.batch_id = e.batch_id and o.state = 'conflict' and o.stage = 'complete'))`

const atRest: readonly string[] = ['finished', 'conflict', 'error', 'canceled', 'blocked']

/** Of each copy of ours that is somewhere there is a record; of one that a person waived, the debt with its name. */
const judgeCopies = async ({ db, estate }: PeopleWorld): Promise<string[]> => {
  const unknown: string[] = []
  for (const copy of estate.machines.values()) {
    const entry = copy.owner['drover.entry']
    if (entry === undefined) continue
    const [row] = await db<{ known: boolean }[]>`
      select exists (select from entry where id = ${entry}::uuid)
        or exists (select from machine where ref = ${copy.ref} and gone_at is null)
        or exists (select from effect where state = 'waived' and undo ->> 'machine_ref' = ${copy.ref}) as known`
    if (!row?.known) unknown.push(`copy: of ${tell(copy)} there is no record`)
  }
  return unknown
}

/** While one place hangs: entries of others that have not come to rest. */
export const judgeOthers = async ({ db }: PeopleWorld, hung: string): Promise<string[]> => {
  const rows = await db<{ what: string }[]>`
    select format('held: entry %s of %s is %s/%s (%s: %s) while only %s hangs', e.id, b.name, e.state, e.stage,
        e.reason, e.message, ${hung}::text) as what
    from entry e join batch b on b.id = e.batch_id join site s on s.id = e.source_id
    where b.state = 'running' and s.name <> ${hung}
      and coalesce((select name from site where id = e.target_id), b.defaults #>> '{placement,target}') <> ${hung}
      and not e.state = any(${atRest as string[]}::text[]) and not ${waitsForPerson(db)}`
  return rows.map(({ what }) => what)
}
