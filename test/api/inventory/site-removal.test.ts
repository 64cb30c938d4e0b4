import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { holdSites } from '../../../db/queries/entries/entries-using-site.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addFleet, emptyMigration, restEntries, startBatch } from '../migration/batch-rows.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db))
const remove = (what: string) => call('DELETE', `/v1/${what}`, { headers: { 'if-match': '*' } })

beforeEach(() => emptyMigration(db))

/** A batch whose only entry has its place on the target, and no job. */
const begin = async (): Promise<string> => {
  await addFleet(db, ['web-1'])
  await startBatch(db, call, { include_expression: 'true' })
  await restEntries(db)
  const [entry] = (await call('GET', '/v1/queue')).body.items
  await db`update entry set target_id = (select id from site where name = 'oslo')`
  return String(entry?.id)
}

const expectNeeded = async (what: string, detail: string) => {
  const { status, body } = await remove(what)
  expect([status, body.code]).toEqual([409, 'site-in-use'])
  expect(body.detail).toContain(detail)
}

test.each([
  ['idle', 'final'],
  ['worker-done', 'complete'],
  ['conflict', 'complete'],
  ['error', 'final'],
] as const)('a target is not removed under an entry that is %s', async (state, stage) => {
  await begin()
  await db`update entry set state = ${state}, stage = ${stage}`
  await expectNeeded('targets/oslo', `web-1 in wave-1 (${state})`)
})

test('a source is not removed while an entry that was canceled may still owe it its start', async () => {
  const id = await begin()
  await db`update entry set state = 'idle', stage = 'final', source_stopped_at = now()`
  expect((await call('POST', `/v1/queue/${id}/:cancel`, { json: {} })).status).toBeLessThan(300)
  await db`update instance set frozen_by = null`
  await expectNeeded('sources/paris', 'web-1 in wave-1 (canceled)')
})

test('neither is removed while something of an entry is still to be undone there, and both are when all is over', async () => {
  const id = await begin()
  await db`update entry set state = 'finished', stage = 'complete'`
  await db`update instance set frozen_by = null`
  await db`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state)
    values (${uuidv7()}::uuid, ${uuidv7()}::uuid, 'entry', ${id}, 1, 'target-start', 'oslo', 'start-1', 'debt')`
  await expectNeeded('targets/oslo', 'target-start "start-1"')
  await db`update effect set state = 'undone'`
  expect((await remove('targets/oslo')).status).toBe(204)
  expect((await remove('sources/paris')).status).toBe(204)
})

test('one that an entry is about to be placed on is held until that is written', async () => {
  await addFleet(db, ['web-1'])
  await startBatch(db, call, { include_expression: 'true' })
  await restEntries(db)
  const [site] = await db<{ id: string }[]>`select id from site where name = 'oslo'`
  const oslo = site?.id ?? ''
  let asked: ReturnType<typeof remove> | undefined
  await db.begin(async (tx: Tx) => {
    expect([...(await holdSites(tx, [oslo]))]).toEqual([oslo])
    asked = remove('targets/oslo')
    await tx`update entry set target_id = ${oslo}::uuid, state = 'creating'`
  })
  expect((await asked)?.body).toMatchObject({ code: 'site-in-use' })
})
