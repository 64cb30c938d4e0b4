import { expect, test } from 'vitest'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import { createCopyWorker } from '../../support/copy-worker.ts'
import {
  createEntryWorld,
  entryOf,
  overlapsOf,
  ownerOf,
  placeEntry,
  powerOf,
  sendTo,
  snapshotsOf,
} from '../../support/entry-world.ts'
import { eventsOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)
const worker = createCopyWorker(world)

const withdraw = async (
  entryId: string,
  source: 'keep' | 'start' | 'start-any',
  target: 'keep' | 'destroy',
) => worker.finish(await sendTo(world, entryId, 'withdraw-entry', { source, target }))

const isThere = async (machine: string) => (await world.to.call(`GET /instances/${machine}`)).status === 200

/** An entry that was cut over: its source is off on our account. */
const cutOver = async (ref: string) => {
  const entry = await placeEntry(world, ref)
  await worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
  return entryOf(db, entry.id)
}

test('our copy is stopped and gone before the source runs again, and nothing is left', async () => {
  const entry = await cutOver('vm-101')
  const machine = entry.machineRef ?? ''
  await world.to.done(`POST /instances/${machine}/power`, { verb: 'start' })
  await world.inventory.sync('cloud', { role: 'target' })
  await world.from.done('POST /instances/vm-101/snapshots', {
    ...{ name: `drover-${entry.id}-9`, memory: false, quiesce: false },
  })
  const job = await withdraw(entry.id, 'start', 'destroy')
  expect(job).toMatchObject({
    state: 'succeeded',
    result: { source: 'started', destroyed: [machine], snapshots: 1 },
  })
  expect(await powerOf(world.from, 'vm-101')).toBe('on')
  expect(await isThere(machine)).toBe(false)
  const [row] = await db<
    { id: string; goneAt: Date | null }[]
  >`select id, gone_at from machine where ref = ${machine}`
  expect(row?.goneAt).not.toBeNull()
  expect(await eventsOf(db, row?.id ?? '')).toEqual(['machine.vanished'])
  expect(await snapshotsOf(world, 'vm-101')).toEqual([])
  expect(await overlapsOf(lab)).toEqual([])
  expect(await listEntryDisks(db, entry.id)).toEqual([])
  expect(await entryOf(db, entry.id)).toMatchObject({
    ...{ machineRef: null, placement: null, sourceStoppedAt: null, syncedAt: null, jobId: null },
    state: 'worker-done',
  })
})

// promise: one-copy
test('while the target cannot be seen nothing is started', async () => {
  const entry = await cutOver('vm-102')
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', call: 'find-owned', site: 'cloud' },
    ...{ code: 'platform-unreachable', failure: 'unknown' },
  })
  const id = await sendTo(world, entry.id, 'withdraw-entry', { source: 'start', target: 'keep' })
  expect(await worker.follow(id)).toMatchObject({ state: 'ready', environmentAttempt: 1 })
  expect(await powerOf(world.from, 'vm-102')).toBe('off')
  await lab.admin('DELETE /lab/faults')
  expect(await worker.finish(id)).toMatchObject({ state: 'succeeded', result: { source: 'started' } })
  expect(await powerOf(world.from, 'vm-102')).toBe('on')
})

test("a stranger's machine is never touched, whatever was recorded", async () => {
  const entry = await cutOver('vm-104')
  const machine = entry.machineRef ?? ''
  await world.to.call(`PUT /instances/${machine}/owner`, { owner: ownerOf('somebody-else') })
  const job = await withdraw(entry.id, 'start', 'destroy')
  expect(job).toMatchObject({ state: 'succeeded', result: { source: 'started', destroyed: [] } })
  expect(await isThere(machine)).toBe(true)
})

// promise: own-by-id
test('a machine whose making was never answered is found by its tag and goes', async () => {
  const entry = await placeEntry(world, 'vm-106')
  await db`update entry set machine_ref = null where id = ${entry.id}::uuid`
  const job = await withdraw(entry.id, 'keep', 'destroy')
  expect(job).toMatchObject({ state: 'succeeded', result: { source: 'kept', destroyed: [entry.machineRef] } })
  expect(await isThere(entry.machineRef ?? '')).toBe(false)
})

test('a source that is another machine now is started when a person has given the entry up, and stays owed until then', async () => {
  const other = await cutOver('vm-109')
  await lab.admin('PATCH /lab/sites/vcenter/instances/vm-109', {
    uuid: '22222222-2222-4222-8222-222222222222',
  })
  expect(await withdraw(other.id, 'start', 'keep')).toMatchObject({
    state: 'failed',
    error: { code: 'identity-changed' },
  })
  expect(await powerOf(world.from, 'vm-109')).toBe('off')
  expect((await entryOf(db, other.id)).sourceStoppedAt).not.toBeNull()
  expect(await withdraw(other.id, 'start-any', 'keep')).toMatchObject({ result: { source: 'started' } })
  expect(await powerOf(world.from, 'vm-109')).toBe('on')
  expect((await entryOf(db, other.id)).sourceStoppedAt).toBeNull()
})

test('a source that was not switched off by us is not started', async () => {
  const resting = await cutOver('vm-112')
  expect(await withdraw(resting.id, 'start', 'keep')).toMatchObject({ result: { source: 'not-ours' } })
  expect(await powerOf(world.from, 'vm-112')).toBe('off')
})

test('the withdrawal of a reset ends with the entry gone and the instance free', async () => {
  const entry = await cutOver('vm-110')
  await db`update instance set frozen_by = 'batch/wave' where id = ${entry.instanceId}::uuid`
  await db`update entry set intent = '{"verb":"reset","force":true}'::jsonb where id = ${entry.id}::uuid`
  expect(await withdraw(entry.id, 'start', 'destroy')).toMatchObject({ state: 'succeeded' })
  expect(await db`select 1 from entry where id = ${entry.id}::uuid`).toHaveLength(0)
  expect(await db`select frozen_by from instance where id = ${entry.instanceId}::uuid`).toEqual([
    { frozenBy: null },
  ])
  expect(await powerOf(world.from, 'vm-110')).toBe('on')
})

test('who is not at the entry any more changes nothing', async () => {
  const entry = await cutOver('vm-111')
  const id = await sendTo(world, entry.id, 'withdraw-entry', { source: 'start', target: 'destroy' })
  await db`update entry set job_id = null where id = ${entry.id}::uuid`
  expect(await worker.finish(id)).toMatchObject({ state: 'failed', error: { code: 'entry-moved-on' } })
  expect(await isThere(entry.machineRef ?? '')).toBe(true)
  expect(await powerOf(world.from, 'vm-111')).toBe('off')
})
