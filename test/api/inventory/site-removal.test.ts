import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import type { Queryable, Tx } from '../../../db/client.ts'
import { holdSites } from '../../../db/queries/entries/entries-using-site.ts'
import { systemClock } from '../../../src/clock.ts'
import { createDatabase } from '../../support/postgres.ts'
import { sampleNetwork } from '../../unit/inventory/samples.ts'
import { addFleet, emptyMigration, restEntries, startBatch } from '../migration/batch-rows.ts'
import { clientOf, depsOver } from '../setup.ts'
import { addNetwork, eventTypes } from './inventory-rows.ts'

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
  // Nothing is left to wait for: its end is that it is removed.
  const { body } = await remove('sources/paris')
  expect(body.remedy).toContain('remove them from the queue')
})

test('neither is removed while something of an entry is still to be undone there, and both are when all is over', async () => {
  const id = await begin()
  await db`update entry set state = 'finished', stage = 'complete'`
  await db`update instance set frozen_by = null`
  await db`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state)
    values (${uuidv7()}::uuid, ${uuidv7()}::uuid, 'entry', ${id}, 1, 'target-start', 'oslo', 'start-1', 'debt')`
  await expectNeeded('targets/oslo', 'target-start "start-1"')
  await db`update effect set state = 'undone'`
  expect((await remove('targets/oslo?confirm_finished=1')).status).toBe(204)
  expect((await remove('sources/paris?confirm_finished=1')).status).toBe(204)
})

test.each([
  ['sources/paris', 'instance', 'instance-cycle'],
  ['targets/oslo', 'machine', 'operation-snapshot'],
  ['targets/oslo', 'template', 'template-swap'],
  ['targets/oslo', 'image', 'image-import'],
])(
  '%s is not removed while something of the subject %s there (%s) is still to be undone',
  async (what, subject, kind) => {
    await addFleet(db, ['web-1'])
    await db`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state)
    values (${uuidv7()}::uuid, ${uuidv7()}::uuid, ${subject}, ${uuidv7()}, 1, ${kind}, ${what.split('/')[1] ?? ''}, 'one', 'debt')`
    await expectNeeded(what, `${kind} "one"`)
    await db`update effect set state = 'undone'`
    expect((await remove(what)).status).toBe(204)
  },
)

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

/** Two machines that were migrated from paris to oslo, with what people have said about them and their network. */
const beginFinished = async (): Promise<void> => {
  const ids = await addFleet(db, ['web-1', 'web-2'])
  await startBatch(db, call, { include_expression: 'true' })
  await restEntries(db)
  await finish(['web-1', 'web-2'])
  const [paris] = await db<{ id: string }[]>`select id from site where name = 'paris'`
  const network = await addNetwork(db, paris?.id ?? '', sampleNetwork())
  await db`update network set overrides = '{"network": "blue"}' where id = ${network}::uuid`
  await db`update instance set overrides = '{"name": "www"}' where name = 'web-1'`
  await db`insert into waiver (id, rule, instance_id, reason, created_by)
    values (${uuidv7()}::uuid, 'vgpu', ${ids['web-1'] ?? ''}::uuid, 'known', 'ann')`
  await db`delete from warning`
  await db`
    insert into warning (id, type, entity_type, entity_id, entity_name, messages)
    select gen_random_uuid(), 'said-of-it', thing, id::text, name, '[]' from (
      select 'instance' as thing, id, name from instance union all
      select 'machine', id, name from machine where target_id in (select id from site)) said`
}

/** As final-verify leaves them. */
const finish = async (names: readonly string[], on: Queryable = db): Promise<void> => {
  const oslo = on`(select id from site where name = 'oslo')`
  await on`
    update entry set state = 'finished', stage = 'complete', machine_ref = facts ->> 'name', target_id = ${oslo}
    where facts ->> 'name' = any(${names as string[]})`
  await on`update instance set frozen_by = null where name = any(${names as string[]})`
  for (const name of names)
    await on`
      insert into machine (id, target_id, ref, name, uuid, project, host, power, cpus, memory, origin)
      values (${uuidv7()}::uuid, ${oslo}, ${name}, ${name}, ${uuidv7()}, 'default', 'node-1', 'on', 1, 1, 'migrated')`
}

const counted = async () =>
  await db`select (select count(*)::int from instance) as instances, (select count(*)::int from machine) as machines,
    (select count(*)::int from waiver) as waivers, (select count(*)::int from network) as networks,
    (select count(*)::int from site) as sites`

// promise: forget-confirmed
test.each([
  ['sources/paris', '2 machines, 1 override, 1 network mapping and 1 waiver'],
  ['targets/oslo', '2 machines'],
])(
  'removing %s tells which finished migrations it forgets and what else goes, and does nothing before their number is confirmed',
  async (what, goes) => {
    await beginFinished()
    const before = await counted()
    for (const query of ['', '?confirm_finished=0', '?confirm_finished=1', '?confirm_finished=3']) {
      const { status, body } = await remove(`${what}${query}`)
      expect([status, body.code, body.field]).toEqual([409, 'finished-not-confirmed', 'confirm_finished'])
      expect(body).toMatchObject({ matched: 2, sample: ['web-1', 'web-2'] })
      expect(body.detail).toContain(goes)
      expect(body.remedy).toContain('confirm_finished 2')
    }
    expect(await counted()).toEqual(before)
    expect(await eventTypes(db)).not.toContain(`${what.slice(0, 6)}.deleted`)
    expect((await call('GET', `/v1/${what}`)).body.forgets).toMatchObject({ finished: 2, machines: 2 })
    expect((await remove(`${what}?confirm_finished=2`)).status).toBe(204)
    const left = what === 'sources/paris' ? 'machine' : 'instance'
    expect(await db`select distinct entity_type from warning where type = 'said-of-it'`).toEqual([
      { entityType: left },
    ])
  },
)

test('a migration that finishes between the question and the answer is not forgotten unasked', async () => {
  await beginFinished()
  await db`update entry set state = 'idle', target_id = null where facts ->> 'name' = 'web-2'`
  await db`delete from machine where name = 'web-2'`
  let asked: ReturnType<typeof remove> | undefined
  const [oslo] = await db<{ id: string }[]>`select id from site where name = 'oslo'`
  // Its removal waits for the site, and reads what is finished after that.
  await db.begin(async (tx: Tx) => {
    await holdSites(tx, [oslo?.id ?? ''])
    asked = remove('targets/oslo?confirm_finished=1')
    await finish(['web-2'], tx)
  })
  expect((await asked)?.body).toMatchObject({ code: 'finished-not-confirmed', matched: 2 })
  expect((await call('GET', '/v1/targets/oslo')).status).toBe(200)
})

test('a removal in parts says how many finished migrations the next part has to confirm', async () => {
  await beginFinished()
  // A clock by which every look takes long: each request removes one part.
  let lookedMs = 0
  const clock = { ...systemClock, monotonicMs: () => (lookedMs += 60_000) }
  const hurried = clientOf(depsOver(db, { clock }))
  const part = (query: string) =>
    hurried('DELETE', `/v1/sources/paris${query}`, { headers: { 'if-match': '*' } })
  const first = await part('?confirm_finished=2')
  expect([first.status, first.body]).toEqual([202, { removing: true, instances_left: 0, finished_left: 2 }])
  expect((await part('')).body).toMatchObject({ code: 'finished-not-confirmed', matched: 2 })
  expect((await remove('sources/paris?confirm_finished=2')).status).toBe(204)
})
