import { beforeEach, describe, expect, test } from 'vitest'
import { enqueue } from '../../../src/ledger/jobs/enqueue.ts'
import { pauseWork } from '../../../src/ledger/jobs/pause.ts'
import { jobOfEntry } from '../../../src/migration/entry/apply-entry.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addFleet, emptyMigration, moveRow, restEntries, startBatch } from '../migration/batch-rows.ts'
import { clientOf, depsOver } from '../setup.ts'
import { eventTypes } from './inventory-rows.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))

beforeEach(() => emptyMigration(db))

/** A batch that runs and holds one instance that was running when it started. */
const begin = async () => {
  const { 'web-1': id = '' } = await addFleet(db, ['web-1'])
  await startBatch(db, call)
  await restEntries(db)
  const [entry] = (await call('GET', '/v1/queue')).body.items
  const path = `/v1/instances/${id}/overrides`
  return {
    entry: String(entry?.id),
    put: (json: Record<string, unknown>) => call('PUT', path, { json, headers: { 'if-match': '*' } }),
    clear: () => call('DELETE', path, { headers: { 'if-match': '*' } }),
    running: async () => (await call('GET', `/v1/queue/${String(entry?.id)}`)).body.running,
  }
}

/** The verification that the scheduler sends to an entry. */
const sendVerify = async (entry: string): Promise<string> => {
  const [sent] = await db.begin(async (tx) => {
    const jobs = await enqueue(tx, [
      jobOfEntry({ id: entry, name: 'wave-1' }, entry, { kind: 'final-verify' }),
    ])
    await tx`update entry set job_id = ${jobs[0]?.id ?? ''}::uuid where id = ${entry}::uuid`
    return jobs
  })
  return sent?.id ?? ''
}

describe('the overrides of an instance that a running batch holds', () => {
  test('say how its target ends, back and forth', async () => {
    const { put, clear, running } = await begin()
    expect(await running()).toBe(true)
    expect((await put({ stopped_after: true, comment: 'agreed' })).body.overrides).toEqual({
      stopped_after: true,
      comment: 'agreed',
    })
    expect(await running()).toBe(false)
    expect((await put({ started_after: true })).status).toBe(200)
    expect(await running()).toBe(true)
    expect((await put({ stopped_after: true })).status).toBe(200)
    expect((await clear()).status).toBe(204)
    expect(await running()).toBe(true)
    expect((await eventTypes(db)).filter((type) => type === 'entry.power-changed')).toHaveLength(4)
  })

  test('change nothing of the record that was taken', async () => {
    const { put, running } = await begin()
    const refused = await put({ cpus: 7, comment: 'more', stopped_after: true })
    expect([refused.status, refused.body.code]).toEqual([409, 'instance-frozen'])
    expect(refused.body.detail).toContain('cpus')
    expect(refused.body.detail).not.toContain('comment')
    expect(await running()).toBe(true)
  })

  test('are in time for the power while its verification only waits, in line or paused', async () => {
    const { entry, put, running } = await begin()
    await moveRow(db, entry, { state: 'worker-done', stage: 'complete' })
    await sendVerify(entry)
    await pauseWork(db, { scope: 'kind', name: 'final-verify', by: 'test', reason: 'Wait.' })
    expect((await put({ stopped_after: true })).status).toBe(200)
    expect(await running()).toBe(false)
  })

  test('come too late for the power while the target is verified, and in time for the rest', async () => {
    const { entry, put, running } = await begin()
    await moveRow(db, entry, { state: 'worker-done', stage: 'complete' })
    const job = await sendVerify(entry)
    // It has begun, and lets go meanwhile.
    await db`update job set started_at = now(), checkpoint = '{"settled": {}}' where id = ${job}::uuid`
    const refused = await put({ stopped_after: true })
    expect([refused.status, refused.body.code]).toEqual([409, 'instance-frozen'])
    expect(refused.body.detail).toContain('verification has begun')
    expect(await running()).toBe(true)
    expect((await put({ started_after: true, comment: 'as it is' })).status).toBe(200)
    await moveRow(db, entry, { state: 'conflict', stage: 'complete' })
    expect((await put({ stopped_after: true })).status).toBe(200)
    expect(await running()).toBe(false)
  })
})
