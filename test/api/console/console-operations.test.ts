import { beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createConsole } from '../../../src/console/console.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addFleet, emptyMigration, startBatch } from '../migration/batch-rows.ts'
import { clientOf, depsOver, type Reply } from '../setup.ts'

const { db } = await createDatabase()
const limits = { requestsPerSecond: 10_000, requestsBurst: 10_000 }

const consoleOver = (overrides: Parameters<typeof depsOver>[1] = {}) => {
  const deps = depsOver(db, { limits, ...overrides })
  return clientOf({ ...deps, console: createConsole(deps) })
}
const call = consoleOver()

const see = async (path: string): Promise<string> => {
  const { status, text } = await call('GET', path)
  expect(status, text).toBe(200)
  return text
}

const press = (path: string, form: Record<string, string> = {}, client = call): Promise<Reply> =>
  client('POST', path, {
    raw: new URLSearchParams(form).toString(),
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
  })

const ask = async (json: Record<string, unknown>): Promise<string> => {
  const { status, body, text } = await call('POST', '/v1/operations', { json })
  expect(status, text).toBe(202)
  return body.id
}

const operations = async (): Promise<number> => {
  const [row] = await db<{ n: number }[]>`select count(*)::int as n from operation`
  return row?.n ?? 0
}

interface Operation {
  readonly state: string
  readonly job_id: string
}

const add = async (name: string): Promise<string> => {
  const [oslo] = await db<{ id: string }[]>`select id from site where name = 'oslo'`
  return await addMachine(db, { name, targetId: oslo?.id ?? '' })
}

beforeEach(async () => {
  await db`delete from operation`
  await db`delete from machine`
  await emptyMigration(db)
  await addFleet(db, ['web-moving'])
})

test('force and going back to a snapshot are not asked for without a word that they are meant', async () => {
  const machine = await add('web-01')
  for (const form of [
    { kind: 'stop', force: 'yes' },
    { kind: 'restore', snapshot: 'before' },
    { kind: 'wake', cold: 'yes' },
  ] as Record<string, string>[]) {
    const refused = await press(`/machines/${machine}`, form)
    expect([refused.status, refused.text.includes('Say that you mean it.')]).toEqual([422, true])
  }
  expect(await operations()).toBe(0)
  const taken = await press(`/machines/${machine}`, { kind: 'stop', force: 'yes', sure: 'yes' })
  expect([taken.status, taken.headers.get('location')]).toEqual([
    303,
    `/machines/${machine}?notice=operation-asked`,
  ])
})

test('what a kind needs to know is sent with it, and what is wrong with it is said on the page', async () => {
  const machine = await add('web-01')
  const wrong = await press(`/machines/${machine}`, { kind: 'clone', name: '' })
  expect([wrong.status, wrong.text.includes('Nothing was changed.')]).toEqual([422, true])
  const long = 'n'.repeat(300)
  const typed = await press(`/machines/${machine}`, { kind: 'snapshot', name: long })
  expect([typed.status, typed.text.includes(`value="${long}"`)]).toEqual([422, true])
  await press(`/machines/${machine}`, { kind: 'snapshot', name: 'before', memory: 'yes' })
  const [row] = await db`select kind, params from operation`
  expect(row).toEqual({ kind: 'snapshot', params: { name: 'before', memory: true, quiesce: false } })
})

