import { expect, test } from 'vitest'
import { addMachine } from '../support/machines.ts'
import { createDatabase } from '../support/postgres.ts'
import { clientOf, depsOver, tokensFor } from './setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } }))
const get = (path: string) => call('GET', path)
const post = (path: string, json?: unknown, headers: Record<string, string> = {}) =>
  call('POST', path, json === undefined ? { headers } : { json, headers })
const ask = (json: Record<string, unknown>) => post('/v1/operations', json)

test('an operation is committed, shown, listed, and canceled once', async () => {
  const machine = await addMachine(db, { power: 'on', name: 'web-01' })
  const made = await ask({ machine: 'web-01', kind: 'stop' })
  expect(made.status, made.text).toBe(202)
  expect(made.headers.get('location')).toBe(`/v1/operations/${made.body.id}`)
  expect(made.body).toMatchObject({
    ...{ machine_id: machine, machine: 'web-01', kind: 'stop', force: false, state: 'pending' },
    ...{ reason: 'no-worker', cause: 'person', created_by: 'local', deadline_seconds: 600 },
    waits: { reason: 'no-worker', ends_when: 'A worker starts.', until: made.body.expires_at },
  })
  const shown = await get(`/v1/operations/${made.body.id}`)
  expect(shown.body).toEqual(made.body)
  expect((await get(`/v1/operations?machine=web-01`)).body.items).toEqual([made.body])
  const canceled = await post(`/v1/operations/${made.body.id}/:cancel`)
  expect(canceled.status, canceled.text).toBe(202)
  expect(canceled.body).toMatchObject({ state: 'canceled', reason: 'canceled', waits: null })
  const again = await post(`/v1/operations/${made.body.id}/:cancel`)
  expect([again.status, again.body.code, again.body.detail]).toEqual([
    ...[409, 'operation-ended'],
    expect.stringContaining('canceled already'),
  ])
})

test('roles', async () => {
  await addMachine(db, { power: 'on', name: 'roles-1' })
  const { viewer, operator } = await tokensFor(db)
  const body = { machine: 'roles-1', kind: 'stop' }
  expect((await call('POST', '/v1/operations', { json: body, as: viewer })).status).toBe(403)
  const made = await call('POST', '/v1/operations', { json: body, as: operator })
  expect(made.status).toBe(202)
  expect((await call('GET', `/v1/operations/${made.body.id}`, { as: viewer })).status).toBe(200)
  expect((await call('POST', `/v1/operations/${made.body.id}/:cancel`, { as: viewer })).status).toBe(403)
})
