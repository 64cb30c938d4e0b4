import { connect } from 'node:net'
import { v7 as uuidv7 } from 'uuid'
import { describe, expect, onTestFinished, test } from 'vitest'
import { beatWorker } from '../../db/queries/fleet/workers.ts'
import { readConfig } from '../../src/config/config.ts'
import { openBell } from '../../src/ledger/bell/bell.ts'
import { runApi } from '../../src/roles/api.ts'
import { adminEnv, asAdmin } from '../support/admin-token.ts'
import { createDatabase } from '../support/postgres.ts'
import { freePort } from '../support/temp.ts'
import { settles } from '../support/wait.ts'
import { log, selfTestJob } from './setup.ts'

const database = await createDatabase()

const configOf = (env: NodeJS.ProcessEnv = {}) =>
  readConfig({
    DATABASE_URL: database.url,
    DROVER_SECRET_KEY: 'a'.repeat(64),
    DROVER_PORT: '0',
    DROVER_LOG_LEVEL: 'silent',
    ...adminEnv,
    ...env,
  })

const start = async (env: NodeJS.ProcessEnv = {}) => {
  const role = await runApi(configOf(env))
  onTestFinished(() => role.stop())
  return { role, url: `http://127.0.0.1:${role.port}` }
}

/** Sends bytes as they are and gives all that comes back. */
const raw = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.once('error', reject)
    socket.once('close', () => resolve(text))
  })

test('the API starts and takes jobs while Redis is away, and says so', async () => {
  const port = await freePort()
  const { url } = await start({ REDIS_URL: `redis://127.0.0.1:${port}` })
  const made = await fetch(`${url}/v1/jobs`, {
    method: 'POST',
    headers: { ...asAdmin, 'content-type': 'application/json' },
    body: JSON.stringify(selfTestJob),
  })
  expect(made.status).toBe(202)
  const ready = await fetch(`${url}/readyz`)
  expect(ready.status).toBe(503)
  expect(await ready.text()).toContain('bell store (redis)')
  const board = await fetch(`${url}/queues`, { headers: { ...asAdmin, accept: 'text/html' } })
  expect(board.status).toBe(503)
  expect(await board.text()).toContain('The bell store is away')
})

describe('hostile input', () => {
  test.each([
    ['headers too large', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['no host', 'GET /v1/jobs HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a host that is none', 'GET /v1/jobs HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
    [
      'two lengths',
      'POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
    ],
    [
      'a length and chunks',
      'POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
  ])('%s is refused with a problem, and the server lives on', async (_what, bytes, status) => {
    const { role, url } = await start()
    const answer = await settles(raw(role.port, bytes), { what: 'the answer' })
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })
})

test.each(['127.0.0.1', '0.0.0.0'])('without any token it refuses to start, also on %s', async (host) => {
  await database.db`truncate access_token`
  const env = { DROVER_HOST: host, DROVER_ADMIN_TOKEN: '' }
  await expect(runApi(configOf(env))).rejects.toMatchObject({
    code: 'token-required',
    field: 'DROVER_ADMIN_TOKEN',
  })
  const { url } = await start({ DROVER_HOST: host })
  expect((await fetch(`${url}/v1/jobs`)).status).toBe(401)
  expect((await fetch(`${url}/v1/jobs`, { headers: asAdmin })).status).toBe(200)
  await start(env)
})

test('it starts while the database is away, and lets nobody in', async () => {
  const away = `postgres://drover:x@127.0.0.1:${await freePort()}/drover`
  const { url } = await start({ DATABASE_URL: away, DROVER_ADMIN_TOKEN: '' })
  expect((await fetch(`${url}/v1/jobs`)).status).toBe(401)
  expect((await fetch(`${url}/v1/jobs`, { headers: asAdmin })).status).toBe(503)
})

test('what it needs and does not get is named', async () => {
  await expect(runApi(configOf({ DATABASE_URL: '' }))).rejects.toMatchObject({ field: 'DATABASE_URL' })
  await expect(runApi(configOf({ DROVER_SECRET_KEY: '' }))).rejects.toMatchObject({
    field: 'DROVER_SECRET_KEY',
  })
  const { role } = await start()
  await expect(runApi(configOf({ DROVER_PORT: String(role.port) }))).rejects.toMatchObject({
    code: 'address-unusable',
    message: expect.stringContaining('another program uses it'),
  })
})

test('it stops with a stream open, at once, and twice is fine', async () => {
  const { role, url } = await start()
  const stream = await fetch(`${url}/v1/events/stream`, { headers: asAdmin })
  const reader = stream.body?.getReader()
  await reader?.read()
  await settles(Promise.all([role.stop(), role.stop()]), { what: 'the API to stop' })
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

test('work cannot flow without a conductor and a worker, and /readyz says which is missing', async () => {
  const { url } = await start()
  const ready = async () => {
    const answer = await fetch(`${url}/readyz`)
    return { status: answer.status, reasons: ((await answer.json()) as { reasons: string[] }).reasons }
  }
  const join = (role: string) =>
    beatWorker(
      database.db,
      { id: uuidv7(), role, host: 'here', pid: 1, version: '0', kinds: {}, slots: {} },
      'active',
    )
  const bell = await openBell(configOf(), { databaseUrl: database.url, log })
  await bell.prepare()
  await bell.close()
  expect(await ready()).toMatchObject({ status: 503, reasons: [expect.stringContaining('No conductor')] })
  await join('conductor')
  expect(await ready()).toMatchObject({ status: 503, reasons: [expect.stringContaining('No worker')] })
  await join('worker')
  expect(await ready()).toEqual({ status: 200, reasons: [] })
})

test('Bull Board shows the bells, read-only, and nothing but ids', async () => {
  const bell = await openBell(configOf(), { databaseUrl: database.url, log })
  await bell.prepare()
  await bell.ring([{ id: uuidv7(), kind: 'self-test', generation: 1, publish: 0, urgent: false }])
  await bell.close()
  const { url } = await start()
  const page = await fetch(`${url}/queues`, { headers: { ...asAdmin, accept: 'text/html' } })
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
  const html = await page.text()
  const [, script = ''] = /src="(static\/js\/main[^"]+)"/.exec(html) ?? []
  expect((await fetch(`${url}/queues/${script}`, { headers: asAdmin })).status).toBe(200)
  const slash = await fetch(`${url}/queues/`, { headers: asAdmin, redirect: 'manual' })
  expect([slash.status, slash.headers.get('location')]).toEqual([308, '/queues'])
  const queues = await fetch(`${url}/queues/api/queues`, { headers: asAdmin })
  expect(queues.status).toBe(200)
  const { queues: shown } = (await queues.json()) as {
    queues: { name: string; readOnlyMode: boolean }[]
  }
  expect(shown.map((queue) => queue.name)).toContain('self-test')
  expect(shown.every((queue) => queue.readOnlyMode)).toBe(true)
  const pause = await fetch(`${url}/queues/api/queues/self-test/pause`, { method: 'PUT', headers: asAdmin })
  expect([pause.status, pause.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})
