import { beforeEach, describe, expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver, type Reply } from '../setup.ts'
import { addFleet, emptyMigration, moveRow, restEntries, startBatch } from './batch-rows.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))
const get = (path: string) => call('GET', path)
const post = (path: string, json?: unknown) => call('POST', path, json === undefined ? {} : { json })
const listed = (filter: string, more = '') => get(`/v1/queue?filter=${encodeURIComponent(filter)}${more}`)

beforeEach(() => emptyMigration(db))

const begin = async (names: readonly string[]) => {
  await addFleet(db, names)
  await startBatch(db, call, { include_expression: 'true' })
  await restEntries(db)
  return (await get('/v1/queue?limit=200')).body.items
}

const namesOf = ({ body }: Reply) => body.items.map(({ name }) => name)

describe('a filter over the queue', () => {
  test('asks of the entry and of the record of its instance, in pages', async () => {
    const [one, two] = await begin(['web-1', 'web-2', 'db-1'])
    await moveRow(db, String(two?.id), { state: 'idle', stage: 'final' })
    expect(namesOf(await listed('state == "idle" && stage == "final"'))).toEqual(['web-2'])
    expect(namesOf(await listed('name.startsWith("web") && batch == "wave-1" && target == "oslo"'))).toEqual([
      'web-1',
      'web-2',
    ])
    expect(
      namesOf(await listed('source == "paris" && cpus > 0 && retries == 0 && !source_off')),
    ).toHaveLength(3)
    expect(
      namesOf(await listed('timestamp(since) > timestamp("2000-01-01T00:00:00Z") && job == ""')),
    ).toHaveLength(3)
    const first = await listed('name.startsWith("web")', '&limit=1')
    expect(first.body).toMatchObject({ items: [{ id: one?.id }], scanned: 1 })
    expect(
      namesOf(await listed('name.startsWith("web")', `&limit=1&cursor=${first.body.next_cursor}`)),
    ).toEqual(['web-2'])
  })

  test('is refused with the place of the mistake, and one that cannot be judged does not match', async () => {
    await begin(['web-1'])
    const unknown = await listed('stat == "idle"')
    expect([unknown.status, unknown.body.code, unknown.body.detail]).toEqual([
      422,
      'filter-invalid',
      expect.stringContaining('^'),
    ])
    expect((await listed('state == "idel"')).body.detail).toContain('never "idel"')
    const failing = await listed('disks[99].capacity > 0')
    expect(failing.body).toMatchObject({ items: [], error_count: 1 })
  })
})

describe('verbs for many entries', () => {
  test('choose by a filter as lists do', async () => {
    const [one] = await begin(['web-1', 'web-2', 'db-1'])
    const ask = { filter: 'name.startsWith("web")', confirm_count: 2 }
    const done = await post('/v1/queue/:cancel', ask)
    expect(done.body).toMatchObject({ matched: 2, left: 0, next_cursor: null, scanned: 3 })
    expect(namesOf(await get('/v1/queue?state=canceled'))).toEqual(['web-1', 'web-2'])
    const retried = await post('/v1/queue/:retry', { filter: 'name == "web-1"', confirm_count: 1 })
    expect(retried.body.items).toMatchObject([{ id: one?.id, outcome: 'done' }])
    expect((await post('/v1/queue/:retry', { filter: 'nam == ""', confirm_count: 1 })).body.field).toBe(
      'filter',
    )
  })

  test('do not mean who is there already, or was asked', async () => {
    const [one, two] = await begin(['web-1', 'web-2', 'web-3'])
    await post(`/v1/queue/${String(one?.id)}/:cancel`, {})
    await db`update entry set intent = '{"verb": "cancel", "force": false, "cleanup": false}'
      where id = ${String(two?.id)}::uuid`
    const done = await post('/v1/queue/:cancel', { batch: 'wave-1', confirm_count: 1 })
    expect(done.body).toMatchObject({ matched: 1, left: 0 })
    // What was given up is meant by who says so, and only while something of it is left.
    const left = { batch: 'wave-1', state: 'canceled', cleanup: true }
    expect((await post('/v1/queue/:cancel', { ...left, confirm_count: 0 })).body.matched).toBe(0)
    await db`update entry set machine_ref = 'vm-1' where id = ${String(one?.id)}::uuid`
    const cleaned = await post('/v1/queue/:cancel', { ...left, confirm_count: 1 })
    expect(cleaned.body.items).toMatchObject([{ id: one?.id, outcome: 'done' }])
    // Named ones are judged one by one, wherever they are.
    const named = await post('/v1/queue/:resolve', { ids: [two?.id], confirm_count: 1 })
    expect(named.body.items).toMatchObject([{ outcome: 'refused', code: 'entry-not-from-here' }])
  })

  test('are counted all and acted on in parts, with a cursor to go on from', async () => {
    await begin(['web-1', 'web-2', 'web-3', 'web-4', 'web-5'])
    await db`update entry set state = 'conflict'`
    const limited = clientOf(depsOver(db, { limits: { requestMs: 120_000, bulkEntries: 3 } }))
    const resolve = (json: Record<string, unknown>) =>
      limited('POST', '/v1/queue/:resolve', { json: { batch: 'wave-1', ...json } })
    const wrong = await resolve({ confirm_count: 3 })
    expect([wrong.status, wrong.body.detail]).toEqual([409, expect.stringContaining('5 entries fit')])
    const first = await resolve({ confirm_count: 5 })
    expect(first.body).toMatchObject({ matched: 5, left: 2, next_cursor: expect.any(String) })
    const cursor = first.body.next_cursor
    const rest = await resolve({ confirm_count: 2, cursor, filter: 'name.startsWith("web")' })
    expect(rest.body).toMatchObject({ matched: 2, left: 0, next_cursor: null })
    const ids = [...first.body.items, ...rest.body.items].map(({ id }) => id)
    expect(new Set(ids).size).toBe(5)
  })
})
