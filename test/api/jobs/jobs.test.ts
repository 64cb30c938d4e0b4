import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { beatWorker } from '../../../db/queries/fleet/workers.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver, selfTestJob, tester } from '../setup.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))

beforeEach(async () => {
  await db`truncate job, job_search, event, effect, worker, pause, token_hold, admission_limit`
})

const create = async (change: Record<string, unknown> = {}): Promise<string> => {
  const made = await call('POST', '/v1/jobs', { json: { ...selfTestJob, ...change } })
  expect(made.status, made.text).toBe(202)
  return made.body.id
}

const waitOf = async (id: string) => (await call('GET', `/v1/jobs/${id}`)).body.wait

const startWorker = (kinds: Record<string, number>) =>
  beatWorker(
    db,
    {
      id: uuidv7(),
      role: 'worker',
      host: 'here',
      pid: 1,
      version: '0.1.0',
      kinds,
      slots: { 'self-test': 4 },
    },
    'active',
  )

test('a job is accepted with 202 and its place, and is shown in full', async () => {
  const made = await call('POST', '/v1/jobs', { json: { ...selfTestJob, priority: 5 } })
  expect(made.status).toBe(202)
  expect(made.body).toMatchObject({ kind: 'self-test', state: 'ready', existing: false })
  expect(made.headers.get('location')).toBe(`/v1/jobs/${made.body.id}`)
  const shown = await call('GET', `/v1/jobs/${made.body.id}`)
  expect(shown.status).toBe(200)
  expect(shown.body).toMatchObject({
    id: made.body.id,
    subject: { type: 'self-test', id: 'one' },
    priority: 5,
    lane: 'default',
    created_by: tester,
    payload: { outcome: 'succeed', steps: 0 },
    cancel: null,
    effects: { open: 0, debts: 0 },
  })
  expect(shown.text).not.toContain('idempotency')
})

test('a payload that does not fit its kind is refused with every field', async () => {
  const refused = await call('POST', '/v1/jobs', {
    json: { ...selfTestJob, payload: { steps: -1, step_ms: 'fast', colour: 'red' } },
  })
  expect(refused.status).toBe(422)
  expect(refused.body.code).toBe('payload-invalid')
  expect(refused.body.errors.map((error) => error.field).sort()).toEqual([
    'payload.colour',
    'payload.step_ms',
    'payload.steps',
  ])
})

test('a payload over its limit is 413', async () => {
  const json = { ...selfTestJob, payload: { note: 'x'.repeat(70_000) } }
  const refused = await call('POST', '/v1/jobs', { json })
  expect([refused.status, refused.body.code]).toEqual([413, 'payload-too-large'])
})

test('a job of a kind that only another version knows is shown, waits for its worker, and can be cancelled', async () => {
  const id = await create()
  await db`update job set kind = 'swap-template' where id = ${id}::uuid`
  expect((await call('GET', `/v1/jobs/${id}`)).body.kind).toBe('swap-template')
  expect(await waitOf(id)).toMatchObject({ reason: 'no-worker' })
  expect((await call('POST', `/v1/jobs/${id}/:cancel`)).body).toMatchObject({ state: 'canceled' })
})

test('an unknown kind and an unknown admission token are refused by name', async () => {
  const kind = await call('POST', '/v1/jobs', { json: { ...selfTestJob, kind: 'make-coffee' } })
  expect([kind.status, kind.body.code, kind.body.field]).toEqual([422, 'kind-unknown', 'kind'])
  const token = await call('POST', '/v1/jobs', { json: { ...selfTestJob, tokens: ['coffee/1'] } })
  expect([token.status, token.body.code, token.body.field]).toEqual([422, 'token-invalid', 'tokens'])
})

test('a ready job without a worker says so, and with one too old that it is too old', async () => {
  const id = await create()
  expect(await waitOf(id)).toMatchObject({ reason: 'no-worker', ends_when: 'A worker starts.' })
  await db`update job set payload_version = 2 where id = ${id}::uuid`
  await startWorker({ 'self-test': 1 })
  expect(await waitOf(id)).toMatchObject({ reason: 'workers-too-old' })
})

test('a ready job with a worker waits for a slot', async () => {
  await startWorker({ 'self-test': 1 })
  const wait = await waitOf(await create())
  expect(wait).toMatchObject({ reason: 'worker-slot' })
  expect(wait.detail).toContain('4 slots')
})

