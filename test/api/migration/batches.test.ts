import { beforeEach, describe, expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { addFinding, addInstance, addSite, eventTypes } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver, tokensFor } from '../setup.ts'
import {
  addFleet,
  defineBatch,
  emptyMigration,
  moveRow,
  named,
  runJobs,
  settingsOf,
  startBatch,
} from './batch-rows.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))
const get = (path: string) => call('GET', path)
const post = (path: string, json?: unknown) => call('POST', path, json === undefined ? {} : { json })
const put = async (changes: Record<string, unknown>, ifMatch = '*') =>
  call('PUT', '/v1/batches/wave-1', { json: settingsOf(changes), headers: { 'if-match': ifMatch } })

beforeEach(() => emptyMigration(db))

const inAnHour = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
const window = (name: string, from: number, to: number, more = {}) => ({
  name,
  start: inAnHour(from),
  end: inAnHour(to),
  ...more,
})

describe('a batch', () => {
  test('is defined with its search, shown, listed, changed and removed, and tells of it', async () => {
    await addFleet(db, ['web-1', 'web-2', 'db-1'])
    const made = await defineBatch(db, call, {
      config: { sync_limit: 3 },
      migration_windows: [window('night', 1, 2, { capacity: 4 })],
    })
    expect([made.status, made.headers.get('location')]).toEqual([201, '/v1/batches/wave-1'])
    const shown = await get('/v1/batches/wave-1')
    expect(shown.body).toMatchObject({
      name: 'wave-1',
      state: 'defined',
      matched: 2,
      entries: {},
      target: 'oslo',
      defaults: { placement: { target: 'oslo', target_project: 'default', storage_pool: 'default' } },
      config: { sync_limit: 3, background_sync_interval: '10m' },
      migration_windows: [{ name: 'night', capacity: 4, held: 0 }],
      approval: null,
    })
    expect((await get('/v1/batches')).body.items).toMatchObject([{ name: 'wave-1', state: 'defined' }])
    expect((await get('/v1/batches?state=running')).body.items).toEqual([])
    expect(await limitOf()).toBe(3)

    const tag = shown.headers.get('etag') ?? ''
    const changed = await put({ include_expression: 'true', config: { sync_limit: 0 } }, tag)
    expect([changed.status, changed.body.include_expression]).toEqual([200, 'true'])
    expect(await limitOf()).toBeUndefined()
    await runJobs(db, 'start-batch')
    expect((await get('/v1/batches/wave-1')).body.matched).toBe(3)
    expect((await put({}, tag)).status).toBe(412)
    const bare = await call('PUT', '/v1/batches/wave-1', { json: settingsOf() })
    expect([bare.status, bare.body.code]).toEqual([428, 'if-match-required'])

    const gone = await call('DELETE', '/v1/batches/wave-1', { headers: { 'if-match': '*' } })
    expect(gone.status).toBe(204)
    expect((await get('/v1/batches/wave-1')).status).toBe(404)
    const told = (await eventTypes(db)).filter((type) => type.startsWith('batch.'))
    expect(told).toEqual(['batch.created', 'batch.changed', 'batch.deleted'])
    const rows = await db<{ left: number }[]>`
      select (select count(*) from batch_window) + (select count(*) from batch_instance) as left`
    expect(Number(rows[0]?.left)).toBe(0)
  })

  const limitOf = async (): Promise<number | undefined> =>
    (await db<{ capacity: number }[]>`select capacity from admission_limit where name = 'batch/wave-1'`)[0]
      ?.capacity

  test('can be renamed before it starts; its limit goes with the name', async () => {
    await addFleet(db, ['web-1'])
    await defineBatch(db, call, { config: { sync_limit: 2 } })
    expect((await put({ name: 'first', config: { sync_limit: 2 } })).body.name).toBe('first')
    const limits = await db<{ name: string }[]>`select name from admission_limit`
    expect(limits.map(({ name }) => name)).toEqual(['batch/first'])
  })

  test('is made once for one key, and its name is its own', async () => {
    await addFleet(db, ['web-1'])
    const ask = { json: settingsOf(), headers: { 'idempotency-key': 'one' } }
    const [first, again] = [await call('POST', '/v1/batches', ask), await call('POST', '/v1/batches', ask)]
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    const taken = await post('/v1/batches', settingsOf())
    expect([taken.status, taken.body.code]).toEqual([409, 'name-taken'])
    expect((await db`select 1 from job where kind = 'start-batch'`).length).toBe(1)
  })

  test('needs an operator to be made', async () => {
    const { viewer, operator } = await tokensFor(db)
    await addFleet(db, ['web-1'])
    expect((await call('POST', '/v1/batches', { json: settingsOf(), as: viewer })).status).toBe(403)
    expect((await call('POST', '/v1/batches', { json: settingsOf(), as: operator })).status).toBe(201)
    expect((await call('POST', '/v1/batches/wave-1/:start', { as: viewer })).status).toBe(403)
  })
})

