import { expect, test } from 'vitest'
import { type Db, openDb } from '../../../db/client.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createDatabase } from '../../support/postgres.ts'
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/wait.ts'
import { clientOf, depsOver, selfTestJob, strangerOf } from '../setup.ts'

const database = await createDatabase()
const statementMs = 10_000

/** The API's own kind of pool, over a path that can be broken. */
const overProxy = async (): Promise<{ db: Db; proxy: TcpProxy }> => {
  const url = new URL(database.url)
  const proxy = await startProxy({ targetPort: Number(url.port) })
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  const db = openDb({
    url: url.href,
    max: 3,
    applicationName: 'drover-api-test',
    statementMs,
    connectMs: 1_000,
  })
  atEnd(async () => {
    proxy.heal()
    await db.end({ timeout: 2 })
  })
  return { db, proxy }
}

test('Postgres away: 503 with Retry-After, and again an answer when it is back', async () => {
  const { db, proxy } = await overProxy()
  const call = clientOf(depsOver(db))
  expect((await call('GET', '/v1/jobs')).status).toBe(200)
  proxy.cut()
  for (const [method, path, json] of [
    ['GET', '/v1/jobs', undefined],
    ['POST', '/v1/jobs', selfTestJob],
    ['GET', '/v1/events', undefined],
    ['GET', '/v1/settings', undefined],
  ] as const) {
    const refused = await call(method, path, { json })
    expect([path, refused.status]).toEqual([path, 503])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(['database-away', 'deadline-passed']).toContain(refused.body.code)
  }
  expect((await call('GET', '/healthz')).status).toBe(200)
  const ready = await call('GET', '/readyz')
  expect(ready.status).toBe(503)
  expect(ready.body.reasons[0]).toMatch(/^The database (cannot be reached|does not answer)\.$/)
  proxy.heal()
  await until(async () => (await call('GET', '/v1/jobs')).status === 200, { what: 'answers to come again' })
})

test('Postgres silent: nobody waits longer than the deadline', async () => {
  const { db, proxy } = await overProxy()
  const call = clientOf(depsOver(db, { limits: { requestMs: 1_000 } }))
  await until(async () => (await call('GET', '/v1/jobs')).status === 200, { what: 'the first answer' })
  proxy.blackhole()
  const startMs = performance.now()
  const replies = await Promise.all([
    call('GET', '/v1/jobs'),
    call('POST', '/v1/jobs', { json: selfTestJob, headers: { 'idempotency-key': 'silent' } }),
    ...Array.from({ length: 8 }, () => call('GET', '/v1/workers')),
    call('GET', '/readyz'),
  ])
  // The pool alone would let the first of them go after its statement's limit, and the last after four times that.
  expect(performance.now() - startMs).toBeLessThan(statementMs)
  expect(replies.map((reply) => reply.status)).toEqual(replies.map(() => 503))
  proxy.heal()
  await until(async () => (await call('GET', '/v1/jobs')).status === 200, { what: 'answers to come again' })
})

test('a database that was never migrated is named so', async () => {
  const { db } = await createDatabase({ migrated: false })
  const ready = await strangerOf(depsOver(db))('GET', '/readyz')
  expect(ready.status).toBe(503)
  expect(ready.body.reasons[0]).toMatch(/lacks \d+ of \d+ migrations: run `drover migrate`/)
})
