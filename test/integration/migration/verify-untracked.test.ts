import { beforeEach, describe, expect, test } from 'vitest'
import { provenAgainst } from '../../support/batch-world.ts'
import { driveEntry } from '../../support/drive-entry.ts'
import { entryOf, overlapsOf, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to } = world

beforeEach(() => lab.admin('DELETE /lab/faults'))

/** An entry of which no disk is tracked, copied and cut over. */
const untracked = async (ref: string) => {
  const entry = await world.ready(ref)
  await db`update entry_disk set change_id = null where entry_id = ${entry.id}::uuid`
  return entry
}

const offset = 50_331_648
const late = 'written when nobody looked'
const power = (ref: string, verb: 'start' | 'stop') => from.done(`POST /instances/${ref}/power`, { verb })
const write = async (ref: string) => {
  const path = `/instances/${ref}/disks/2000/bytes?offset=${offset}`
  expect((await from.call(`PUT ${path}`, Buffer.from(late))).status).toBeLessThan(300)
}
const lateBytes = async (machine: string | null) => {
  const path = `/instances/${machine}/disks/2000/bytes?offset=${offset}&length=${late.length}`
  return (await to.call(`GET ${path}`)).bytes.toString()
}
const expectStale = async (id: string) => {
  const { state, stage, reason, message, machineRef } = await entryOf(db, id)
  expect([state, stage, reason]).toEqual(['final-import', 'final', 'copy-stale'])
  expect(message).toContain('is not tracked')
  expect(await powerOf(to, machineRef ?? '')).toBe('off')
}
/** It is copied anew, and only that is certified. */
const expectFinished = async (id: string) => {
  await driveEntry(world, id, ['finished', 'error', 'conflict'])
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'finished', stage: 'complete' })
  expect(await provenAgainst(world, entry)).toEqual([])
  expect(await lateBytes(entry.machineRef)).toBe(late)
}

describe('an untracked source that wrote when nobody looked, and is off again', () => {
  test.each([
    ['its owner ran it', 'vm-101', true],
    ['its disk was written to while it was off', 'vm-102', false],
  ] as const)('%s after the copy: no target is started of that copy', async (_how, ref, runs) => {
    const { id, machineRef } = await untracked(ref)
    if (runs) await power(ref, 'start')
    if (runs) await power(ref, 'stop')
    await write(ref)
    await world.verify(id, { force: true })
    await expectStale(id)
    const starts = await lab.database.db`select 1 from lab.power_log where machine = ${machineRef}`
    expect(starts).toEqual([])
    await expectFinished(id)
    expect(await overlapsOf(lab)).toEqual([])
  })

  // promise: certificate
  test('while its target booted: that one is stopped, and what was written is copied first', async () => {
    const { id, machineRef } = await untracked('vm-106')
    await lab.admin('POST /lab/faults', { kind: 'error', call: 'guest', site: 'cloud', machine: machineRef })
    const job = await sendTo(world, id, 'final-verify')
    await world.worker.follow(job)
    expect(await powerOf(to, machineRef ?? '')).toBe('on')
    await write('vm-106')
    await lab.admin('DELETE /lab/faults')
    await world.worker.finish(job)
    await expectStale(id)
    await expectFinished(id)
  })
})

test('one that wrote nothing is read once more, and the certificate says that', async () => {
  const { id } = await untracked('vm-104')
  expect((await world.verify(id)).error).toBeNull()
  expect((await entryOf(db, id)).state).toBe('finished')
  const [row] = await db<{ checks: { name: string; observed: string }[] }[]>`
    select document -> 'checks' as checks from certificate where entry_id = ${id}::uuid`
  const read = row?.checks.filter(({ name }) => name.startsWith('source-disk-')) ?? []
  expect(read.length).toBeGreaterThan(0)
  expect([...new Set(read.map(({ observed }) => observed))]).toEqual(['as copied, by reading'])
})

test('a reading that is cut goes on behind the disks that were read, and the copy is certified', async () => {
  const { id } = await untracked('vm-103')
  const extents = await db<{ disk: string; count: number }[]>`
    select disk, count(*)::int as count from entry_extent where entry_id = ${id}::uuid group by disk order by disk`
  const [first] = extents
  expect(extents.length).toBe(2)
  const job = await sendTo(world, id, 'final-verify')
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', call: 'read', site: 'vcenter', machine: 'vm-103' },
    skip: first?.count,
  })
  expect((await world.worker.follow(job)).state).toBe('ready')
  expect((await jobOf(db, job)).checkpoint).toMatchObject({ source_read: { done: [first?.disk] } })
  await lab.admin('DELETE /lab/faults')
  expect((await world.worker.finish(job)).error).toBeNull()
  expect((await entryOf(db, id)).state).toBe('finished')
})
