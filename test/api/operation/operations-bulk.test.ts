import { beforeEach, expect, test } from 'vitest'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addSite } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver, type Reply } from '../setup.ts'

const { db } = await createDatabase()
const limits = { requestsPerSecond: 10_000, requestsBurst: 10_000 }
const call = clientOf(depsOver(db, { limits }))
const bulk = (json: Record<string, unknown>, key?: string): Promise<Reply> =>
  call('POST', '/v1/operations/:bulk', { json, ...(key ? { headers: { 'idempotency-key': key } } : {}) })
const ask = (json: Record<string, unknown>) => call('POST', '/v1/operations', { json })

const oslo = await addSite(db, 'oslo', { role: 'target' })

const stored = async (): Promise<number> => {
  const [row] = await db<{ n: number }[]>`select count(*)::int as n from operation`
  return row?.n ?? 0
}

beforeEach(async () => {
  await db`delete from operation`
  await db`delete from machine`
})

const addMany = async (count: number, power: 'on' | 'off' = 'on'): Promise<string[]> => {
  const ids: string[] = []
  for (let at = 0; at < count; at += 1)
    ids.push(await addMachine(db, { power, name: `many-${power}-${at}`, targetId: oslo }))
  return ids
}

// promise: bulk
test('nothing is asked before the number that fits is confirmed: then the number and some names are the answer', async () => {
  await addMany(12)
  await addMany(2, 'off')
  const none = await bulk({ kind: 'stop', power: 'on' })
  expect([none.status, none.body.code, none.body.field]).toEqual([409, 'count-differs', 'confirm_count'])
  expect(none.body).toMatchObject({ matched: 12, detail: '12 machines fit, and you confirmed no number.' })
  expect(none.body.sample).toHaveLength(10)
  expect((await bulk({ kind: 'stop', power: 'on', confirm_count: 14 })).body.detail).toContain('confirmed 14')
  expect(await stored()).toBe(0)
  const done = await bulk({ kind: 'stop', power: 'on', confirm_count: 12 })
  expect(done.status, done.text).toBe(200)
  expect(done.body).toMatchObject({ matched: 12, left: 0, next_cursor: null, admitted: 12, refused: [] })
  expect(await stored()).toBe(12)
})

test('copies are not made of many at once: they cannot share one name', async () => {
  await addMany(2)
  const asked = await bulk({ kind: 'clone', params: { name: 'copy' }, power: 'on', confirm_count: 2 })
  expect([asked.status, asked.body.field], asked.text).toEqual([422, 'kind'])
  expect(asked.text).toContain('each by itself')
  expect(await stored()).toBe(0)
})

test('says of each machine what became of it, and counts those that are refused by reason', async () => {
  const [moving = '', saving = '', still = ''] = await addMany(3)
  const [off = ''] = await addMany(1, 'off')
  const older = (await ask({ machine: moving, kind: 'migrate' })).body
  const busy = (await ask({ machine: saving, kind: 'snapshot' })).body
  const { body } = await bulk({ kind: 'stop', all: true, confirm_count: 4 })
  const of = (id: string) => body.items.find((item) => item.machine_id === id)
  expect(of(moving)).toMatchObject({ outcome: 'superseded', supersedes: older.id })
  expect(of(saving)).toMatchObject({
    outcome: 'refused',
    reason: 'blocked',
    blocker: busy.id,
    operation_id: null,
  })
  expect(of(still)).toMatchObject({ outcome: 'admitted', supersedes: null, reason: null })
  expect(of(off)).toMatchObject({ outcome: 'refused', reason: 'not-for-phase' })
  expect(body).toMatchObject({ admitted: 1, superseded: 1, queued: 0 })
  expect(body.refused).toEqual([
    { reason: 'blocked', count: 1, machine_ids: [saving] },
    { reason: 'not-for-phase', count: 1, machine_ids: [off] },
  ])
  const queued = await bulk({ kind: 'restart', ids: [saving], on_conflict: 'queue', confirm_count: 1 })
  expect(queued.body).toMatchObject({ queued: 1, items: [{ outcome: 'queued' }] })
  // Refusals leave a trace, though the admission was taken back.
  const told = await db`select subject_id from event where type = 'operation.refused' order by subject_id`
  expect(told.map(({ subjectId }) => subjectId)).toEqual([saving, off].sort())
})

