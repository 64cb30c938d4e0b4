import { beforeEach, expect, test } from 'vitest'
import { failBatches } from '../../src/migration/fail-batches.ts'
import { advanceEntries } from '../../src/migration/scheduler.ts'
import { quietLog } from '../support/events.ts'
import { createDatabase } from '../support/postgres.ts'
import { until } from '../support/wait.ts'
import { addFleet, defineBatch, emptyMigration, runJobs, startBatch } from './batch-rows.ts'
import { eventTypes } from './inventory-rows.ts'
import { clientOf, depsOver } from './setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db))
const get = (path: string) => call('GET', path)
const post = (path: string, json?: unknown) => call('POST', path, json === undefined ? {} : { json })
/** What the scheduler does in one round. */
const lookOnce = async () => {
  await advanceEntries({ db, log: quietLog })
  await failBatches(db)
}

beforeEach(() => emptyMigration(db))

const names = async () => (await get('/v1/queue?batch=wave-1')).body.items.map(({ name }) => name)

test('a start waits until all that a reset takes away is gone, and then leaves nobody out', async () => {
  await addFleet(db, ['web-1', 'web-2'])
  await startBatch(db, call)
  expect((await post('/v1/batches/wave-1/:reset')).status).toBe(202)
  const early = await post('/v1/batches/wave-1/:start')
  expect([early.status, early.body.code]).toEqual([409, 'batch-leaving'])
  expect(early.body.detail).toContain('2 of the entries')
  expect((await get('/v1/batches/wave-1')).body.state).toBe('defined')
  await until(
    async () => {
      await lookOnce()
      return (await names()).length === 0
    },
    { what: 'the entries to be gone', withinMs: 30_000 },
  )
  expect((await post('/v1/batches/wave-1/:start')).status).toBe(202)
  await runJobs(db, 'start-batch')
  expect(await names()).toEqual(['web-1', 'web-2'])
})

test('a batch whose start did not come to its end says so, and can be started again', async () => {
  await addFleet(db, ['web-1', 'web-2'])
  await defineBatch(db, call)
  const started = await post('/v1/batches/wave-1/:start')
  await lookOnce()
  expect((await get('/v1/batches/wave-1')).body.state).toBe('running')
  expect((await post(`/v1/jobs/${String(started.body.job_id)}/:cancel`)).status).toBeLessThan(300)
  await lookOnce()
  const shown = await get('/v1/batches/wave-1')
  expect(shown.body).toMatchObject({ state: 'error', message: expect.stringContaining('cancelled') })
  expect(await eventTypes(db)).toContain('batch.failed')

  expect((await post('/v1/batches/wave-1/:start')).status).toBe(202)
  await lookOnce()
  expect((await get('/v1/batches/wave-1')).body.state).toBe('running')
  await runJobs(db, 'start-batch')
  await lookOnce()
  expect((await get('/v1/batches/wave-1')).body.state).toBe('running')
  expect(await names()).toEqual(['web-1', 'web-2'])
})
