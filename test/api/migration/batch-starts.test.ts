import { beforeEach, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { findBatch } from '../../../db/queries/batches/batch-rows.ts'
import type { JobContext } from '../../../src/ledger/job.ts'
import { failBatches, finishBatches } from '../../../src/migration/batch/end-batches.ts'
import { makeEntries } from '../../../src/migration/batch/make-entries.ts'
import { advanceEntries } from '../../../src/migration/batch/scheduler.ts'
import { viewBatch } from '../../../src/migration/entry/batch-view.ts'
import { quietLog } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'
import { addFinding, eventTypes } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver } from '../setup.ts'
import { addFleet, defineBatch, emptyMigration, runJobs, startBatch } from './batch-rows.ts'

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

test('a batch whose instances all belong to others is not started, and says to whom', async () => {
  const ids = await addFleet(db, ['web-1', 'web-2', 'web-3'])
  await startBatch(db, call, { name: 'first', include_expression: 'name in ["web-1", "web-2"]' })
  await defineBatch(db, call, { name: 'late', include_expression: 'name == "web-1"' })
  const refused = await post('/v1/batches/late/:start')
  expect([refused.status, refused.body.code]).toEqual([409, 'batch-instances-taken'])
  expect(refused.body.detail).toContain('first (1)')
  expect((await get('/v1/batches/late')).body.state).toBe('defined')
  // One that nobody has is enough.
  await startBatch(db, call, { name: 'more', include_expression: 'name in ["web-2", "web-3"]' })
  const rows = await db<{ instanceId: string }[]>`
    select instance_id from entry e join batch b on b.id = e.batch_id where b.name = 'more'`
  expect(rows.map(({ instanceId }) => instanceId)).toEqual([ids['web-3']])
})

test('what conflicts or is blocked from its start on is told like any that comes later', async () => {
  const ids = await addFleet(db, ['web-1', 'web-2', 'web-3', 'web-4'])
  await defineBatch(db, call)
  await db`update instance set name = 'old', facts = facts || '{"name": "old"}' where id = ${ids['web-1'] ?? ''}`
  await addFinding(db, { instanceId: ids['web-2'] ?? '', rule: 'disabled', severity: 'critical' })
  await db`update instance set gone_at = now() where id = ${ids['web-3'] ?? ''}`
  await post('/v1/batches/wave-1/:start')
  await runJobs(db, 'start-batch')
  const told = await db<{ instanceId: string; types: string[]; code: string; job: boolean }[]>`
    select e.instance_id, array_agg(v.type order by v.xid, v.id) as types, min(v.detail ->> 'code') as code,
      bool_or(e.job_id is not null) as job
    from event v join entry e on e.id::text = v.subject_id and v.subject_type = 'entry'
    where v.type like 'entry.%' group by 1`
  expect(new Map(told.map(({ instanceId, types, code, job }) => [instanceId, { types, code, job }]))).toEqual(
    new Map([
      [ids['web-1'], { types: ['entry.created', 'entry.conflict'], code: 'no-longer-matches', job: false }],
      [ids['web-2'], { types: ['entry.created', 'entry.block'], code: 'disabled', job: false }],
      [ids['web-3'], { types: ['entry.created', 'entry.block'], code: 'instance-gone', job: false }],
      [ids['web-4'], { types: ['entry.created'], code: 'waiting', job: true }],
    ]),
  )
})

test('a start that is at work when its batch is reset makes no entries of a batch that does not run', async () => {
  await addFleet(db, ['web-1', 'web-2'])
  await defineBatch(db, call)
  await post('/v1/batches/wave-1/:start')
  const row = await findBatch(db, 'wave-1')
  if (!row) throw new Error('The batch is gone.')
  const turn = {
    db,
    checkpointed: null,
    checkpoint: async () => {},
    progress: () => {},
    transaction: async <Value>(change: (tx: Tx) => Promise<Value>) => (await db.begin(change)) as Value,
  } as Partial<JobContext> as JobContext
  expect((await post('/v1/batches/wave-1/:reset')).status).toBe(202)
  expect(await makeEntries(turn, viewBatch(row, []), 'start')).toMatchObject({ matched: 2, entries: 0 })
  expect(await names()).toEqual([])
})

test('a start makes no entry of a record that has changed since it was read', async () => {
  const ids = await addFleet(db, ['web-1', 'web-2'])
  await defineBatch(db, call)
  await post('/v1/batches/wave-1/:start')
  const row = await findBatch(db, 'wave-1')
  if (!row) throw new Error('The batch is gone.')
  // Right after they were read one is switched off, and a person says of the other how it is to end.
  let reads = 0
  const meanwhile = async () => {
    reads += 1
    if (reads > 1) return
    await db`update instance set facts = facts || '{"running": false, "power_state": "off"}', revision = revision + 1
      where id = ${ids['web-1'] ?? ''}`
    await db`update instance set overrides = '{"stopped_after": true}', version = version + 1
      where id = ${ids['web-2'] ?? ''}`
  }
  const turn = {
    db,
    checkpointed: null,
    checkpoint: async () => {},
    progress: () => {},
    transaction: async <Value>(change: (tx: Tx) => Promise<Value>) => {
      await meanwhile()
      return (await db.begin(change)) as Value
    },
  } as Partial<JobContext> as JobContext
  const found = await makeEntries(turn, viewBatch(row, []), 'start')
  expect(found).toEqual({ looked: 2, matched: 2, entries: 2 })
  expect(reads).toBe(2)
  const entries =
    await db`select i.name, e.running from entry e join instance i on i.id = e.instance_id order by 1`
  expect(entries).toMatchObject([
    { name: 'web-1', running: false },
    { name: 'web-2', running: false },
  ])
})

test('a batch of which every entry was given up is finished, and says that nothing was migrated', async () => {
  await addFleet(db, ['web-1', 'web-2'])
  await startBatch(db, call)
  const entries = (await get('/v1/queue')).body.items
  for (const { id } of entries) {
    expect(await finishBatches(db)).toEqual([])
    await post(`/v1/queue/${String(id)}/:cancel`, {})
  }
  await lookOnce()
  await until(async () => (await finishBatches(db)).length === 1, { what: 'the batch to finish' })
  expect((await get('/v1/batches/wave-1')).body).toMatchObject({
    state: 'finished',
    message: 'Every entry was given up: nothing was migrated.',
  })
})

test('a reset of a batch that is defined says what it is, and changes nothing', async () => {
  await addFleet(db, ['web-1'])
  await startBatch(db, call)
  expect((await post('/v1/batches/wave-1/:reset')).body.entries).toBe(1)
  const { version } = (await get('/v1/batches/wave-1')).body
  const events = async () => (await db`select 1 from event where type like 'batch.%'`).length
  const before = await events()
  const again = await post('/v1/batches/wave-1/:reset')
  // What the first one takes away is on its way still.
  expect([again.status, again.body.entries]).toEqual([202, 1])
  expect(again.body.batch).toMatchObject({ state: 'defined', version })
  expect(await events()).toBe(before)
  await db`delete from entry`
  expect((await post('/v1/batches/wave-1/:reset')).body.entries).toBe(0)
})
