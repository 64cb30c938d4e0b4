import { expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { type Client, clientOf, depsOver, selfTestJob } from '../setup.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))

const countJobs = async (): Promise<number> => {
  const [row] = await db<{ jobs: number }[]>`select count(*)::int as jobs from job`
  return row?.jobs ?? -1
}

const post = (client: Client, key: string, json: unknown = selfTestJob) =>
  client('POST', '/v1/jobs', { json, headers: { 'idempotency-key': key } })

test('the same request with the same key gets the stored answer, and one job exists', async () => {
  const before = await countJobs()
  const first = await post(call, 'again')
  const second = await post(call, 'again')
  expect(first.status).toBe(202)
  expect(first.headers.has('idempotency-replayed')).toBe(false)
  expect(second.status).toBe(202)
  expect(second.headers.get('idempotency-replayed')).toBe('true')
  expect(second.text).toBe(first.text)
  expect(second.headers.get('location')).toBe(first.headers.get('location'))
  expect(await countJobs()).toBe(before + 1)
})

// promise: idempotency-key
test('the same key with another payload, or at another address, is 409', async () => {
  await post(call, 'mine')
  const other = await post(call, 'mine', { ...selfTestJob, priority: 3 })
  expect([other.status, other.body.code]).toEqual([409, 'idempotency-mismatch'])
  const elsewhere = await call('POST', '/v1/self-tests', { json: {}, headers: { 'idempotency-key': 'mine' } })
  expect([elsewhere.status, elsewhere.body.code]).toEqual([409, 'idempotency-mismatch'])
})

test('twenty equal posts at once make one job, and each gets its answer or is told to come again', async () => {
  const before = await countJobs()
  const replies = await Promise.all(Array.from({ length: 20 }, () => post(call, 'storm')))
  const accepted = replies.filter((reply) => reply.status === 202)
  const refused = replies.filter((reply) => reply.status === 409)
  expect(accepted.length + refused.length).toBe(20)
  expect(new Set(accepted.map((reply) => reply.body.id)).size).toBe(1)
  expect(accepted.filter((reply) => !reply.headers.has('idempotency-replayed'))).toHaveLength(1)
  for (const reply of refused) {
    expect(reply.body.code).toBe('idempotency-in-flight')
    expect(reply.headers.get('retry-after')).toBe('1')
  }
  expect(await countJobs()).toBe(before + 1)
  expect((await post(call, 'storm')).status).toBe(202)
})

test('a request that failed is not stored: the same key may try again', async () => {
  const refused = await post(call, 'better', { ...selfTestJob, kind: 'make-coffee' })
  expect(refused.status).toBe(422)
  expect((await post(call, 'better')).status).toBe(202)
})

// promise: change-and-job
test('a crash between the change and the commit leaves neither the change nor an answer', async () => {
  const before = await countJobs()
  const dying = new Proxy(db, {
    get: (target, key) =>
      key === 'begin'
        ? (work: Parameters<typeof db.begin>[1]) =>
            db.begin(async (tx) => {
              await work(tx)
              throw new Error('the process died here')
            })
        : Reflect.get(target, key),
  })
  expect((await post(clientOf(depsOver(dying)), 'crash')).status).toBe(500)
  expect(await countJobs()).toBe(before)
  const after = await post(call, 'crash')
  expect([after.status, after.headers.has('idempotency-replayed')]).toEqual([202, false])
})

test('a job keeps its key for as long as it is kept, also when the stored answer is gone', async () => {
  const first = await post(call, 'long')
  await db`delete from api_request`
  const second = await post(call, 'long')
  expect(second.body).toMatchObject({ id: first.body.id, existing: true })
  const other = await post(call, 'long', { ...selfTestJob, payload: { steps: 2 } })
  expect([other.status, other.body.code]).toEqual([409, 'idempotency-mismatch'])
})

test.each(['/:cancel', '/:retry'])('a verb is replayed like any other POST: %s', async (verb) => {
  const { body } = await call('POST', '/v1/jobs', { json: selfTestJob })
  if (verb === '/:retry') await call('POST', `/v1/jobs/${body.id}/:cancel`)
  const headers = { 'idempotency-key': `verb${verb}` }
  const first = await call('POST', `/v1/jobs/${body.id}${verb}`, { headers })
  const second = await call('POST', `/v1/jobs/${body.id}${verb}`, { headers })
  expect([first.status, second.status]).toEqual([202, 202])
  expect(second.text).toBe(first.text)
})

test('an answer with a secret is stored sealed and still replayed', async () => {
  const json = { name: 'chat', url: 'https://example.org/hook' }
  const headers = { 'idempotency-key': 'secret' }
  const first = await call('POST', '/v1/webhooks', { json, headers })
  const second = await call('POST', '/v1/webhooks', { json, headers })
  expect(first.status).toBe(201)
  expect(second.body.secret).toBe(first.body.secret)
  const [stored] = await db<{ body: string }[]>`select body from api_request where key = 'secret'`
  expect(stored?.body).toMatch(/^sealed:/)
  expect(stored?.body).not.toContain(first.body.secret)
})

test('the keys of two users do not meet', async () => {
  const mine = await post(call, 'shared')
  await db`update api_request set actor = 'token/other' where key = 'shared'`
  await db`update job set idempotency_key = 'token/other/shared' where id = ${mine.body.id}::uuid`
  expect((await post(call, 'shared')).body.id).not.toBe(mine.body.id)
})