describe('what is wrong with a batch', () => {
  beforeEach(() => addFleet(db, ['web-1']))

  const errorsOf = async (changes: Record<string, unknown>) => {
    const { status, body } = await post('/v1/batches', settingsOf(changes))
    return { status, code: body.code, fields: body.errors?.map(({ field }) => field), body }
  }

  test('in its expression is shown with a caret', async () => {
    const { status, code, body } = await errorsOf({ include_expression: 'nam == "web"' })
    expect([status, code, body.field]).toEqual([422, 'filter-invalid', 'include_expression'])
    expect(body.detail).toContain('\nnam == "web"\n^')
  })

  test('in the expression of each constraint and probe is said of that one', async () => {
    const wrong = 'cpus >'
    const { code, fields } = await errorsOf({
      constraints: [
        { name: 'fine', include_expression: 'true' },
        { name: 'bad', include_expression: wrong },
      ],
      probes: [{ name: 'ssh', ports: [22], include_expression: 'nobody == 1' }],
    })
    expect(code).toBe('filter-invalid')
    expect(fields).toEqual(['constraints.1.include_expression', 'probes.0.include_expression'])
  })

  test.each([
    [{ defaults: { placement: { target: 'nowhere' } } }, ['defaults.placement.target']],
    [
      {
        defaults: {
          placement: { target: 'oslo' },
          migration_network: [{ network: 'lan', target: 'nowhere' }],
        },
      },
      ['defaults.migration_network.0.target'],
    ],
    [
      { config: { background_sync_interval: '1m', final_background_sync_limit: '2m' } },
      ['config.final_background_sync_limit'],
    ],
    [{ config: { sync_limit: -1, surprise: 1 } }, ['config.sync_limit', 'config.surprise']],
    [{ include_expression: '' }, ['include_expression']],
    [
      { migration_windows: [window('one', 1, 3), window('two', 2, 4), window('one', 5, 6)] },
      ['migration_windows.2.name', 'migration_windows.1.start'],
    ],
    [
      { migration_windows: [window('late', 3, 2), window('old', -3, -2)] },
      ['migration_windows.0.end', 'migration_windows.1.end'],
    ],
    [{ migration_windows: [window('w', 1, 2, { lockout: inAnHour(3) })] }, ['migration_windows.0.lockout']],
  ])('is said field by field: %j', async (changes, fields) => {
    const said = await errorsOf(changes)
    expect([said.status, said.code]).toEqual([422, 'validation-failed'])
    expect(said.fields).toEqual(fields)
    expect((await db`select 1 from batch`).length).toBe(0)
  })

  test('in its placement script is found before it is stored', async () => {
    const { status, code, body } = await errorsOf({
      config: { placement_scriptlet: 'function placement(instance, batch) {\n  let = }' },
    })
    expect([status, code, body.field]).toEqual([
      422,
      'placement-script-invalid',
      'config.placement_scriptlet',
    ])
    expect(body.detail).toContain('line 2')
    const fine = await post(
      '/v1/batches',
      settingsOf({ config: { placement_scriptlet: 'function placement(instance, batch) {}' } }),
    )
    expect(fine.status).toBe(201)
  })
})

