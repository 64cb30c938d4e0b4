import { expect, test } from 'vitest'
import { createDatabase } from '../support/postgres.ts'
import { clientOf, depsOver, selfTestJob } from './setup.ts'

const database = await createDatabase()
const call = clientOf(depsOver(database.db))

test('a job is accepted with 202 and its place, and shows why it does not run', async () => {
  const made = await call('POST', '/v1/jobs', { json: { ...selfTestJob, priority: 5 } })
  expect(made.text).toContain('"ready"')
  expect(made.status).toBe(202)
  expect(made.body).toMatchObject({ kind: 'self-test', state: 'ready', existing: false })
  expect(made.headers.get('location')).toBe(`/v1/jobs/${made.body.id}`)
  const shown = await call('GET', `/v1/jobs/${made.body.id}`)
  expect(shown.status).toBe(200)
  expect(shown.body).toMatchObject({
    id: made.body.id,
    priority: 5,
    lane: 'default',
    createdBy: 'local',
    payload: { outcome: 'succeed', steps: 0 },
    wait: { reason: 'no-worker', until: null },
    cancel: null,
    effects: { open: 0, debts: 0 },
  })
  expect(shown.body.wait.endsWhen).toBe('A worker starts.')
})
