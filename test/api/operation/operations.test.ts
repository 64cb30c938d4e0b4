import { describe, expect, test } from 'vitest'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addSite } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver, type Reply, tester, tokensFor } from '../setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } }))
const get = (path: string) => call('GET', path)
const post = (path: string, json?: unknown, headers: Record<string, string> = {}) =>
  call('POST', path, json === undefined ? { headers } : { json, headers })
const ask = (json: Record<string, unknown>) => post('/v1/operations', json)
const cancel = (id: unknown) => post(`/v1/operations/${String(id)}/:cancel`)
const stateOf = async (id: unknown) => (await get(`/v1/operations/${String(id)}`)).body.state

/** Everything that an admission writes. */
const dump = () => db`
  select o.id::text, o.state, o.reason, o.superseded_by::text, o.settled_at, j.state as job, j.cancel_requested_at,
    (select count(*)::int from event where subject_type in ('operation', 'job')) as events,
    (select count(*)::int from operation_refusal) as refusals
  from operation o full join job j on j.id = o.job_id order by o.id, j.id`

describe('one operation', () => {
  test('is committed, shown, listed, and canceled once', async () => {
    const machine = await addMachine(db, { power: 'on', name: 'web-01' })
    const made = await ask({ machine: 'web-01', kind: 'stop' })
    expect(made.status, made.text).toBe(202)
    expect(made.headers.get('location')).toBe(`/v1/operations/${made.body.id}`)
    expect(made.body).toMatchObject({
      ...{ machine_id: machine, machine: 'web-01', kind: 'stop', force: false, state: 'pending' },
      ...{ cause: 'person', created_by: tester, deadline_seconds: 600, on_conflict: 'supersede' },
    })
    const [job] = await db`select id, payload from job where id = ${String(made.body.job_id)}::uuid`
    expect(job?.payload).toEqual({ operation_id: made.body.id })
    expect((await get(`/v1/operations/${made.body.id}`)).body).toEqual(made.body)
    expect((await get('/v1/operations?machine=web-01')).body.items).toMatchObject([{ id: made.body.id }])
    const canceled = await cancel(made.body.id)
    expect(canceled.status, canceled.text).toBe(202)
    expect(canceled.body).toMatchObject({ state: 'canceled', reason: 'canceled', waits: null })
    expect(canceled.body.settled_at).not.toBeNull()
    const again = await cancel(made.body.id)
    expect([again.status, again.body.code]).toEqual([409, 'operation-ended'])
    expect(again.body.detail).toContain('canceled already')
  })

  test('has the usual times of its kind, or those that were asked for, within bounds', async () => {
    const machine = await addMachine(db, { power: 'on' })
    const usual = (await ask({ machine, kind: 'snapshot' })).body
    expect(usual.deadline_seconds).toBe(7_200)
    const waits = Date.parse(String(usual.expires_at)) - Date.parse(String(usual.created_at))
    expect(waits).toBe(6 * 3_600_000)
    await cancel(usual.id)
    const own = (await ask({ machine, kind: 'snapshot', deadline_seconds: 60, wait_seconds: 5 })).body
    expect(own).toMatchObject({ deadline_seconds: 60, deadline_at: null })
    expect(Date.parse(String(own.expires_at)) - Date.parse(String(own.created_at))).toBe(5_000)
  })

  test('with a key is made once, and another body with that key is refused', async () => {
    const machine = await addMachine(db, { power: 'on' })
    const key = { 'idempotency-key': 'op-1' }
    const body = { machine, kind: 'snapshot', params: { name: 'before' } }
    const [one, two] = [await post('/v1/operations', body, key), await post('/v1/operations', body, key)]
    expect([two.status, two.headers.get('idempotency-replayed')]).toEqual([202, 'true'])
    expect(two.body).toEqual(one.body)
    expect(two.headers.get('location')).toBe(one.headers.get('location'))
    const other = await post('/v1/operations', { ...body, kind: 'stop', params: {} }, key)
    expect([other.status, other.body.code]).toEqual([409, 'idempotency-mismatch'])
    const [row] = await db`select count(*)::int as n from operation where machine_id = ${machine}::uuid`
    expect(row?.n).toBe(1)
    // A refusal is not kept: the same key may try again when the way is free.
    const retry = { 'idempotency-key': 'op-2' }
    expect((await post('/v1/operations', { machine, kind: 'stop' }, retry)).status).toBe(409)
    await cancel(one.body.id)
    expect((await post('/v1/operations', { machine, kind: 'stop' }, retry)).status).toBe(202)
  })
})