describe('start, stop and reset', () => {
  test('make entries, let go and take them away', async () => {
    const ids = await addFleet(db, ['web-1', 'web-2', 'db-1'])
    const started = await startBatch(db, call)
    expect([started.status, (started.body.batch as { state: string }).state]).toEqual([202, 'running'])
    expect(started.headers.get('location')).toBe(`/v1/jobs/${String(started.body.job_id)}`)
    const queue = (await get('/v1/queue?batch=wave-1')).body.items
    expect(queue.map(({ name, state, instance_id }) => [name, state, instance_id])).toEqual([
      ['web-1', 'waiting', ids['web-1']],
      ['web-2', 'waiting', ids['web-2']],
    ])
    const again = await post('/v1/batches/wave-1/:start')
    expect([again.status, again.body.code]).toEqual([409, 'batch-not-from-here'])

    const stopped = await post('/v1/batches/wave-1/:stop')
    expect([stopped.status, stopped.body.state]).toEqual([200, 'stopped'])
    expect((await db`select 1 from pause where name = 'batch/wave-1'`).length).toBe(1)
    const resumed = await call('DELETE', '/v1/pauses/lane/batch%2Fwave-1')
    expect([resumed.status, resumed.body.code]).toEqual([409, 'batch-stopped'])
    expect((await db`select 1 from pause where name = 'batch/wave-1'`).length).toBe(1)
    expect((await post('/v1/batches/wave-1/:start')).status).toBe(202)
    expect((await db`select 1 from pause`).length).toBe(0)

    const reset = await post('/v1/batches/wave-1/:reset')
    expect([reset.status, reset.body.entries]).toEqual([202, 2])
    const busy = await call('DELETE', '/v1/batches/wave-1', { headers: { 'if-match': '*' } })
    expect([busy.status, busy.body.code]).toEqual([409, 'batch-in-use'])
    expect((await put({ name: 'other' })).body.errors.map(({ field }) => field)).toEqual(['name'])
  })

  test('refuse what is not there, empty, over, or not approved', async () => {
    await addFleet(db, ['db-1'])
    expect((await post('/v1/batches/none/:start')).body.code).toBe('batch-unknown')
    expect((await post('/v1/batches/none/:stop')).status).toBe(404)
    await defineBatch(db, call)
    expect((await post('/v1/batches/wave-1/:start')).body).toMatchObject({ code: 'batch-empty' })
    expect((await post('/v1/batches/wave-1/:stop')).body.code).toBe('batch-not-from-here')
    await put({ include_expression: 'true', require_approval: true })
    await runJobs(db, 'start-batch')
    const unapproved = await post('/v1/batches/wave-1/:start')
    expect([unapproved.status, unapproved.body.code]).toEqual([409, 'batch-not-approved'])
    await put({ include_expression: 'true', migration_windows: [window('night', 1, 2)] })
    await db`update batch_window set starts_at = now() - interval '2 hours', ends_at = now() - interval '1 hour'`
    expect((await post('/v1/batches/wave-1/:start')).body.code).toBe('batch-windows-over')
  })

  test('reset needs force while a source is off for the cutover', async () => {
    await addFleet(db, ['web-1'])
    await startBatch(db, call)
    const [entry] = (await get('/v1/queue')).body.items
    await moveRow(db, String(entry?.id), { state: 'post-import', stage: 'complete', stopped: true })
    const refused = await post('/v1/batches/wave-1/:reset', { force: false })
    expect([refused.status, refused.body.code]).toEqual([409, 'batch-committed'])
    expect(refused.body.detail).toContain('web-1')
    expect((await post('/v1/batches/wave-1/:reset?force=true')).status).toBe(202)
    const [row] = await db<{ intent: unknown }[]>`select intent from entry`
    expect(row?.intent).toEqual({ verb: 'reset', force: true })
  })

  test('start anew gives an instance that no longer matches to a person', async () => {
    const ids = await addFleet(db, ['web-1', 'web-2'])
    await defineBatch(db, call)
    await db`update instance set name = 'old', facts = facts || '{"name": "old"}' where id = ${ids['web-1'] ?? ''}`
    await post('/v1/batches/wave-1/:start')
    await runJobs(db, 'start-batch')
    const states = (await get('/v1/queue')).body.items.map(({ name, state, reason }) => [name, state, reason])
    expect(states).toContainEqual(['old', 'conflict', 'no-longer-matches'])
  })
})