test('a machine that is gone by the time it is asked keeps nothing from the others', async () => {
  const [first = '', second = '', third = ''] = (await addMany(3)).sort()
  await db`create function takes_away() returns trigger language plpgsql as $$
    begin update machine set gone_at = now() where id = ${db.unsafe(`'${second}'`)}; return new; end $$`
  await db`create trigger takes_away after insert on operation for each row execute function takes_away()`
  try {
    const { status, body } = await bulk({ kind: 'stop', all: true, confirm_count: 3 })
    expect(status).toBe(200)
    expect(body.items).toMatchObject([
      { machine_id: first, outcome: 'admitted' },
      { machine_id: second, outcome: 'refused', reason: 'machine-gone' },
      { machine_id: third, outcome: 'admitted' },
    ])
  } finally {
    await db`drop trigger takes_away on operation`
    await db`drop function takes_away`
  }
  const told = await db`select detail from event where type = 'operation.refused' and subject_id = ${second}`
  expect(told).toMatchObject([{ detail: { reason: 'machine-gone', kind: 'stop' } }])
})

test('goes through machines in the order of their ids, in parts, with a cursor to go on from', async () => {
  const ids = await addMany(7)
  const limited = clientOf(depsOver(db, { limits: { ...limits, bulkMachines: 3 } }))
  const part = (json: Record<string, unknown>) =>
    limited('POST', '/v1/operations/:bulk', { json: { kind: 'stop', all: true, ...json } })
  const first = await part({ confirm_count: 7 })
  expect(first.body).toMatchObject({ matched: 7, left: 4, admitted: 3 })
  const second = await part({ confirm_count: 4, cursor: first.body.next_cursor })
  const third = await part({ confirm_count: 1, cursor: second.body.next_cursor })
  expect(third.body).toMatchObject({ matched: 1, left: 0, next_cursor: null })
  const asked = [first, second, third].flatMap(({ body }) => body.items.map((item) => item.machine_id))
  expect(asked).toEqual(ids.toSorted())
  expect((await part({ confirm_count: 4, cursor: 'nonsense' })).body.field).toBe('cursor')
})

test('chooses by what lists of machines choose by, and by a filter', async () => {
  await addMany(4)
  await addMany(2, 'off')
  const dry = async (choice: object) => (await bulk({ kind: 'snapshot', dry_run: true, ...choice })).body
  expect(await dry({ phase: 'stopped' })).toMatchObject({ matched: 2, scanned: 6 })
  expect(await dry({ target: 'oslo', name: 'MANY-ON' })).toMatchObject({ matched: 4 })
  expect(await dry({ target: 'lima' })).toMatchObject({ matched: 0, items: [] })
  const one = { filter: 'name == "many-on-1" && phase == "running"' }
  expect((await dry(one)).items.map(({ machine }) => machine)).toEqual(['many-on-1'])
  const wrong = await bulk({ kind: 'snapshot', filter: 'nam == "x"', dry_run: true })
  expect([wrong.status, wrong.body.field]).toEqual([422, 'filter'])
  const done = await bulk({ kind: 'snapshot', ...one, confirm_count: 1 })
  expect(done.body).toMatchObject({ matched: 1, admitted: 1, left: 0 })
})