const wrong: readonly (readonly [what: string, change: Record<string, unknown>, field: string])[] = [
  ['no machine', { machine: undefined }, 'machine'],
  ['an empty machine', { machine: ' ' }, 'machine'],
  ['no kind', { kind: undefined }, 'kind'],
  ['a kind that is none', { kind: 'destroy' }, 'kind'],
  ['force on a kind that has none', { kind: 'snapshot', force: true }, 'force'],
  ['force that is no flag', { force: 'yes' }, 'force'],
  ['a rule that is none', { on_conflict: 'perhaps' }, 'on_conflict'],
  ['a deadline of nothing', { deadline_seconds: 0 }, 'deadline_seconds'],
  ['a deadline of a year', { deadline_seconds: 31_536_000 }, 'deadline_seconds'],
  ['a wait of nothing', { wait_seconds: 0 }, 'wait_seconds'],
  ['half a second', { wait_seconds: 1.5 }, 'wait_seconds'],
  ['a field that is not known', { soon: true }, 'soon'],
  ['params of another kind', { params: { host: 'node-2' } }, 'params.host'],
  ['params that are no object', { params: [] }, 'params'],
  ['a restore without its snapshot', { kind: 'restore' }, 'params.snapshot'],
  ['a clone without a name', { kind: 'clone', params: { folder: 'a' } }, 'params.name'],
  ['a name that is too long', { kind: 'clone', params: { name: 'x'.repeat(201) } }, 'params.name'],
  ['memory that is no flag', { kind: 'snapshot', params: { memory: 1 } }, 'params.memory'],
  ['an empty host', { kind: 'migrate', params: { host: '' } }, 'params.host'],
]

describe('what is asked', () => {
  test.each(wrong)('with %s is refused, and the field is named', async (_, change, field) => {
    const machine = await addMachine(db, { power: 'on' })
    const { status, body, text } = await ask({ machine, kind: 'stop', ...change })
    expect([status, body.code, body.errors?.[0]?.field], text).toEqual([422, 'validation-failed', field])
    expect(String(body.remedy).length).toBeGreaterThan(10)
  })

  test('tells every field that is wrong for its kind, not the first', async () => {
    const { body } = await ask({ machine: 'x', kind: 'clone', force: true, params: { size: 1 } })
    expect(body.errors.map(({ field }) => field).sort()).toEqual(['force', 'params.name', 'params.size'])
  })

  test('tells a machine that is not there from one that is gone and from one of several', async () => {
    const lima = await addSite(db, 'lima', { role: 'target' })
    const ids = [
      await addMachine(db, { name: 'twin', targetId: lima }),
      await addMachine(db, { name: 'twin' }),
    ]
    const unknown = await ask({ machine: 'nobody', kind: 'stop' })
    expect([unknown.status, unknown.body.code, unknown.body.field]).toEqual([
      404,
      'machine-unknown',
      'machine',
    ])
    const noId = await ask({ machine: '0199c0de-0000-7000-8000-000000000000', kind: 'stop' })
    expect([noId.status, noId.body.code]).toEqual([404, 'machine-unknown'])
    const several = await ask({ machine: 'twin', kind: 'stop' })
    expect([several.status, several.body.code]).toEqual([409, 'machine-ambiguous'])
    for (const id of ids) expect(JSON.stringify(several.body.errors)).toContain(id)
    await db`update machine set gone_at = now() where id = ${ids[0] ?? ''}::uuid`
    expect((await ask({ machine: 'twin', kind: 'stop' })).body.machine_id).toBe(ids[1])
    const gone = await ask({ machine: ids[0], kind: 'stop' })
    expect([gone.status, gone.body.code, gone.body.field]).toEqual([409, 'machine-gone', 'machine'])
    const told = await db`
      select detail from event where type = 'operation.refused' and subject_id = ${ids[0] ?? ''}`
    expect(told).toMatchObject([{ detail: { reason: 'machine-gone', kind: 'stop' } }])
    const operation = await get('/v1/operations/0199c0de-0000-7000-8000-000000000000')
    expect([operation.status, operation.body.code]).toEqual([404, 'operation-absent'])
    expect((await cancel('0199c0de-0000-7000-8000-000000000000')).status).toBe(404)
  })

  // promise: sense-first
  test('is refused with the reason where it makes no sense, and a supersede destroys nothing then', async () => {
    const off = await addMachine(db, { power: 'off' })
    const phase = await ask({ machine: off, kind: 'stop' })
    expect([phase.status, phase.body.code, phase.body.field]).toEqual([409, 'not-for-phase', 'kind'])
    expect(phase.body.detail).toContain('It is stopped.')
    const machine = await addMachine(db, { power: 'on' })
    const older = (await ask({ machine, kind: 'migrate' })).body
    await db`update machine set run_policy = 'always-on' where id = ${machine}::uuid`
    const policy = await ask({ machine, kind: 'stop' })
    expect([policy.status, policy.body.code]).toEqual([409, 'not-for-run-policy'])
    expect(policy.body.detail).toContain('Its run policy is always-on.')
    expect((await get(`/v1/operations/${older.id}`)).body).toMatchObject({
      state: 'pending',
      superseded_by: null,
    })
    const [job] = await db`select state from job where id = ${String(older.job_id)}::uuid`
    expect(job?.state).toBe('ready')
    const told = await db`select detail ->> 'reason' as reason from event where type = 'operation.refused'
      and subject_id in (${off}, ${machine}) order by reason`
    expect(told.map(({ reason }) => reason)).toEqual(['not-for-phase', 'not-for-run-policy'])
  })
})

