import { v7 as uuidv7 } from 'uuid'
import { beforeEach, describe, expect, test } from 'vitest'
import { finishBatches } from '../../../src/migration/batch/end-batches.ts'
import { jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'
import { eventTypes } from '../inventory/inventory-rows.ts'
import { type Body, clientOf, depsOver, tokensFor } from '../setup.ts'
import { addFleet, emptyMigration, moveRow, restEntries, startBatch } from './batch-rows.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))
const get = (path: string) => call('GET', path)
const post = (path: string, json?: unknown) => call('POST', path, json === undefined ? {} : { json })

beforeEach(() => emptyMigration(db))

const begin = async (names: readonly string[], changes: Record<string, unknown> = {}) => {
  await addFleet(db, names)
  await startBatch(db, call, { include_expression: 'true', ...changes })
  await restEntries(db)
  return (await get('/v1/queue')).body.items
}

const verbsOf = (entry: Body) => entry.verbs as unknown as { verb: string; force: boolean }[]

describe('an entry', () => {
  test('is listed by batch, state, source, target and instance, in pages that hold', async () => {
    const [one, two, three] = await begin(['web-1', 'web-2', 'web-3'])
    await moveRow(db, String(two?.id), { state: 'idle', stage: 'final' })
    const names = async (query: string) =>
      (await get(`/v1/queue?${query}`)).body.items.map(({ name }) => name)
    expect(await names('state=waiting')).toEqual(['web-1', 'web-3'])
    expect(await names('batch=wave-1&state=idle&source=paris&target=oslo')).toEqual(['web-2'])
    expect(await names('batch=none')).toEqual([])
    expect(await names('source=none')).toEqual([])
    expect(await names('target=none')).toEqual([])
    expect(await names(`instance_id=${String(three?.instance_id)}`)).toEqual(['web-3'])
    const first = await get('/v1/queue?limit=2')
    expect(first.body.items.map(({ id }) => id)).toEqual([one?.id, two?.id])
    expect(await names(`limit=2&cursor=${first.body.next_cursor}`)).toEqual(['web-3'])
    expect((await get('/v1/queue?state=nothing')).status).toBe(422)
    expect((await get(`/v1/queue/${uuidv7()}`)).status).toBe(404)
  })

  test('shows where it is, why, what it would get, and what a person can do', async () => {
    const start = new Date(Date.now() + 3_600_000).toISOString()
    const end = new Date(Date.now() + 7_200_000).toISOString()
    const [one] = await begin(['web-1'], { migration_windows: [{ name: 'night', start, end }] })
    const id = String(one?.id)
    const placement = {
      target: 'oslo',
      project: 'default',
      host: '',
      pools: { 2000: 'fast' },
      networks: {},
      why: [{ what: 'target', value: 'oslo', because: 'the defaults of the batch' }],
      log: ['hello'],
    }
    await db`update entry set placement = ${JSON.stringify(placement)}::text::jsonb,
      pending = jsonb_build_object('facts', facts || '{"cpus": 64}', 'placement', ${JSON.stringify(placement)}::text::jsonb),
      progress = '{"phase": "background-copy", "done": 5, "total": 10}'`
    const { body } = await get(`/v1/queue/${id}`)
    expect(body).toMatchObject({
      batch: 'wave-1',
      state: 'waiting',
      reason: 'waiting',
      window: { name: 'night', start, end, held: false },
      placement: { target: 'oslo', pools: { 2000: 'fast' } },
      why_here: [{ what: 'target', value: 'oslo' }],
      script_log: ['hello'],
      progress: { phase: 'background-copy', bytes_done: 5, bytes_total: 10 },
      events: `/v1/events?subject=entry/${id}`,
      effects: { open: 0, debts: 0 },
      job: null,
      stall: null,
    })
    expect(Object.keys(body.placement as object)).not.toContain('why')
    expect(body.pending).toEqual([{ path: 'instance.cpus', from: expect.any(Number), to: 64 }])
    expect(verbsOf(body)).toEqual([{ verb: 'cancel', force: false }])
    // The feed shows an event once no older transaction of the server is open.
    const history = await until(
      async () => {
        const { items } = (await get(String(body.events))).body
        return items.length > 0 && items
      },
      { what: 'the event to be in the feed', withinMs: 30_000 },
    )
    expect(history.map((event) => event.type)).toContain('entry.created')
  })

  test('that waits for a minute and more names what it waits for', async () => {
    const [one] = await begin(['web-1'])
    const id = String(one?.id)
    const jobId = uuidv7()
    await db`
      insert into job (id, kind, subject_type, subject_id, payload, payload_version, lane, created_by, state,
        wait_reason, wait_detail, wait_since, wait_until, wait_signal, tokens)
      values (${jobId}, 'import-instance', 'entry', ${id}, '{}', 1, 'batch/wave-1', 'test', 'waiting', 'token',
        'waits for source-imports/paris', now() - interval '2 minutes', now() + interval '1 hour', 'token',
        '{source-imports/paris}')`
    await moveRow(db, id, { state: 'background-import' })
    await db`update entry set job_id = ${jobId}`
    const { body } = await get(`/v1/queue/${id}`)
    expect(body.job).toMatchObject({ id: jobId, kind: 'import-instance', state: 'waiting' })
    expect(body.stall).toMatchObject({ cause: 'token' })
    expect((body.stall as { message: string }).message).toContain('source-imports/paris')
    await db`update job set state = 'running', lease_until = now() + interval '1 hour', wait_reason = null,
      started_at = now() - interval '5 minutes', claimed_at = now() - interval '5 minutes' where id = ${jobId}`
    expect((await get(`/v1/queue/${id}`)).body.stall).toMatchObject({ cause: 'platform-slow' })
    await db`
      update job set progress = jsonb_build_object('done', 600, 'total', 1200, 'phase', 'background-copy', 'rate', 2,
        'last_progress_at', now()) where id = ${jobId}`
    const stalled = {
      progress: { bytes_per_second: 0, eta_seconds: null },
      stall: { cause: 'platform-slow' },
    }
    const moving = (await get(`/v1/queue/${id}`)).body
    expect(moving.stall).toBeNull()
    expect(moving.progress).toMatchObject({ bytes_done: 600, bytes_total: 1200, bytes_per_second: 2 })
    const { eta_seconds: eta } = moving.progress as { eta_seconds: number }
    expect(eta).toBeGreaterThan(299)
    const rolled = (await get('/v1/batches/wave-1')).body.progress as Record<string, number>
    expect(rolled.bytes_done).toBe((rolled.bytes_total ?? 0) / 2)
    expect(rolled.bytes_per_second).toBe(2)
    await db`
      update job set progress = progress || jsonb_build_object('last_progress_at', now() - interval '2 minutes')
      where id = ${jobId}`
    expect((await get(`/v1/queue/${id}`)).body).toMatchObject(stalled)
    const still = (await get('/v1/batches/wave-1')).body.progress
    expect(still).toMatchObject({ bytes_per_second: 0, eta_seconds: null })
  })
})

describe('verbs on one entry', () => {
  test('what blocked an entry is not said of it any more once it is given up', async () => {
    const [entry] = await begin(['web-1'])
    const id = String(entry?.id)
    const blocks = ['project-full', 'pool-full'].map((code) => ({ code, message: `${code}, as it was.` }))
    await moveRow(db, id, { state: 'blocked' })
    await db`update entry set reason = 'project-full', reasons = ${JSON.stringify(blocks)}::text::jsonb where id = ${id}::uuid`
    expect((await call('GET', `/v1/queue/${id}`)).body.reasons).toMatchObject(blocks)
    await call('POST', `/v1/queue/${id}/:cancel`, { json: {} })
    expect((await call('GET', `/v1/queue/${id}`)).body).toMatchObject({ state: 'canceled', reasons: [] })
  })

  test('cancel, then retry; each is told and done once for one key', async () => {
    const [one] = await begin(['web-1'])
    const path = `/v1/queue/${String(one?.id)}`
    const ask = { json: {}, headers: { 'idempotency-key': 'cancel-one' } }
    const canceled = await call('POST', `${path}/:cancel`, ask)
    expect(canceled.status).toBe(202)
    expect(canceled.body).toMatchObject({ outcome: 'done', entry: { state: 'canceled' } })
    expect((await call('POST', `${path}/:cancel`, ask)).headers.get('idempotency-replayed')).toBe('true')
    const again = await post(`${path}/:cancel`, {})
    expect([again.status, again.body.code]).toEqual([409, 'entry-not-from-here'])
    expect((await post(`${path}/:resolve`)).body.code).toBe('entry-not-from-here')
    const retried = await post(`${path}/:retry`)
    expect(retried.body).toMatchObject({ outcome: 'done', entry: { state: 'waiting' } })
    const told = (await eventTypes(db)).filter((type) => type.startsWith('entry.'))
    expect(told).toEqual(['entry.created', 'entry.cancel', 'entry.retry'])
  })

  test('a retry in a batch that has finished opens it again', async () => {
    const [one, two] = await begin(['web-1', 'web-2'])
    await post(`/v1/queue/${String(one?.id)}/:cancel`, {})
    await moveRow(db, String(two?.id), { state: 'finished', stage: 'complete' })
    expect(await finishBatches(db)).toEqual(['wave-1'])
    expect((await post(`/v1/queue/${String(one?.id)}/:retry`)).status).toBe(202)
    expect((await get('/v1/batches/wave-1')).body.state).toBe('running')
    expect(await eventTypes(db)).toEqual(expect.arrayContaining(['batch.finished', 'batch.reopened']))
  })

  test('cancel needs force where the proof is under way, and waits for a job that is at it', async () => {
    const [one, two] = await begin(['web-1', 'web-2'])
    await moveRow(db, String(one?.id), { state: 'worker-done', stage: 'complete' })
    const refused = await post(`/v1/queue/${String(one?.id)}/:cancel`, { cleanup: true })
    expect([refused.status, refused.body.code]).toEqual([409, 'entry-needs-force'])
    expect(refused.body.detail).toContain('force')
    expect((await post(`/v1/queue/${String(one?.id)}/:cancel`, { force: true })).status).toBe(202)
    const jobId = uuidv7()
    await db`
      insert into job (id, kind, subject_type, subject_id, payload, payload_version, lane, created_by)
      values (${jobId}, 'place-instance', 'entry', ${String(two?.id)}, '{}', 1, 'batch/wave-1', 'test')`
    await db`update entry set job_id = ${jobId} where id = ${String(two?.id)}`
    const asked = await post(`/v1/queue/${String(two?.id)}/:cancel`, {})
    expect(asked.body).toMatchObject({
      outcome: 'asked',
      entry: { state: 'waiting', intent: { verb: 'cancel', force: false, cleanup: false } },
    })
    expect((await jobOf(db, jobId)).state).toBe('canceled')
  })

  test('an entry says what ends its wait and what a person can do', async () => {
    const [one] = await begin(['web-1'], { include_expression: 'name == "web-1"' })
    const path = `/v1/queue/${String(one?.id)}`
    expect((await get(path)).body).toMatchObject({
      reason: 'waiting',
      remedy: '',
      ends_when: 'Its turn to be placed comes.',
    })
    await moveRow(db, String(one?.id), { state: 'conflict' })
    await db`update entry set reason = 'placement-changed',
      reasons = '[{"code": "placement-changed", "message": "Its pool would be another."}]'`
    expect((await get(path)).body).toMatchObject({
      ends_when: 'A person resolves or cancels it.',
      remedy: expect.stringContaining('Then resolve'),
      reasons: [{ code: 'placement-changed', remedy: expect.stringContaining('Undo what changed') }],
    })
  })

  test('resolve lets a conflict through', async () => {
    const [one] = await begin(['web-1'])
    await moveRow(db, String(one?.id), { state: 'conflict' })
    const resolved = await post(`/v1/queue/${String(one?.id)}/:resolve`)
    expect(resolved.body).toMatchObject({ outcome: 'done', entry: { state: 'waiting' } })
  })

  test('need an operator, and an entry', async () => {
    const [one] = await begin(['web-1'])
    const { viewer } = await tokensFor(db)
    expect(
      (await call('POST', `/v1/queue/${String(one?.id)}/:cancel`, { json: {}, as: viewer })).status,
    ).toBe(403)
    expect((await post(`/v1/queue/${uuidv7()}/:cancel`, {})).body).toMatchObject({ code: 'entry-unknown' })
    expect((await post(`/v1/queue/${uuidv7()}/:retry`, { force: true })).status).toBe(422)
  })

  test('remove takes an entry off the list only where nothing is under way', async () => {
    const [one] = await begin(['web-1'])
    const path = `/v1/queue/${String(one?.id)}`
    await moveRow(db, String(one?.id), { state: 'idle', stage: 'final' })
    const seen = (await get(path)).headers.get('etag') ?? ''
    const remove = (ifMatch?: string) =>
      call('DELETE', path, ifMatch === undefined ? {} : { headers: { 'if-match': ifMatch } })
    expect((await remove()).status).toBe(428)
    const refused = await remove(seen)
    expect([refused.status, refused.body.code]).toEqual([409, 'entry-migrating'])
    const canceled = await post(`${path}/:cancel`, {})
    expect((await remove(seen)).body.code).toBe('version-mismatch')
    expect((await remove(canceled.headers.get('etag') ?? '')).status).toBe(204)
    expect((await remove('*')).status).toBe(404)
    expect((await get(path)).status).toBe(404)
    expect(await eventTypes(db)).toContain('entry.removed')
  })
})

describe('verbs on many entries', () => {
  test('say what became of each, and refuse a number that is not confirmed', async () => {
    const [one, two] = await begin(['web-1', 'web-2', 'web-3'])
    await moveRow(db, String(two?.id), { state: 'post-import', stage: 'complete' })
    const wrong = await post('/v1/queue/:cancel', { batch: 'wave-1', confirm_count: 2 })
    expect([wrong.status, wrong.body.code]).toEqual([409, 'count-differs'])
    expect(wrong.body.detail).toContain('3 entries')
    const done = await post('/v1/queue/:cancel', { batch: 'wave-1', confirm_count: 3 })
    expect(done.body).toMatchObject({ matched: 3, left: 0 })
    expect(done.body.items.map(({ outcome, code }) => [outcome, code])).toEqual([
      ['done', null],
      ['refused', 'entry-needs-force'],
      ['done', null],
    ])
    const retried = await post('/v1/queue/:retry', { ids: [one?.id], confirm_count: 1 })
    expect(retried.body.items).toMatchObject([{ id: one?.id, outcome: 'done' }])
    const left = await post('/v1/queue/:resolve', { state: 'conflict', confirm_count: 0 })
    expect(left.body).toMatchObject({ matched: 0, items: [] })
  })

  test('must say which are meant', async () => {
    const refused = await post('/v1/queue/:retry', { confirm_count: 1 })
    expect([refused.status, refused.body.field]).toEqual([422, 'batch'])
    expect((await post('/v1/queue/:retry', { batch: 'wave-1' })).body.field).toBe('confirm_count')
    const ids = Array.from({ length: 1_001 }, () => uuidv7())
    expect((await post('/v1/queue/:cancel', { ids, confirm_count: 1_000 })).body.field).toBe('ids')
  })

  test('end in time and tell how many are left', async () => {
    await begin(['web-1', 'web-2'])
    const hasty = clientOf(depsOver(db, { limits: { requestMs: 5_000 }, clock: hastyClock() }))
    const done = await hasty('POST', '/v1/queue/:cancel', { json: { batch: 'wave-1', confirm_count: 2 } })
    expect(done.body).toMatchObject({ matched: 2, left: 1 })
    expect((await get('/v1/queue?state=canceled')).body.items).toHaveLength(1)
  })

  /** Every look at it finds a minute gone. */
  const hastyClock = () => {
    let now = 0
    const { clock } = depsOver(db)
    return { now: () => clock.now(), sleep: clock.sleep.bind(clock), monotonicMs: () => (now += 60_000) }
  }
})

describe('what each verb would do to an entry', () => {
  const doesOf = async (id: string, verb: string): Promise<string> => {
    const { body } = await get(`/v1/queue/${id}`)
    const choices = body.choices as readonly { verb: string; does: string }[]
    return choices.find((choice) => choice.verb === verb)?.does ?? ''
  }

  // promise: verb-said-first
  test('is said before it is done: a conflict by the expression goes through, and when its source goes off', async () => {
    const end = new Date(Date.now() + 7_200_000).toISOString()
    const [one] = await begin(['web-1'], { migration_windows: [{ name: 'night', start: null, end }] })
    const id = String(one?.id)
    await moveRow(db, id, { state: 'conflict' })
    await db`update entry set reason = 'no-longer-matches' where id = ${id}::uuid`
    const does = await doesOf(id, 'resolve')
    expect(does).toContain('it does not conflict again')
    expect(does).toContain('"night", which is open now until ')
    // What it says is what is done.
    await post(`/v1/queue/${id}/:resolve`)
    expect((await get(`/v1/queue/${id}`)).body.state).toBe('waiting')
  })

  test('of a committed conflict is that its source stays off, and is on again after a cancel', async () => {
    const [one] = await begin(['web-1'])
    const id = String(one?.id)
    await moveRow(db, id, { state: 'conflict', stage: 'complete', stopped: true })
    expect(await doesOf(id, 'resolve')).toMatch(/^Its source stays off\. .* it conflicts again\./)
    expect(await doesOf(id, 'cancel')).toContain('is switched on again once its copy is proved off')
    await db`update batch set defaults = defaults || '{"force_conflict_resolution": true}'`
    expect(await doesOf(id, 'resolve')).toContain('The batch forces conflicts')
  })
})