describe('a change while it runs', () => {
  const start = async (changes: Record<string, unknown> = {}) => {
    await addFleet(db, ['web-1', 'web-2'])
    await startBatch(db, call, changes)
    return (await get('/v1/queue')).body.items
  }
  const refusal = async (changes: Record<string, unknown>) => {
    const { status, body } = await put(changes)
    return [status, body.errors?.map(({ field }) => field)]
  }

  test('leaves what the start has decided', async () => {
    await start()
    await addSite(db, 'rome', { role: 'target' })
    expect(
      await refusal({
        name: 'other',
        include_expression: 'true',
        defaults: {
          placement: { target: 'rome', target_project: 'p', storage_pool: 's' },
          migration_network: [{ network: 'lan', target: 'rome' }],
        },
      }),
    ).toEqual([
      422,
      [
        'name',
        'include_expression',
        'defaults.placement.target',
        'defaults.placement.target_project',
        'defaults.placement.storage_pool',
        'defaults.migration_network',
      ],
    ])
    expect((await put({ name: 'other' })).body.detail).toContain('Reset the batch to change it')
    expect((await put({ config: { background_sync_interval: '20m' } })).status).toBe(200)
  })

  test('of the script waits until nobody is being placed by it', async () => {
    const [one, two] = await start()
    const script = { config: { placement_scriptlet: 'function placement(instance, batch) {}' } }
    expect(await refusal(script)).toEqual([422, ['config.placement_scriptlet']])
    await moveRow(db, String(one?.id), { state: 'idle', stage: 'final' })
    await moveRow(db, String(two?.id), { state: 'blocked' })
    expect(await refusal(script)).toEqual([422, ['config.placement_scriptlet']])
    const failure = { code: 'placement-impossible', class: 'conflict', message: 'No.', remedy: 'Mend it.' }
    await db`update entry set reason = ${failure.code}, error = ${JSON.stringify(failure)}::text::jsonb
      where id = ${String(two?.id)}`
    expect((await put(script)).status).toBe(200)
  })

  test('of a constraint waits for the instances it matches that are switched off', async () => {
    const constraint = (name: string, expression: string, more = {}) => ({
      name,
      include_expression: expression,
      ...more,
    })
    const both = [constraint('some', 'name == "web-1"'), constraint('rest', 'name == "web-2"')]
    const [one] = await start({ constraints: both })
    await moveRow(db, String(one?.id), { state: 'final-import', stage: 'final', stopped: true })
    const [some = {}, rest = {}] = both
    const wider = { ...some, max_concurrent_instances: 9 }
    expect(await refusal({ constraints: [wider, rest] })).toEqual([422, ['constraints.0']])
    expect(await refusal({ constraints: [rest] })).toEqual([422, ['constraints']])
    expect((await put({ constraints: [some, { ...rest, max_concurrent_instances: 1 }] })).status).toBe(200)
  })

  test('never takes a window away that entries hold', async () => {
    const [one] = await start({ migration_windows: [window('night', 1, 3, { capacity: 2 })] })
    await moveRow(db, String(one?.id), { state: 'final-import', windowName: 'night', stopped: true })
    const [night] = await db<{ startsAt: Date; endsAt: Date }[]>`select starts_at, ends_at from batch_window`
    const held = {
      name: 'night',
      start: night?.startsAt.toISOString(),
      end: night?.endsAt.toISOString(),
      capacity: 2,
    }
    expect((await get('/v1/batches/wave-1')).body.migration_windows).toMatchObject([{ held: 1 }])
    expect(await refusal({ migration_windows: [] })).toEqual([422, ['migration_windows']])
    expect(await refusal({ migration_windows: [{ ...held, capacity: 1 }] })).toEqual([
      422,
      ['migration_windows.0.capacity'],
    ])
    const more = [{ ...held, capacity: 5 }, window('later', 5, 6)]
    expect((await put({ migration_windows: more })).status).toBe(200)
    const [kept] = await db<
      { windowId: string | null }[]
    >`select window_id from entry where id = ${String(one?.id)}`
    const [same] = await db<{ id: string }[]>`select id from batch_window where name = 'night'`
    expect(kept?.windowId).toBe(same?.id)
  })
})

