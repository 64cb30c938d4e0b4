import { expect, test } from 'vitest'
import { adminEnv, asAdmin } from '../support/admin-token.ts'
import { addLoad, allEnded, expectWhole } from '../support/load.ts'
import { createDatabase, startOwnPostgres } from '../support/postgres.ts'
import { startRole } from '../support/processes.ts'
import { startRedis } from '../support/redis.ts'
import { expectAlive, startRoles } from '../support/roles.ts'
import { startProxy } from '../support/tcp-proxy.ts'
import { settles, until } from '../support/wait.ts'

const secret = { ...adminEnv, DROVER_SECRET_KEY: '5e'.repeat(32), DROVER_LEASE_MS: '5000' }
/** The API's own deadline several times over, for a machine that does much else; without one it would be for ever. */
const answerMs = 30_000

const startApi = async (env: NodeJS.ProcessEnv) => {
  const api = await startRole('api', env)
  const [, port] = await api.line(/"port":(\d+).*api runs/, { withinMs: 60_000 })
  const call = (method: string, path: string, body?: unknown) =>
    settles(
      fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { ...asAdmin, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
      { what: `an answer to ${method} ${path}`, withinMs: answerMs },
    )
  return { api, call }
}

const selfTest = (id: string) => ({
  kind: 'self-test',
  payload: { effects: 1 },
  subject: { type: 'self-test', id },
})

// promise: redis-down
test('the API with Redis down commits and answers 202, and the work starts when Redis is back', async () => {
  const { db, url } = await createDatabase()
  const redis = await startRedis({ persistence: 'none' })
  const env = { ...secret, DATABASE_URL: url, REDIS_URL: redis.url }
  const [{ api, call }, { conductors, workers }] = await Promise.all([
    startApi(env),
    startRoles(env, { workers: 1 }),
  ])
  await redis.kill()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) => call('POST', '/v1/jobs', selfTest(`down-${at}`))),
  )
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 202))
  const ids = (await Promise.all(answers.map((answer) => answer.json() as Promise<{ id: string }>))).map(
    (job) => job.id,
  )
  const [states] = await db`select count(*)::int as ready from job where state = 'ready'`
  expect(states?.ready).toBe(ids.length)
  expect((await call('GET', '/readyz')).status).toBe(503)
  await redis.restart()
  await allEnded(db, ids)
  await expectWhole(db, ids, 1)
  await until(async () => (await call('GET', '/readyz')).status === 200, {
    what: 'readiness',
    withinMs: 30_000,
  })
  expectAlive(api, ...conductors, ...workers)
})

// promise: postgres-down
test('the API with Postgres stopped answers 503 with Retry-After, and works again when it is back', async () => {
  const postgres = await startOwnPostgres()
  const { api, call } = await startApi({ ...secret, DATABASE_URL: postgres.url })
  expect((await call('POST', '/v1/jobs', selfTest('before'))).status).toBe(202)
  await postgres.stop()
  for (const [method, path, body] of [
    ['POST', '/v1/jobs', selfTest('down')],
    ['GET', '/v1/jobs', undefined],
    ['GET', '/v1/events', undefined],
  ] as const) {
    const refused = await call(method, path, body)
    expect([path, refused.status]).toEqual([path, 503])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.headers.get('content-type')).toContain('application/problem+json')
  }
  expect((await call('GET', '/healthz')).status).toBe(200)
  await postgres.start()
  await until(async () => (await call('POST', '/v1/jobs', selfTest('after'))).status === 202, {
    what: 'the API to take jobs again',
    withinMs: 30_000,
  })
  expectAlive(api)
})

// promise: postgres-down
test('the API with a silent Postgres answers 503 within its deadline, also to many at once', async () => {
  const { db, url } = await createDatabase()
  const proxy = await startProxy({ targetPort: Number(new URL(url).port) })
  const silent = new URL(url)
  silent.hostname = '127.0.0.1'
  silent.port = String(proxy.port)
  const { api, call } = await startApi({ ...secret, DATABASE_URL: silent.href })
  expect((await call('GET', '/v1/jobs')).status).toBe(200)
  proxy.blackhole()
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, at) => call('POST', '/v1/jobs', selfTest(`silent-${at}`))),
  )
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 503))
  expect(answers.every((answer) => Number(answer.headers.get('retry-after')) > 0)).toBe(true)
  proxy.heal()
  await until(async () => (await call('GET', '/v1/jobs')).status === 200, {
    what: 'answers to come again',
    withinMs: 30_000,
  })
  const ids = await addLoad(db, { jobs: 1 })
  expect((await call('GET', `/v1/jobs/${ids[0]}`)).status).toBe(200)
  expectAlive(api)
})
