import { describe, expect, test } from 'vitest'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import { afterWrites, createCopyWorker } from '../../support/copy-worker.ts'
import {
  createEntryWorld,
  differences,
  entryOf,
  overlapsOf,
  placeEntry,
  powerOf,
  sendTo,
  snapshotsOf,
} from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)
const worker = createCopyWorker(world)
const sync = async (entryId: string) => worker.finish(await sendTo(world, entryId, 'import-instance'))

describe('what others do to a source while it is copied is named', () => {
  test('tracking that was begun anew: all of it is copied again', async () => {
    const entry = await placeEntry(world, 'vm-101')
    const first = await sync(entry.id)
    for (const change_tracking of [false, true])
      await world.from.done('POST /instances/vm-101/reconfigure', { change_tracking })
    const again = await sync(entry.id)
    expect(again.result).toMatchObject({
      bytes: (first.result as { bytes: number }).bytes,
      drift: [{ code: 'tracking-reset' }],
    })
    expect(await differences(world, await entryOf(db, entry.id))).toEqual([])
  })

  test('a foreign snapshot and another host are noted; ours is not', async () => {
    const entry = await placeEntry(world, 'vm-102')
    await world.from.done('POST /instances/vm-102/snapshots', {
      ...{ name: 'before the update', memory: false, quiesce: false },
    })
    await db`update entry set facts = facts || '{"host": "host-99"}'::jsonb where id = ${entry.id}::uuid`
    const job = await sync(entry.id)
    expect((job.result as { drift: { code: string }[] }).drift.map(({ code }) => code)).toEqual([
      'snapshot-added',
      'host-changed',
    ])
    expect(await snapshotsOf(world, 'vm-102')).toEqual(['before the update'])
  })

  test('a disk of another size ends the copy as a conflict', async () => {
    const entry = await placeEntry(world, 'vm-104')
    const { json } = await world.from.call('GET /instances/vm-104')
    const { facts } = json as { facts: { disks: { capacity: number }[] } }
    const disks = facts.disks.map((disk) => ({ ...disk, capacity: disk.capacity * 2 }))
    await lab.admin('PATCH /lab/sites/vcenter/instances/vm-104', { facts: { disks } })
    const job = await sync(entry.id)
    expect(job).toMatchObject({ state: 'failed', error: { code: 'source-drifted', class: 'conflict' } })
    expect(job.error?.message).toContain('resized: 2000')
    expect(await snapshotsOf(world, 'vm-104')).toEqual([])
  })
})

test('a source that became another machine under its copy ends it for a person, without our snapshot', async () => {
  const entry = await placeEntry(world, 'vm-111')
  const become = () =>
    lab.admin('PATCH /lab/sites/vcenter/instances/vm-111', { uuid: '33333333-3333-4333-8333-333333333333' })
  const meddled = createCopyWorker(world, afterWrites(1, become))
  const job = await meddled.finish(await sendTo(world, entry.id, 'import-instance'))
  expect(job).toMatchObject({ state: 'succeeded', result: { ended: 'identity-changed', debts: 0 } })
  expect(await entryOf(db, entry.id)).toMatchObject({
    ...{ state: 'error', stage: 'background', reason: 'identity-changed', jobId: null },
    error: { code: 'identity-changed' },
  })
  expect(await snapshotsOf(world, 'vm-111')).toEqual([])
})

test('a snapshot that cannot be removed is a debt, and the copy is as good as ever', async () => {
  const entry = await placeEntry(world, 'vm-106')
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', call: 'snapshot-remove', site: 'vcenter' },
    ...{ code: 'platform-permission', failure: 'refused' },
  })
  const job = await sync(entry.id)
  await lab.admin('DELETE /lab/faults')
  expect(job).toMatchObject({ state: 'succeeded', result: { debts: 1 } })
  expect(await effectsOf(db, job.id)).toMatchObject([
    { kind: 'source-snapshot', state: 'debt', error: { code: 'platform-permission' } },
  ])
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'idle', stage: 'final' })
  // The next copy has a snapshot of its own, and both are told apart.
  expect(await sync(entry.id)).toMatchObject({ result: { cycle: 2, debts: 0, drift: [] } })
  const own = new RegExp(`^drover-${entry.id}-${job.id.slice(-12)}-1$`)
  expect(await snapshotsOf(world, 'vm-106')).toEqual([expect.stringMatching(own)])
})

test('a machine without tracking is copied whole each time', async () => {
  const entry = await placeEntry(world, 'vm-209')
  const first = await sync(entry.id)
  expect(await sync(entry.id)).toMatchObject({ result: { cycle: 2, bytes: first.result?.bytes } })
  expect((await listEntryDisks(db, entry.id)).map(({ changeId }) => changeId)).toEqual([null])
  expect(await differences(world, await entryOf(db, entry.id))).toEqual([])
})

test.each(['snapshot-create', 'snapshot-remove', 'write', 'shutdown', 'reconfigure'])(
  'the answer to %s is lost on the way of a cutover: it is done once',
  async (call) => {
    const entry = await placeEntry(world, 'vm-107')
    await lab.admin('POST /lab/faults', { kind: 'lost-answer', call, times: 1 })
    const job = await worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
    const { json } = await lab.admin('GET /lab/faults')
    expect((json as { faults: { struck: number }[] }).faults).toMatchObject([{ struck: 1 }])
    await lab.admin('DELETE /lab/faults')
    expect(job).toMatchObject({ state: 'succeeded', result: { cycle: 1, debts: 0 } })
    const after = await entryOf(db, entry.id)
    expect(after).toMatchObject({ state: 'worker-done' })
    expect(await differences(world, after)).toEqual([])
    expect(await snapshotsOf(world, 'vm-107')).toEqual([])
    expect(await powerOf(world.from, 'vm-107')).toBe('off')
    // Free for the next: the source runs, nothing of ours is left.
    await lab.admin('POST /lab/faults', { kind: 'lost-answer', call: ['start', 'destroy'], times: 2 })
    const orders = { source: 'start', target: 'destroy' }
    const gone = await worker.finish(await sendTo(world, entry.id, 'withdraw-entry', orders))
    await lab.admin('DELETE /lab/faults')
    expect(gone).toMatchObject({ state: 'succeeded', result: { source: 'started' } })
    expect(await powerOf(world.from, 'vm-107')).toBe('on')
    expect(await overlapsOf(lab)).toEqual([])
    await db`delete from entry where id = ${entry.id}::uuid`
  },
)