test('a job before its time says when it is due', async () => {
  await startWorker({ 'self-test': 1 })
  const id = await create({ run_after_ms: 3_600_000 })
  const { body } = await call('GET', `/v1/jobs/${id}`)
  expect(body.wait).toMatchObject({ reason: 'not-due', until: body.run_after })
})

test.each(['kind', 'lane'] as const)('a paused %s is named with who paused it and why', async (scope) => {
  const id = await create({ lane: 'batch/wave-1' })
  const name = scope === 'kind' ? 'self-test' : 'batch/wave-1'
  const paused = await call('POST', '/v1/pauses', { json: { scope, name, reason: 'upgrade' } })
  expect(paused.body).toMatchObject({ scope, name, running: 0, paused_by: tester })
  expect(await waitOf(id)).toMatchObject({
    reason: `${scope}-paused`,
    detail: expect.stringContaining('upgrade'),
  })
  const gone = await call('DELETE', `/v1/pauses/${scope}/${encodeURIComponent(name)}`)
  expect(gone.status).toBe(204)
  expect((await waitOf(id)).reason).toBe('no-worker')
  expect((await call('DELETE', `/v1/pauses/${scope}/${encodeURIComponent(name)}`)).status).toBe(404)
})

test('a kind that does not exist cannot be paused', async () => {
  const refused = await call('POST', '/v1/pauses', { json: { scope: 'kind', name: 'nope', reason: 'x' } })
  expect([refused.status, refused.body.field]).toEqual([422, 'name'])
})

// promise: wait-reason
test('a job that waits for a token sees its holders and its place in the line', async () => {
  const token = 'target-imports/lab'
  const [holder, first, second] = [
    await create(),
    await create({ tokens: [token], priority: 9 }),
    await create({ tokens: [token] }),
  ]
  await db`insert into token_hold (token, job_id, epoch) values (${token}, ${holder}::uuid, 1)`
  await db`update job set state = 'waiting', wait_reason = 'token', wait_signal = 'token', wait_since = now(),
    wait_until = now() + interval '1 hour' where id in (${first}::uuid, ${second}::uuid)`
  expect(await waitOf(second)).toMatchObject({
    reason: 'token',
    tokens: [{ token, holders: [holder], holds: 1, waiters: 2, position: 2 }],
  })
  const limit = await call('GET', `/v1/limits/${encodeURIComponent(token)}`)
  expect(limit.body).toMatchObject({ capacity: 8, origin: 'default', holds: 1, waiters: 2 })
  expect(limit.body.line).toMatchObject([{ job_id: first }, { job_id: second }])
  expect(limit.body.holders).toMatchObject([{ job_id: holder }])
})

test('a list is filtered by state, kind, lane, subject and time', async () => {
  const one = await create({ lane: 'batch/a' })
  const two = await create({ lane: 'batch/b', subject: { type: 'batch', id: 'wave/1' } })
  const ids = async (query: string) => {
    const { body, status, text } = await call('GET', `/v1/jobs?${query}`)
    expect(status, text).toBe(200)
    return body.items.map((job) => job.id)
  }
  expect(await ids('')).toEqual([two, one])
  expect(await ids('lane=batch/a')).toEqual([one])
  expect(await ids('subject=batch/wave%2F1')).toEqual([two])
  expect(await ids('kind=plan-batch')).toEqual([])
  for (const state of ['running', 'waiting', 'succeeded', 'failed', 'canceled'])
    expect(await ids(`state=${state}`)).toEqual([])
  expect(await ids('state=ready&kind=self-test')).toEqual([two, one])
  expect(await ids('created_after=2026-01-01T00:00:00Z')).toHaveLength(2)
  expect(await ids('created_after=2999-01-01T00:00:00Z')).toEqual([])
  expect(await ids('created_before=2026-01-01T00:00:00Z')).toEqual([])
})

test('pages neither repeat nor miss a job while new ones are added', async () => {
  const made: string[] = []
  for (let at = 0; at < 7; at += 1) made.push(await create())
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body } = await call('GET', `/v1/jobs?limit=3${cursor && `&cursor=${cursor}`}`)
    seen.push(...body.items.map((job) => job.id))
    cursor = body.next_cursor
    await create()
  }
  expect(seen).toEqual(made.reverse())
})