test('the instances of a batch are told apart, with every reason', async () => {
  const ids = await addFleet(db, ['web-1', 'web-2', 'web-3', 'db-1'])
  const paris = (await db<{ id: string }[]>`select id from site where name = 'paris'`)[0]?.id ?? ''
  await addInstance(db, paris, { facts: named('web-9'), ignored: 'template' })
  await addFinding(db, { instanceId: ids['web-3'] ?? '', rule: 'disabled', severity: 'critical' })
  await startBatch(db, call, { name: 'other', include_expression: 'name == "web-2"' })
  await defineBatch(db, call)
  const path = '/v1/batches/wave-1/instances'
  const standingsOf = async () =>
    (await get(path)).body.items.map(({ name, standing, reasons }) => [
      name,
      standing,
      (reasons as unknown as { code: string }[]).map(({ code }) => code),
    ])
  expect(await standingsOf()).toEqual([
    ['web-1', 'matched', []],
    ['web-2', 'excluded', ['in-other-batch']],
    ['web-3', 'blocked', ['disabled']],
    ['db-1', 'excluded', ['no-match']],
    ['web-9', 'excluded', ['instance-ignored']],
  ])
  // Those that belonged to it when it was saved get an entry at its start, whatever has become of them.
  const set = (facts: Record<string, unknown>, name: string) => db`
    update instance set facts = facts || ${JSON.stringify(facts)}::text::jsonb where facts ->> 'name' = ${name}`
  await set({ name: 'wob-1' }, 'web-1')
  await db`update instance set ignored = 'template' where facts ->> 'name' = 'web-3'`
  expect((await standingsOf()).filter(([name]) => name === 'wob-1' || name === 'web-3')).toEqual([
    ['wob-1', 'conflict', ['no-longer-matches']],
    ['web-3', 'blocked', ['instance-ignored', 'disabled']],
  ])
  await db`update instance set ignored = null, gone_at = now() where facts ->> 'name' = 'web-3'`
  expect((await standingsOf()).find(([name]) => name === 'web-3')).toEqual([
    'web-3',
    'blocked',
    ['instance-gone', 'disabled'],
  ])
  expect((await get(`${path}?standing=conflict`)).body.items.map(({ name }) => name)).toEqual(['wob-1'])
  const first = await get(`${path}?standing=excluded&limit=2`)
  const second = await get(`${path}?standing=excluded&limit=2&cursor=${first.body.next_cursor}`)
  expect([...first.body.items, ...second.body.items].map(({ name }) => name)).toEqual([
    'web-2',
    'db-1',
    'web-9',
  ])
  expect((await get('/v1/batches/none/instances')).status).toBe(404)
})