describe('a dry run', () => {
  const rehearse = (json: Record<string, unknown>) => ask({ ...json, dry_run: true })

  // promise: dry-run
  test('says what would become of it, and changes nothing', async () => {
    const machine = await addMachine(db, { power: 'on', name: 'dry-1' })
    const free = await rehearse({ machine, kind: 'migrate' })
    expect([free.status, free.body]).toEqual([
      200,
      {
        ...{ dry_run: true, machine_id: machine, machine: 'dry-1', admitted: true, state: 'pending' },
        ...{ supersedes: null, cancels_entry: null, before: 0, reason: null, message: null },
        ...{ remedy: null, blocker: null },
      },
    ])
    const older = (await ask({ machine, kind: 'migrate' })).body
    const before = await dump()
    expect((await rehearse({ machine, kind: 'stop' })).body).toMatchObject({
      admitted: true,
      supersedes: older.id,
    })
    expect((await rehearse({ machine, kind: 'clone', params: { name: 'b' } })).body).toMatchObject({
      ...{ admitted: false, state: null, reason: 'blocked', blocker: older.id },
      message: expect.stringContaining(older.id),
      remedy: expect.stringContaining('queue'),
    })
    expect((await rehearse({ machine, kind: 'stop', on_conflict: 'queue' })).body).toMatchObject({
      ...{ admitted: true, state: 'queued', before: 1, supersedes: null },
    })
    expect((await rehearse({ machine, kind: 'wake' })).body).toMatchObject({ admitted: false })
    expect(await dump()).toEqual(before)
  })

  test('is refused for what is wrong with it, as the request itself', async () => {
    expect((await rehearse({ machine: 'nobody', kind: 'stop' })).status).toBe(404)
    expect((await rehearse({ machine: 'nobody', kind: 'start', force: true })).body.field).toBe('force')
  })

  test('that was kept under a key is not what the request does', async () => {
    const machine = await addMachine(db, { power: 'on' })
    const key = { 'idempotency-key': 'dry-key' }
    expect((await post('/v1/operations', { machine, kind: 'stop', dry_run: true }, key)).status).toBe(200)
    const real = await post('/v1/operations', { machine, kind: 'stop' }, key)
    expect([real.status, real.body.code]).toEqual([409, 'idempotency-mismatch'])
  })
})

describe('a cancel', () => {
  test('takes one out of the queue, and lets the next one have its turn', async () => {
    const machine = await addMachine(db, { power: 'on' })
    const first = (await ask({ machine, kind: 'snapshot' })).body
    const second = (await ask({ machine, kind: 'stop', on_conflict: 'queue' })).body
    const third = (await ask({ machine, kind: 'restart', on_conflict: 'queue' })).body
    expect(third).toMatchObject({ position: 2, blocker: first.id })
    expect((await cancel(second.id)).body).toMatchObject({ state: 'canceled', job_id: null })
    expect((await get(`/v1/operations/${third.id}`)).body).toMatchObject({ position: 1, state: 'queued' })
    await cancel(first.id)
    expect(await stateOf(third.id)).toBe('pending')
  })

  test('of one that runs ends it, and calls off what it has begun', async () => {
    const machine = await addMachine(db, { power: 'on' })
    const { id, job_id: jobId } = (await ask({ machine, kind: 'restart' })).body
    await db`update operation set state = 'running', started_at = now() where id = ${id}::uuid`
    await db`update job set state = 'running', lease_until = now() + interval '1 hour' where id = ${String(jobId)}::uuid`
    expect((await cancel(id)).body).toMatchObject({ state: 'canceled', settled_at: null })
    const [job] = await db`select state, cancel_requested_by as by from job where id = ${String(jobId)}::uuid`
    expect(job).toEqual({ state: 'running', by: tester })
  })

  test('of what an evacuation would have back is that it stays down', async () => {
    const machine = await addMachine(db, { power: 'on' })
    const { id } = (await ask({ machine, kind: 'evict' })).body
    await ask({ machine, kind: 'stop' })
    await db`update operation set cause = 'evacuation', stands_down = true, come_back_at = now() - interval '1 second' where id = ${id}::uuid`
    const waiting = (await get(`/v1/operations/${id}`)).body
    expect(waiting).toMatchObject({
      state: 'superseded',
      cause: 'evacuation',
      comes_back_at: expect.any(String),
      comes_back_until: new Date(Date.parse(String(waiting.finished_at)) + 7 * 86_400_000).toISOString(),
    })
    expect((await cancel(id)).body).toMatchObject({
      state: 'superseded',
      comes_back_at: null,
      comes_back_until: null,
    })
    expect((await cancel(id)).status).toBe(409)
  })

  test('is refused past its return, and says why', async () => {
    const machine = await addMachine(db, { power: 'on' })
    const { id } = (await ask({ machine, kind: 'migrate' })).body
    await db`update operation set state = 'running', started_at = now(), past_return = true where id = ${id}::uuid`
    const refused = await cancel(id)
    expect([refused.status, refused.body.code]).toEqual([409, 'past-return'])
    expect(refused.body.detail).toContain('only its end is left')
    const told = await db`
      select actor, detail ->> 'reason' as reason from event where type = 'operation.cancel-refused' and subject_id = ${id}`
    expect(told).toEqual([{ actor: tester, reason: 'past-return' }])
    expect((await get(`/v1/operations/${id}`)).body).toMatchObject({ state: 'running', past_return: true })
    const newer = await ask({ machine, kind: 'stop' })
    expect([newer.status, newer.body.code, newer.body.blocker]).toEqual([409, 'past-return', id])
  })
})