test.each(['nonsense', 'am9icyAuLi8uLg', 'ZWZmZWN0cyAwMTk5YzBkZS0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDA'])(
  'a cursor that is not of this list is refused: %s',
  async (cursor) => {
    const refused = await call('GET', `/v1/jobs?cursor=${cursor}`)
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([422, 'cursor-invalid', 'cursor'])
  },
)

test.each(['limit=0', 'limit=201', 'limit=ten', 'state=asleep', 'subject=x', 'created_after=yesterday'])(
  'a query that is not valid is refused: %s',
  async (query) => {
    const refused = await call('GET', `/v1/jobs?${query}`)
    expect([refused.status, refused.body.code]).toEqual([422, 'validation-failed'])
    expect(refused.body.errors[0]?.field).toBe(query.split('=')[0])
  },
)

test('an idle job is canceled at once, and run again as a new generation', async () => {
  const id = await create()
  const early = await call('POST', `/v1/jobs/${id}/:retry`)
  expect([early.status, early.body.code]).toEqual([409, 'job-not-ended'])
  const canceled = await call('POST', `/v1/jobs/${id}/:cancel`, { json: { reason: 'not needed' } })
  expect([canceled.status, canceled.body.outcome, canceled.body.state]).toEqual([202, 'canceled', 'canceled'])
  const again = await call('POST', `/v1/jobs/${id}/:cancel`)
  expect([again.status, again.body.code]).toEqual([409, 'job-ended'])
  const retried = await call('POST', `/v1/jobs/${id}/:retry`)
  expect([retried.status, retried.body.generation]).toEqual([202, 2])
  const events = await call('GET', `/v1/jobs/${id}/events`)
  expect(events.body.items.map((event) => event.type)).toEqual([
    'job.created',
    'job.canceled',
    'job.redriven',
  ])
  expect(events.body.items[1]).toMatchObject({
    actor: tester,
    reason: 'not needed',
    from: 'ready',
    to: 'canceled',
  })
})

test('a succeeded job is not run again', async () => {
  const id = await create()
  await db`update job set state = 'succeeded', finished_at = now() where id = ${id}::uuid`
  const refused = await call('POST', `/v1/jobs/${id}/:retry`)
  expect([refused.status, refused.body.code]).toEqual([409, 'job-succeeded'])
})

test('events of a job come in pages', async () => {
  const id = await create()
  await call('POST', `/v1/jobs/${id}/:cancel`)
  await call('POST', `/v1/jobs/${id}/:retry`)
  const first = await call('GET', `/v1/jobs/${id}/events?limit=2`)
  const second = await call('GET', `/v1/jobs/${id}/events?limit=2&cursor=${first.body.next_cursor}`)
  expect(second.body.items.map((event) => event.type)).toEqual(['job.redriven'])
  expect(second.body.next_cursor).toBeNull()
})

test.each(['', '/events', '/effects'])('a job that is not there is 404: /v1/jobs/{id}%s', async (rest) => {
  const id = uuidv7()
  const missing = await call('GET', `/v1/jobs/${id}${rest}`)
  expect([missing.status, missing.body.code]).toEqual([404, 'not-found'])
  const wrong = await call('GET', `/v1/jobs/nonsense${rest}`)
  expect([wrong.status, wrong.body.field]).toEqual([422, 'id'])
})

test.each([':retry', ':cancel'])('a verb on a job that is not there is 404: %s', async (verb) => {
  const missing = await call('POST', `/v1/jobs/${uuidv7()}/${verb}`)
  expect([missing.status, missing.body.code]).toEqual([404, 'not-found'])
})

test('a verb that does not exist is no verb that does', async () => {
  const id = await create()
  const missing = await call('POST', `/v1/jobs/${id}/:explode`)
  expect([missing.status, missing.body.code]).toEqual([404, 'route-unknown'])
  expect((await call('GET', `/v1/jobs/${id}`)).body.state).toBe('ready')
})

