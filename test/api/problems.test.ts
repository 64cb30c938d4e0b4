import { describe, expect, test } from 'vitest'
import { limits } from '../../src/config/config.ts'
import { DroverError } from '../../src/errors.ts'
import { createDatabase } from '../support/postgres.ts'
import { type Ask, clientOf, depsOver, type Reply, selfTestJob, strangerOf } from './setup.ts'

const database = await createDatabase()
const call = clientOf(depsOver(database.db))

const expectProblem = (reply: Reply, status: number, code: string): void => {
  expect([reply.status, reply.body.code], reply.text).toEqual([status, code])
  expect(reply.headers.get('content-type')).toBe('application/problem+json')
  expect(Object.keys(reply.body)).toEqual(
    expect.arrayContaining(['type', 'title', 'status', 'detail', 'instance', 'code', 'remedy']),
  )
  expect(reply.body.status).toBe(status)
  expect(reply.body.type).toBe(`/docs#error-${code}`)
  expect(reply.body.instance).toBe(`urn:drover:request:${reply.headers.get('x-request-id')}`)
  expect(String(reply.body.remedy).length).toBeGreaterThan(10)
}

const json = { 'content-type': 'application/json' }
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

const failures: [string, string, string, Ask, number, string][] = [
  ['bad JSON', 'POST', '/v1/jobs', { raw: '{"kind":', headers: json }, 400, 'bad-json'],
  [
    'bad UTF-8',
    'POST',
    '/v1/jobs',
    { raw: Uint8Array.of(0x7b, 0x22, 0xff, 0x22), headers: json },
    400,
    'bad-encoding',
  ],
  ['JSON nested too deep', 'POST', '/v1/jobs', { raw: deep(50_000), headers: json }, 400, 'json-too-deep'],
  [
    'another content type',
    'POST',
    '/v1/jobs',
    { raw: 'kind: x', headers: { 'content-type': 'text/yaml' } },
    415,
    'media-type',
  ],
  [
    'a form',
    'POST',
    '/v1/jobs',
    { raw: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    'media-type',
  ],
  ['no body', 'POST', '/v1/jobs', {}, 422, 'body-missing'],
  ['no body, but a type', 'POST', '/v1/jobs', { headers: json }, 422, 'body-missing'],
  ['a body that is no object', 'POST', '/v1/jobs', { raw: '[1]', headers: json }, 422, 'validation-failed'],
  [
    'a NUL in a text',
    'POST',
    '/v1/pauses',
    { json: { scope: 'lane', name: 'a', reason: 'x\0y' } },
    422,
    'text-not-storable',
  ],
  [
    'half a surrogate pair',
    'POST',
    '/v1/pauses',
    { raw: '{"scope":"lane","name":"a","reason":"\\ud800"}', headers: json },
    422,
    'text-not-storable',
  ],
  [
    'a prototype key',
    'POST',
    '/v1/jobs',
    { raw: '{"__proto__":{"role":"admin"}}', headers: json },
    422,
    'validation-failed',
  ],
  ['a NUL in a query', 'GET', '/v1/jobs?kind=%00', {}, 422, 'text-not-storable'],
  ['an unknown route', 'GET', '/v1/nothing', {}, 404, 'route-unknown'],
  ['an unknown page', 'GET', '/nothing', {}, 404, 'route-unknown'],
  ['a method that is not there', 'DELETE', '/v1/jobs', {}, 405, 'method-not-allowed'],
  ['a URL that is too long', 'GET', `/v1/jobs?kind=${'x'.repeat(9_000)}`, {}, 414, 'url-too-long'],
  [
    'an idempotency key that is none',
    'POST',
    '/v1/self-tests',
    { json: {}, headers: { 'idempotency-key': 'ä b' } },
    422,
    'validation-failed',
  ],
]

test.each(failures)('%s is a problem', async (_what, method, path, ask, status, code) => {
  expectProblem(await call(method, path, ask), status, code)
})

test('a body over the limit is refused, with and without its length', async () => {
  const body = JSON.stringify({ ...selfTestJob, payload: { steps: 'x'.repeat(limits.bodyBytes) } })
  expectProblem(await call('POST', '/v1/jobs', { raw: body, headers: json }), 413, 'body-too-large')
  const honest = { ...json, 'content-length': String(Buffer.byteLength(body)) }
  expectProblem(await call('POST', '/v1/jobs', { raw: body, headers: honest }), 413, 'body-too-large')
})

test('a validation failure lists every field, not the first', async () => {
  const reply = await call('POST', '/v1/jobs', {
    json: { payload: 1, subject: { type: 'Not A Word', id: '' }, priority: 1_000, colour: 'red' },
  })
  expectProblem(reply, 422, 'validation-failed')
  expect(reply.body.errors.map((error) => error.field).sort()).toEqual([
    'colour',
    'kind',
    'payload',
    'priority',
    'subject.id',
    'subject.type',
  ])
})

test('405 names the methods that are there', async () => {
  expect((await call('DELETE', '/v1/jobs')).headers.get('allow')).toBe('GET, HEAD, POST')
  expect((await call('PUT', '/v1/jobs/x/:retry')).headers.get('allow')).toBe('POST')
})

test('a request id that is sent comes back; one that could break a log does not', async () => {
  const kept = await call('GET', '/v1/nothing', { headers: { 'x-request-id': 'trace-me-12345' } })
  expect(kept.headers.get('x-request-id')).toBe('trace-me-12345')
  expect(kept.body.instance).toBe('urn:drover:request:trace-me-12345')
  const replaced = await call('GET', '/v1/nothing', { headers: { 'x-request-id': 'x" level="error' } })
  expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
})

/** A token that is looked up, at least. */
const as = 'drv_00000000_whoever-this-is'

/** A database whose every statement fails in a way nobody foresaw. */
const broken = (error: Error) => {
  // A part of a statement fails too, and nobody waits for that.
  const fail = () => {
    const failed = Promise.reject(error)
    failed.catch(() => {})
    return failed
  }
  return new Proxy(database.db, {
    apply: fail,
    get: (target, key) => (key === 'begin' ? fail : Reflect.get(target, key)),
  })
}

test('an error that nobody foresaw is 500 and shows nothing of the inside', async () => {
  const inside = new Error('relation "secret_table" at /srv/drover/db.ts')
  const reply = await strangerOf(depsOver(broken(inside)))('GET', '/v1/jobs', { as })
  expectProblem(reply, 500, 'unexpected')
  expect(reply.text).not.toMatch(/secret_table|srv|\.ts/)
})

test.each([
  ['transient', 503],
  ['environment', 503],
  ['conflict', 409],
  ['config', 422],
  ['permanent', 422],
  ['bug', 500],
] as const)('an error of class %s is answered with %i', async (errorClass, status) => {
  const error = new DroverError({
    code: 'not-known-here',
    class: errorClass,
    message: 'm',
    remedy: 'do something',
  })
  const reply = await strangerOf(depsOver(broken(error)))('GET', '/v1/jobs', { as })
  expect(reply.status).toBe(status)
  expect(reply.headers.has('retry-after')).toBe(status === 503)
})

test('a database that is not migrated is 503, not a mystery', async () => {
  const missing = Object.assign(new Error('relation "job" does not exist'), { code: '42P01' })
  const reply = await strangerOf(depsOver(broken(missing)))('GET', '/v1/jobs', { as })
  expectProblem(reply, 503, 'database-away')
  expect(reply.headers.get('retry-after')).toBe('5')
})

test('a handler that takes too long is answered for with 503', async () => {
  const never = new Proxy(database.db, { apply: () => new Promise(() => {}) })
  const reply = await strangerOf(depsOver(never, { limits: { requestMs: 50 } }))('GET', '/v1/jobs', { as })
  expectProblem(reply, 503, 'deadline-passed')
  expect(reply.headers.get('retry-after')).toBe('2')
})

test('one user cannot send without limit; another still can', async () => {
  const limited = clientOf(depsOver(database.db, { limits: { requestsBurst: 3, requestsPerSecond: 0.1 } }))
  for (let sent = 0; sent < 3; sent += 1) expect((await limited('GET', '/v1/limits')).status).toBe(200)
  const refused = await limited('GET', '/v1/limits')
  expectProblem(refused, 429, 'too-many-requests')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(5)
  expect((await limited('GET', '/healthz')).status).toBe(200)
})

test('every answer carries the headers that keep browsers honest', async () => {
  for (const path of ['/v1/jobs', '/v1/nothing', '/docs', '/login', '/healthz']) {
    const { headers } = await call('GET', path)
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('content-security-policy')).not.toContain('unsafe-inline')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('referrer-policy')).toBe('same-origin')
  }
})

describe('what is wrong is said in bounds', () => {
  test('of a body with very many fields that nobody knows', async () => {
    const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`surprise-${at}`, at]))
    const reply = await call('POST', '/v1/tokens', { json: { name: 'ci', role: 'viewer', ...fields } })
    expectProblem(reply, 422, 'validation-failed')
    expect(reply.body.errors).toHaveLength(100)
    expect(reply.body.detail).toContain('And 19999 more.')
  })

  test.each(['body', 'query'])('of a field in the %s whose name is very long', async (where) => {
    const long = 'x'.repeat(where === 'body' ? 900_000 : 7_000)
    const json = { name: 'ci', role: 'viewer', [long]: 1 }
    const reply =
      where === 'body' ? await call('POST', '/v1/tokens', { json }) : await call('GET', `/v1/jobs?${long}=1`)
    expectProblem(reply, 422, 'validation-failed')
    expect(reply.text.length).toBeLessThan(3_000)
    expect(reply.body.errors[0]?.field).toMatch(/^x{100,}…$/)
  })
})