test('an operation that gave way and the one that took its place lead to each other', async () => {
  const machine = await add('web-01')
  const older = await ask({ machine, kind: 'restart' })
  const newer = await ask({ machine, kind: 'stop', force: true })
  expect(await see(`/operations/${older}`)).toContain(`href="/operations/${newer}"`)
  const page = await see(`/operations/${newer}`)
  expect(page).toMatch(/It took the place of <a href="\/operations\//)
  expect(page).toContain(`href="/operations/${older}"`)
  const list = await see('/operations')
  expect(list).toContain('<span class="badge is-superseded">superseded</span>')
  const history = (await see(`/machines/${machine}`)).split('id="history"')[1] ?? ''
  expect(history).toContain(`href="/operations/${newer}"`)
})

test('operations are narrowed down by a filter and a target, and a mistake in the filter is shown in it', async () => {
  const [one, two] = [await add('web-01'), await add('web-02')]
  const stop = await ask({ machine: one, kind: 'stop' })
  const start = await ask({ machine: two, kind: 'restart' })
  const shown = async (query: string) => {
    const page = await see(`/operations?${query}`)
    return [stop, start].filter((id) => page.includes(`href="/operations/${id}"`))
  }
  expect(await shown('target=oslo')).toEqual([stop, start])
  expect(await shown('target=nowhere')).toEqual([])
  expect(await shown(`filter=${encodeURIComponent('kind == "stop"')}`)).toEqual([stop])
  expect(await see('/operations?filter=timestamp(started_at)+%3E+timestamp(created_at)')).toContain(
    'The filter could not judge 2 operations',
  )
  const wrong = await see('/operations?filter=kin+%3D%3D+1')
  expect(wrong).toContain('Did you mean kind?')
  expect(wrong).toContain('aria-invalid="true"')
})

test('past its return an operation says so, and offers no cancel', async () => {
  const machine = await add('web-01')
  const id = await ask({ machine, kind: 'migrate' })
  expect(await see('/operations')).toContain(`action="/operations/${id}/cancel"`)
  await db`update operation set past_return = true, state = 'running', progress = 80 where id = ${id}::uuid`
  for (const path of ['/operations', `/operations/${id}`, `/machines/${machine}`]) {
    const page = await see(path)
    expect({ path, said: page.includes('past its return') }).toEqual({ path, said: true })
    expect({ path, offered: page.includes('/cancel"') }).toEqual({ path, offered: false })
    expect(page).toContain('80 %')
  }
  const late = await press(`/operations/${id}/cancel`)
  expect(late.headers.get('location')).toBe(`/operations/${id}?notice=past-return`)
  expect(await see(`/operations/${id}?notice=past-return`)).toContain('only come to its end.</p>')
})

test('who cancels the job of an operation on its page cancels the operation', async () => {
  const id = await ask({ machine: await add('web-01'), kind: 'stop' })
  const read = async () => (await call('GET', `/v1/operations/${id}`)).body as unknown as Operation
  const { job_id: job } = await read()
  const done = await press(`/jobs/${job}/cancel`)
  expect(done.headers.get('location')).toBe(`/jobs/${job}?notice=canceled`)
  expect((await read()).state).toBe('canceled')
  const [told] = await db<{ actor: string }[]>`
    select actor from event where type = 'operation.canceled' and subject_id = ${id}`
  expect(told?.actor).not.toMatch(/conductor|job/)
  const again = await press(`/jobs/${job}/retry`)
  expect(again.headers.get('location')).toBe(`/jobs/${job}?notice=operation-ended`)
})

test('one that waits for a slot says which, how many there are, its place, and who has them', async () => {
  const [first, second] = [await add('web-01'), await add('web-02')]
  const holder = await ask({ machine: first, kind: 'migrate' })
  const waiter = await ask({ machine: second, kind: 'migrate' })
  const token = 'host-move-syncs/node-1'
  await db`
    insert into token_hold (token, job_id, epoch) select ${token}, job_id, 1 from operation where id = ${holder}::uuid`
  await db`
    update job set state = 'waiting', tokens = ${[token]}, wait_reason = 'token', wait_detail = 'No slot is free.',
      wait_signal = 'token', wait_since = now(), wait_until = now() + interval '1 hour'
    where id = (select job_id from operation where id = ${waiter}::uuid)`
  for (const path of ['/operations', `/operations/${waiter}`, `/machines/${second}`]) {
    const page = await see(path)
    expect({ path, token: page.includes(`<code>${token}</code>`) }).toEqual({ path, token: true })
    expect(page).toMatch(/1 of \d+ taken, place 1 of 1 in the line; held by <bdi>web-01<\/bdi>/)
    expect(page).toContain(`href="/operations/${holder}"`)
  }
})

test('many machines are asked only when their number is confirmed, with the way on where some are left', async () => {
  for (const name of ['web-01', 'web-02', 'web-03']) await add(name)
  const path = '/machines/all?kind=stop&meant=all&target=oslo'
  expect(await see(path)).toContain('3 would begin at once')
  expect((await press(path, { count: '3' })).status).toBe(422)
  const other = await press(path, { count: '2', sure: 'yes' })
  expect([other.status, other.text.includes('3 machines fit, and you confirmed 2.')]).toEqual([409, true])
  expect(await operations()).toBe(0)
  let lookedMs = 0
  const clock = { ...systemClock, monotonicMs: () => (lookedMs += 60_000) }
  const first = await press(path, { count: '3', sure: 'yes' }, consoleOver({ clock }))
  expect(first.text).toContain('1 asked.')
  expect(first.text).toContain('Go on with the 2 left')
  const [, cursor = ''] = first.text.match(/name="cursor" value="([^"]+)"/) ?? []
  const rest = await press(path, { count: '2', sure: 'yes', cursor })
  expect(rest.text).toContain('2 asked.')
  expect(await operations()).toBe(3)
})

test('nobody means all machines by saying nothing', async () => {
  await add('web-01')
  for (const path of ['/machines/all?kind=stop', '/machines/all?kind=stop&meant=all'])
    expect((await call('GET', path)).status).toBe(422)
  expect((await call('GET', '/machines/all?kind=clone&meant=all&target=oslo')).status).toBe(422)
})

test('a machine in a migration offers only the stop that gives the migration up', async () => {
  const machine = await add('web-01')
  const before = await see(`/machines/${machine}`)
  expect(before).toContain('value="restart"')
  expect(before).toContain('Not while it is running: start, wake.')
  await startBatch(db, call)
  await db`update machine set entry_id = (select id from entry limit 1) where id = ${machine}::uuid`
  const page = await see(`/machines/${machine}`)
  expect(page).toContain('It belongs to a migration that is not over')
  expect(page).toContain('Stop by force')
  expect(page).not.toContain('value="restart"')
})