test('kinds are listed with their schema, pause and counts', async () => {
  await create()
  await create({ run_after_ms: 60_000 })
  await call('POST', '/v1/pauses', { json: { scope: 'kind', name: 'self-test', reason: 'x' } })
  const { body } = await call('GET', '/v1/job-kinds')
  const kinds = new Map(body.items.map((item) => [item.kind, item]))
  expect([...kinds.keys()]).toEqual(expect.arrayContaining(['sync-source', 'self-test', 'final-verify']))
  expect(kinds.get('self-test')).toMatchObject({
    paused: true,
    counts: { ready: 2 },
    version: 1,
    queue: 'self-test',
  })
  expect(kinds.get('self-test')?.payload).toMatchObject({ type: 'object', additionalProperties: false })
})

test('a self-test is accepted as one lane and shows how far it is', async () => {
  const made = await call('POST', '/v1/self-tests', { json: { jobs: 30, failing: 2, failing_once: 3 } })
  expect([made.status, made.body.jobs]).toEqual([202, 30])
  const place = made.headers.get('location') ?? ''
  expect((await call('GET', place)).body).toMatchObject({
    lane: made.body.lane,
    jobs: 30,
    ended: 0,
    done: false,
    counts: { ready: 30, failed: 0 },
  })
  const outcomes = await db`
    select payload->>'outcome' as outcome, count(*)::int as jobs from job where lane = ${made.body.lane} group by 1 order by 1`
  expect([...outcomes]).toEqual([
    { outcome: 'fail', jobs: 2 },
    { outcome: 'fail-once', jobs: 3 },
    { outcome: 'succeed', jobs: 25 },
  ])
  const refused = await call('POST', '/v1/self-tests', { json: { jobs: 3, failing: 4 } })
  expect([refused.status, refused.body.field]).toEqual([422, 'failing'])
  await create()
  for (const other of ['batch%2Fnone', 'batch%2Fself-test-none', 'default'])
    expect((await call('GET', `/v1/self-tests/${other}`)).status, other).toBe(404)
})

test('processes are listed with what they run', async () => {
  await startWorker({ 'self-test': 1 })
  const { body } = await call('GET', '/v1/workers?live=true')
  expect(body.items).toMatchObject([
    { role: 'worker', state: 'active', live: true, running: 0, kinds: { 'self-test': 1 } },
  ])
  expect((await call('GET', '/v1/workers?live=false')).body.items).toEqual([])
})

test('the residue report counts effects, and only a debt can be waived', async () => {
  const job = await create()
  const insert = async (state: string, name: string) => {
    const id = uuidv7()
    await db`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state)
      values (${id}::uuid, ${job}::uuid, 'self-test', 'one', 1, 'lab-create-vm', 'lab', ${name}, ${state})`
    return id
  }
  const debt = await insert('debt', 'vm-1')
  const done = await insert('done', 'vm-2')
  await insert('undone', 'vm-3')
  const report = await call('GET', '/v1/effects?state=debt,intended')
  expect(report.body.items.map((effect) => effect.id)).toEqual([debt])
  expect(report.body.open).toEqual({ intended: 0, debt: 1, exact: true })
  await db`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state)
    select gen_random_uuid(), ${job}::uuid, 'self-test', 'two', 1, 'lab-create-vm', 'other', n::text, 'debt'
    from generate_series(1, 10001) n`
  const many = await call('GET', '/v1/effects?platform=other&limit=1')
  expect(many.body.open).toEqual({ intended: 0, debt: 10_000, exact: false })
  await db`delete from effect where platform = 'other'`
  expect((await call('GET', `/v1/jobs/${job}/effects`)).body.items).toHaveLength(3)
  const waived = await call('POST', `/v1/effects/${debt}/:waive`, { json: { reason: 'removed by hand' } })
  expect(waived.body).toMatchObject({ state: 'waived', waived: { by: tester, reason: 'removed by hand' } })
  const twice = await call('POST', `/v1/effects/${debt}/:waive`, { json: { reason: 'again' } })
  expect([twice.status, twice.body.code]).toEqual([409, 'effect-settled'])
  const owned = await call('POST', `/v1/effects/${done}/:waive`, { json: { reason: 'again' } })
  expect([owned.status, owned.body.code]).toEqual([409, 'not-waivable'])
  expect((await call('GET', `/v1/effects/${uuidv7()}`)).status).toBe(404)
  expect((await call('GET', '/v1/effects?state=lost')).body.field).toBe('state')
})
