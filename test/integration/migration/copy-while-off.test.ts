import { expect, test } from 'vitest'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import type { DiskFacts } from '../../../src/domain/inventory/facts.ts'
import { provenAgainst } from '../../support/batch-world.ts'
import { afterWrites, createCopyWorker } from '../../support/copy-worker.ts'
import { driveEntry } from '../../support/drive-entry.ts'
import {
  entryOf,
  eventsOfEntry,
  overlapsOf,
  placeEntry,
  powerOf,
  sendTo,
  snapshotsOf,
} from '../../support/entry-world.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { instanceOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, worker } = world

/** Says at the source how a disk is attached, and lets a sync see it. */
const attach = async (ref: string, key: string, how: Partial<DiskFacts>): Promise<void> => {
  const { facts } = await instanceOf(db, world.source.name, ref)
  const disks = facts.disks.map((disk) => (disk.key === key ? { ...disk, ...how } : disk))
  await lab.admin(`PATCH /lab/sites/vcenter/instances/${ref}`, { facts: { disks } })
  await world.inventory.sync(world.source.name)
}

/** An entry whose machine is made, as it is placed by the batch. */
const placed = async (ref: string) => {
  const { id, facts } = await placeEntry(world, ref)
  const pools = Object.fromEntries((facts.disks as { key: string }[]).map(({ key }) => [key, 'local']))
  await db`update entry set placement = jsonb_set(placement, '{pools}', ${JSON.stringify(pools)}::text::jsonb)
    where id = ${id}::uuid`
  return id
}

const certifiedDisks = async (id: string) => {
  const [row] = await db<{ disks: { disk: string; source_digest: string; target_digest: string }[] }[]>`
    select document -> 'disks' as disks from certificate where entry_id = ${id}::uuid`
  return row?.disks ?? []
}

const expectCertified = async (id: string, ref: string, keys: readonly string[]) => {
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'finished', stage: 'complete' })
  expect(await powerOf(from, ref)).toBe('off')
  expect(await provenAgainst(world, entry)).toEqual([])
  const disks = await certifiedDisks(id)
  expect(disks.map(({ disk }) => disk)).toEqual(keys)
  for (const { source_digest: source, target_digest: target } of disks) expect(target).toBe(source)
  expect(await snapshotsOf(world, ref)).toEqual([])
  expect(await overlapsOf(lab)).toEqual([])
  expect(await checkInvariants(db)).toEqual([])
}

// promise: waived-disk
test('a disk outside snapshots is copied whole after the power-off, verified, and in the certificate', async () => {
  await attach('vm-103', '2001', { mode: 'independent' })
  const id = await placed('vm-103')
  await worker.finish(await sendTo(world, id, 'import-instance'))
  expect(await powerOf(from, 'vm-103')).toBe('on')
  const [dependent, independent] = await listEntryDisks(db, id)
  expect(dependent?.cycle).toMatchObject({ n: 1, state: 'whole' })
  expect(independent).toMatchObject({ disk: '2001', cycle: null })
  await driveEntry(world, id, ['finished', 'error', 'conflict'])
  await expectCertified(id, 'vm-103', ['2000', '2001'])
})

test('a machine of which every disk is outside snapshots waits for its window, and no snapshot is made of it', async () => {
  const id = await placed('vm-202')
  await driveEntry(world, id, ['finished', 'error', 'conflict'])
  await expectCertified(id, 'vm-202', ['2000'])
  const story = await eventsOfEntry(db, id)
  expect(story[0]).toBe('entry.cutover-begin')
  expect(await db`select 1 from effect where kind = 'source-snapshot' and subject_id = ${id}`).toEqual([])
})

test('a source that somebody starts while such a disk is copied is switched off again, and copied anew', async () => {
  await attach('vm-104', '2000', { mode: 'independent' })
  const id = await placed('vm-104')
  const meddling = createCopyWorker(
    world,
    afterWrites(1, () => from.done('POST /instances/vm-104/power', { verb: 'start' })),
  )
  const job = await meddling.finish(await sendTo(world, id, 'cutover-instance'))
  expect(job).toMatchObject({ state: 'succeeded', result: { cycle: 2 } })
  await driveEntry(world, id, ['finished', 'error', 'conflict'])
  await expectCertified(id, 'vm-104', ['2000'])
})

test('a source whose disk was written to after such a copy is copied anew before anything is certified', async () => {
  await attach('vm-102', '2000', { mode: 'independent' })
  const id = await placed('vm-102')
  await worker.finish(await sendTo(world, id, 'cutover-instance'))
  await from.done('POST /instances/vm-102/power', { verb: 'start' })
  await from.done('POST /instances/vm-102/power', { verb: 'stop' })
  await world.verify(id)
  expect(await entryOf(db, id)).toMatchObject({ state: 'final-import', reason: 'copy-stale' })
  await driveEntry(world, id, ['finished', 'error', 'conflict'])
  await expectCertified(id, 'vm-102', ['2000'])
})

test('a copy that is cut, and whose source runs before it goes on, is never certified as it is then', async () => {
  await attach('vm-101', '2000', { mode: 'independent' })
  const id = await placed('vm-101')
  const job = await sendTo(world, id, 'cutover-instance')
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'write', site: 'cloud', skip: 2 })
  expect((await worker.follow(job)).state).toBe('ready')
  await lab.admin('DELETE /lab/faults')
  const [cut] = await listEntryDisks(db, id)
  expect(cut?.cycle).toMatchObject({ n: 1, state: 'open', snapshot: null })
  expect((await db`select at from entry_extent where entry_id = ${id}::uuid`).length).toBeGreaterThan(0)
  await from.done('POST /instances/vm-101/power', { verb: 'start' })
  await from.done('POST /instances/vm-101/power', { verb: 'stop' })
  await worker.finish(job)
  await driveEntry(world, id, ['finished', 'error', 'conflict'])
  expect(await eventsOfEntry(db, id)).toContain('entry.copy-stale')
  await expectCertified(id, 'vm-101', ['2000'])
})

// promise: waived-disk
test('an entry whose copy leaves a disk out says so before its source is switched off', async () => {
  const id = await placed('vm-106')
  await db`update entry set facts = jsonb_set(facts, '{disks}',
    (facts -> 'disks') || jsonb_build_array(facts -> 'disks' -> 0 || '{"key": "2009", "mode": "independent"}'))
    where id = ${id}::uuid`
  await db`update instance set facts = (select facts from entry where id = ${id}::uuid) where ref = 'vm-106'`
  const { facts } = await entryOf(db, id)
  await lab.admin('PATCH /lab/sites/vcenter/instances/vm-106', { facts: { disks: facts.disks } })
  const job = await worker.finish(await sendTo(world, id, 'cutover-instance'))
  expect(job).toMatchObject({ state: 'failed', error: { code: 'disks-left-out' } })
  expect(await powerOf(from, 'vm-106')).toBe('on')
  expect(await db`select kind from effect where job_id = ${job.id}::uuid`).toEqual([])
})
