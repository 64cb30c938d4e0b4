import { expect, test } from 'vitest'
import type { EntryRow } from '../../../db/schema/migration.ts'
import { entryOf, overlapsOf, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to } = world

const start = (ref: string) => from.done(`POST /instances/${ref}/power`, { verb: 'start' })
const stop = (ref: string) => from.done(`POST /instances/${ref}/power`, { verb: 'stop' })
const trackedOf = async (ref: string) => {
  const [row] = await db<{ tracked: boolean }[]>`
    select bool_and(change_id is not null) as tracked from entry_disk d join entry e on e.id = d.entry_id
    where e.facts ->> 'ref' = ${ref}`
  return row?.tracked
}

const expectStale = async (entry: EntryRow) => {
  expect(await entryOf(db, entry.id)).toMatchObject({
    state: 'final-import',
    stage: 'final',
    reason: 'copy-stale',
  })
  expect(await powerOf(from, String(entry.facts.ref))).toBe('off')
  expect(await powerOf(to, entry.machineRef ?? '')).toBe('off')
  expect(await overlapsOf(lab)).toEqual([])
}

test('a source that runs, and by its tracking has written nothing, is switched off and verified', async () => {
  const entry = await world.ready('vm-101')
  expect(await trackedOf('vm-101')).toBe(true)
  // A guest writes a line to its log as it boots; a machine without one writes nothing.
  await lab.database.db`update lab.disk set profile = jsonb_set(profile, '{boot}', 'null')
    where site = 'vcenter' and machine = 'vm-101'`
  await start('vm-101')
  const job = await world.verify(entry.id)
  const after = await entryOf(db, entry.id)
  expect([after.state, after.message, job.error]).toMatchObject(['finished', {}, null])
  expect(await powerOf(from, 'vm-101')).toBe('off')
  expect(after.sourceStoppedAt?.getTime()).toBeGreaterThan(entry.sourceStoppedAt?.getTime() ?? 0)
  const kinds = (await effectsOf(db, job.id)).map(({ kind }) => kind)
  expect([...new Set(kinds)]).toEqual(['source-stop', 'target-fit', 'target-start'])
  expect(await overlapsOf(lab)).toEqual([])
})

test('one that is off again, and has written meanwhile, is noticed all the same', async () => {
  const entry = await world.ready('vm-102')
  await from.call('PUT /instances/vm-102/disks/2000/bytes?offset=70000', Buffer.from('behind our back'))
  await world.verify(entry.id, { force: true })
  await expectStale(entry)
})

test('where nothing is tracked, running is enough to make the copy stale, force or not', async () => {
  const entry = await world.ready('vm-209')
  expect(await trackedOf('vm-209')).toBe(false)
  await start('vm-209')
  await world.verify(entry.id, { force: true })
  await expectStale(entry)
})

test('that it ran is not forgotten when the worker is cut right after the power-off', async () => {
  const entry = await world.ready('vm-211')
  await db`update entry_disk set change_id = null where entry_id = ${entry.id}::uuid`
  await start('vm-211')
  const id = await sendTo(world, entry.id, 'final-verify')
  // Looked at twice before it is asked to go; the look after that fails, and the try ends there.
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'power', site: 'vcenter', skip: 2 })
  expect((await world.worker.follow(id)).state).toBe('ready')
  await lab.admin('DELETE /lab/faults')
  expect(await powerOf(from, 'vm-211')).toBe('off')
  await db`update job set checkpoint = null where id = ${id}::uuid`
  await world.worker.finish(id)
  await expectStale(entry)
})

// promise: certificate
test('what the source wrote since is in the next copy, and only that one is certified', async () => {
  const entry = await world.ready('vm-104')
  await start('vm-104')
  await stop('vm-104')
  await from.call('PUT /instances/vm-104/disks/2000/bytes?offset=12345', Buffer.from('after the cutover'))
  await world.verify(entry.id)
  await expectStale(entry)
  await world.worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
  await world.verify(entry.id)
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished' })
  const path = `/instances/${entry.machineRef}/disks/2000/bytes?offset=12345&length=17`
  expect((await to.call(`GET ${path}`)).bytes.toString()).toBe('after the cutover')
})