describe('the list', () => {
  const ids = ({ body }: Reply) => body.items.map(({ id }) => id)

  test('is filtered by machine, kind, state, reason, cause and time, and comes in pages', async () => {
    const machine = await addMachine(db, { power: 'on', name: 'listed' })
    const one = (await ask({ machine, kind: 'snapshot' })).body
    await cancel(one.id)
    const two = (await ask({ machine, kind: 'stop' })).body
    const three = (await ask({ machine, kind: 'clone', params: { name: 'c' }, on_conflict: 'queue' })).body
    const list = (query: string) => get(`/v1/operations?machine=${machine}&${query}`)
    expect(ids(await list(''))).toEqual([three.id, two.id, one.id])
    expect(ids(await get('/v1/operations?machine=listed&kind=stop,clone'))).toEqual([three.id, two.id])
    expect(ids(await list('state=queued,pending'))).toEqual([three.id, two.id])
    expect(ids(await list('state=canceled'))).toEqual([one.id])
    expect(ids(await list('reason=queued'))).toEqual([three.id])
    expect(ids(await list('reason=no-worker'))).toEqual([two.id])
    expect(ids(await list('cause=evacuation'))).toEqual([])
    expect(ids(await list('cause=person'))).toHaveLength(3)
    expect(ids(await list(`since=${new Date(Date.now() + 60_000).toISOString()}`))).toEqual([])
    expect(ids(await list('since=2020-01-01T00:00:00Z'))).toHaveLength(3)
    const page = await list('limit=2')
    expect(ids(page)).toEqual([three.id, two.id])
    expect(ids(await list(`limit=2&cursor=${page.body.next_cursor}`))).toEqual([one.id])
    for (const query of ['kind=fly', 'state=done', 'reason=because', 'since=yesterday', 'view=all'])
      expect((await list(query)).status, query).toBe(422)
  })
})

test('a refusal that cannot be written down is answered all the same', async () => {
  const machine = await addMachine(db, { power: 'off' })
  await db`alter table operation_refusal rename to operation_refusal_away`
  try {
    const refused = await ask({ machine, kind: 'stop' })
    expect([refused.status, refused.body.code]).toEqual([409, 'not-for-phase'])
  } finally {
    await db`alter table operation_refusal_away rename to operation_refusal`
  }
})

test('a viewer reads, an operator asks and cancels', async () => {
  await addMachine(db, { power: 'on', name: 'roles-1' })
  const { viewer, operator } = await tokensFor(db)
  const json = { machine: 'roles-1', kind: 'stop' }
  const as = (role: string, method: string, path: string, body?: object) =>
    call(method, path, { as: role, ...(body ? { json: body } : {}) })
  expect((await as(viewer, 'POST', '/v1/operations', json)).status).toBe(403)
  expect((await as(viewer, 'POST', '/v1/operations', { ...json, dry_run: true })).status).toBe(403)
  expect((await as(viewer, 'POST', '/v1/operations/:bulk', { kind: 'stop', all: true })).status).toBe(403)
  const made = await as(operator, 'POST', '/v1/operations', json)
  expect(made.status).toBe(202)
  expect((await as(viewer, 'GET', `/v1/operations/${made.body.id}`)).status).toBe(200)
  expect((await as(viewer, 'GET', '/v1/operations/matrix')).status).toBe(200)
  expect((await as(viewer, 'POST', `/v1/operations/${made.body.id}/:cancel`)).status).toBe(403)
  expect((await as(operator, 'POST', `/v1/operations/${made.body.id}/:cancel`)).status).toBe(202)
})
