import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addSite } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver, type Reply, tester } from '../setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } }))
const get = (query = ''): Promise<Reply> => call('GET', `/v1/operations${query}`)
const byFilter = (text: string, more = '') => get(`?filter=${encodeURIComponent(text)}${more}`)

const idsOf = async (asked: Promise<Reply>): Promise<string[]> => {
  const { status, body, text } = await asked
  expect(status, text).toBe(200)
  return body.items.map(({ id }) => id)
}

const ask = async (machine: string, kind: string, more: Record<string, unknown> = {}): Promise<string> => {
  const { status, body, text } = await call('POST', '/v1/operations', { json: { machine, kind, ...more } })
  expect(status, text).toBe(202)
  return body.id
}

const end = (id: string, state: string, reason: string) => db`
  update operation set state = ${state}, reason = ${reason}, message = 'So it ended.', started_at = now(),
    finished_at = now(), settled_at = now() where id = ${id}::uuid`

beforeEach(async () => {
  await db`truncate machine, operation, site, event`
})

test('operations are chosen by the target of their machine, and by their ids', async () => {
  const oslo = await addSite(db, 'oslo', { role: 'target' })
  const bergen = await addSite(db, 'bergen', { role: 'target' })
  const one = await ask(await addMachine(db, { targetId: oslo }), 'stop')
  const two = await ask(await addMachine(db, { targetId: bergen }), 'stop')
  const three = await ask(await addMachine(db, { targetId: bergen }), 'restart')
  expect(await idsOf(get())).toEqual([three, two, one])
  expect(await idsOf(get('?target=oslo'))).toEqual([one])
  expect(await idsOf(get('?target=bergen&kind=stop'))).toEqual([two])
  expect(await idsOf(get('?target=nowhere'))).toEqual([])
  expect(await idsOf(get(`?ids=${one},${uuidv7()},${three}`))).toEqual([three, one])
  const first = (await get(`?ids=${one},${three}&limit=1`)).body
  expect(first.items.map(({ id }) => id)).toEqual([three])
  expect(await idsOf(get(`?ids=${one},${three}&limit=1&cursor=${first.next_cursor}`))).toEqual([one])
})

test('at most two hundred ids are asked for at once, and nothing else goes for an id', async () => {
  const many = Array.from({ length: 201 }, () => uuidv7())
  expect((await get(`?ids=${many.slice(1).join('%2C')}&limit=200`)).status).toBe(200)
  const wrong: readonly (readonly [ids: string, status: number])[] = [
    [many.join(','), 422],
    ['', 422],
    ['web-01', 422],
    [`${many[0]},`, 422],
  ]
  for (const [ids, status] of wrong) {
    const answer = await get(`?ids=${ids}`)
    expect([ids.slice(0, 40), answer.status]).toEqual([ids.slice(0, 40), status])
    expect(answer.body.errors[0]?.field).toMatch(/^ids/)
  }
})

test('a filter asks about operations as their answers show them', async () => {
  const oslo = await addSite(db, 'oslo', { role: 'target' })
  const machine = await addMachine(db, { name: 'web-01', targetId: oslo })
  const gone = await ask(machine, 'stop')
  const forced = await ask(machine, 'stop', { force: true })
  const queued = await ask(machine, 'start', { on_conflict: 'queue' })
  const other = await ask(await addMachine(db, { name: 'db-01', targetId: oslo }), 'migrate')
  await end(other, 'failed', 'host-full')
  expect(await idsOf(byFilter('machine == "web-01" && target == "oslo" && !force'))).toEqual([queued, gone])
  expect(await idsOf(byFilter('kind == "stop" && force && progress == 0'))).toEqual([forced])
  expect(await idsOf(byFilter(`superseded_by == "${forced}"`))).toEqual([gone])
  expect(await idsOf(byFilter('state == "failed" && retryable'))).toEqual([other])
  expect(await idsOf(byFilter('reason == "no-worker"'))).toEqual([forced])
  expect(await idsOf(byFilter('finished_at == "" && on_conflict == "queue"'))).toEqual([queued])
  expect(await idsOf(byFilter('started_at != "" && settled && message.contains("ended")'))).toEqual([other])
  expect(
    await idsOf(byFilter(`created_by == "${tester}" && cause == "person" && !past_return`)),
  ).toHaveLength(4)
  expect(await idsOf(byFilter('timestamp(created_at) < timestamp("2020-01-01T00:00:00Z")'))).toEqual([])
  expect(await idsOf(byFilter('force', '&state=queued'))).toEqual([])
})

test('a filtered page goes on where it ended, in either view, and names what could not be judged', async () => {
  const made: string[] = []
  for (let count = 0; count < 5; count += 1) made.unshift(await ask(await addMachine(db), 'stop'))
  await ask(await addMachine(db), 'restart')
  for (const view of ['', '&view=conditions']) {
    const first = (await byFilter('kind == "stop"', `&limit=3${view}`)).body
    const rest = (await byFilter('kind == "stop"', `&limit=3&cursor=${first.next_cursor}${view}`)).body
    expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(made)
    expect([rest.next_cursor, rest.error_count]).toEqual([null, 0])
  }
  const { body } = await byFilter('timestamp(started_at) > timestamp("2020-01-01T00:00:00Z")')
  expect([body.items, body.scanned, body.error_count]).toEqual([[], 6, 6])
})

test('a filter of operations that cannot be right is refused with the place', async () => {
  const wrong = await byFilter('state == "faild"')
  expect([wrong.status, wrong.body.code, wrong.body.field]).toEqual([422, 'filter-invalid', 'filter'])
  expect(wrong.body.remedy).toContain('Did you mean "failed"?')
  expect((await byFilter('reason == "host-ful"')).body.remedy).toContain('Did you mean "host-full"?')
  // Nobody is offered what only instances have.
  expect((await byFilter('has_tags("a", "b")')).body.remedy).not.toContain('has_tag(')
})