// promise: dry-run
test('a dry run says the same and changes nothing', async () => {
  const [moving = ''] = await addMany(2)
  const older = (await ask({ machine: moving, kind: 'migrate' })).body
  await addMany(1, 'off')
  const dump = () => db`select id, state, superseded_by, job_id from operation order by id`
  const before = await dump()
  const { body } = await bulk({ kind: 'stop', all: true, dry_run: true })
  expect(body).toMatchObject({ dry_run: true, matched: 3, admitted: 1, superseded: 1, left: 0 })
  expect(body.refused).toMatchObject([{ reason: 'not-for-phase', count: 1 }])
  expect(body.items.find((item) => item.machine_id === moving)).toMatchObject({ supersedes: older.id })
  expect(await dump()).toEqual(before)
  const told = await db`select from event where type = 'operation.refused'
    and subject_id = any(${body.items.map((item) => String(item.machine_id))}::text[])`
  expect(told).toHaveLength(0)
})

// promise: bulk
test('the same request with its key again does nothing twice, also when it had not come to its end', async () => {
  const ids = await addMany(5)
  const whole = await bulk({ kind: 'snapshot', all: true, confirm_count: 5 }, 'key-1')
  const again = await bulk({ kind: 'snapshot', all: true, confirm_count: 5 }, 'key-1')
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
  expect(again.body).toEqual(whole.body)
  expect(await stored()).toBe(5)
  // As if the process had died after the last machine, before the answer.
  await db`delete from api_request where key = 'key-1'`
  const resumed = await bulk({ kind: 'snapshot', all: true, confirm_count: 5 }, 'key-1')
  expect(resumed.body).toEqual(whole.body)
  expect(await stored()).toBe(5)
  const other = await bulk({ kind: 'snapshot', ids, confirm_count: 5, force: false }, 'key-1')
  expect([other.status, other.body.code]).toEqual([409, 'idempotency-mismatch'])
})

test('says which machines are meant, and every field that is wrong', async () => {
  const nobody = await bulk({ kind: 'stop', confirm_count: 0 })
  expect([nobody.status, nobody.body.field]).toEqual([422, 'target'])
  const wrong = await bulk({ kind: 'start', force: true, all: true, confirm_count: 0 })
  expect([wrong.status, wrong.body.field]).toEqual([422, 'force'])
  const params = await bulk({ kind: 'restore', all: true, confirm_count: 0 })
  expect(params.body.field).toBe('params.snapshot')
  expect((await bulk({ kind: 'stop', power: 'maybe' })).body.field).toBe('power')
})

// promise: one-at-a-machine
test('two bulks over the same machines at once: each machine has one of them', async () => {
  await addMany(30)
  const [one, two] = await Promise.all([
    bulk({ kind: 'snapshot', all: true, confirm_count: 30 }),
    bulk({ kind: 'hibernate', all: true, confirm_count: 30 }),
  ])
  expect([one.status, two.status]).toEqual([200, 200])
  expect(Number(one.body.admitted) + Number(two.body.admitted)).toBe(30)
  expect(await stored()).toBe(30)
})

test('a host that the target does not have is refused for each machine, also when only tried', async () => {
  await addMany(2)
  const moving = { kind: 'migrate', params: { host: 'node-9' }, power: 'on' }
  // Of a target that was never read nobody knows its hosts.
  expect((await bulk({ ...moving, dry_run: true })).body).toMatchObject({ admitted: 2 })
  await db`insert into host (id, site_id, ref, name, hash, revision, facts)
    values (gen_random_uuid(), ${oslo}::uuid, 'host-1', 'node-1', '', 1, '{}')`
  expect((await bulk({ ...moving, dry_run: true })).body).toMatchObject({
    ...{ admitted: 0, refused: [{ reason: 'host-unknown', count: 2 }] },
  })
  const refused = await ask({ machine: 'many-on-0', kind: 'migrate', params: { host: 'node-9' } })
  expect([refused.status, refused.body.code, refused.body.field]).toEqual([
    409,
    'host-unknown',
    'params.host',
  ])
  expect(refused.body.detail).toContain('"node-9"')
  expect(await stored()).toBe(0)
  for (const host of ['node-1', 'host-1'])
    expect((await bulk({ ...moving, params: { host }, dry_run: true })).body).toMatchObject({ admitted: 2 })
  await db`delete from host`
})
