import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { DiskRef, DisksPort, Extent } from '../../../src/platforms/ports/disks.ts'
import {
  callOf,
  done,
  expectError,
  made,
  nowhere,
  type PlatformUnderTest,
  portIn,
  type TestMachine,
} from './world.ts'

const kib = 1024

const diskOf = (machine: TestMachine, snapshot?: string): DiskRef => ({
  machine: machine.ref,
  disk: machine.disk.key,
  ...(snapshot === undefined ? {} : { snapshot }),
})

const extentsOf = async (disks: DisksPort, disk: DiskRef): Promise<Extent[]> => {
  const all: Extent[] = []
  for await (const page of disks.extents(callOf(), disk)) all.push(...page)
  return all
}

const holds = (extents: readonly Extent[], range: Extent): boolean => {
  let at = range.offset
  for (const extent of extents)
    if (extent.offset <= at && extent.offset + extent.length > at) at = extent.offset + extent.length
  return at >= range.offset + range.length
}

const takeSnapshot = (
  world: PlatformUnderTest,
  machine: TestMachine,
  snapshotName: string,
): Promise<string> =>
  made(
    portIn(world, 'machines').createSnapshot(callOf(), machine.ref, {
      snapshotName,
      memory: false,
      quiesce: false,
    }),
  )

export const testReading = (world: PlatformUnderTest): void => {
  const disks = () => portIn(world, 'disks')

  test('any cut of a disk into ranges gives the same bytes', async () => {
    const machine = await world.machine()
    const disk = diskOf(machine)
    const length = Math.min(machine.disk.capacity, 1024 * kib)
    const whole = await disks().read(callOf(), disk, { offset: 0, length })
    expect(whole.length).toBe(length)
    for (const step of [100_000, 65_536, length]) {
      const pieces: Buffer[] = []
      for (let offset = 0; offset < length; offset += step)
        pieces.push(await disks().read(callOf(), disk, { offset, length: Math.min(step, length - offset) }))
      expect(Buffer.concat(pieces).equals(whole), `in steps of ${step}`).toBe(true)
    }
  })

  test('a range beyond the end is refused, and so is a disk that is not there', async () => {
    const machine = await world.machine()
    const beyond = { offset: machine.disk.capacity - 512, length: 1024 }
    await expectError(disks().read(callOf(), diskOf(machine), beyond), { failure: 'refused' })
    const range = { offset: 0, length: 512 }
    for (const disk of [
      { machine: nowhere, disk: machine.disk.key },
      { machine: machine.ref, disk: 'no-such-disk' },
      { ...diskOf(machine), snapshot: 'snapshot-999999999' },
    ])
      await expectError(disks().read(callOf(), disk, range), { code: 'platform-absent', failure: 'absent' })
  })

  test('what no extent names is zeros', async () => {
    const machine = await world.machine()
    const extents = await extentsOf(disks(), diskOf(machine))
    let end = 0
    for (const extent of [...extents, { offset: machine.disk.capacity, length: 0 }]) {
      expect(extent.offset).toBeGreaterThanOrEqual(end)
      const gap = { offset: end, length: Math.min(extent.offset - end, 256 * kib) }
      if (gap.length > 0) {
        const bytes = await disks().read(callOf(), diskOf(machine), gap)
        expect(bytes.every((byte) => byte === 0)).toBe(true)
      }
      end = extent.offset + extent.length
    }
    expect(end).toBe(machine.disk.capacity)
  })
}

export const testWriting = (world: PlatformUnderTest): void => {
  const disks = () => portIn(world, 'disks')

  test('what is written is read, by another process too, and its neighbours stay', async () => {
    const machine = await world.machine()
    const disk = diskOf(machine)
    const around = { offset: 256 * kib, length: 512 * kib }
    const before = await disks().read(callOf(), disk, around)
    const bytes = randomBytes(100_000)
    await disks().write(callOf(), disk, 300_000, bytes)
    await disks().write(callOf(), disk, 300_000, bytes)
    const at = 300_000 - around.offset
    const wanted = Buffer.concat([before.subarray(0, at), bytes, before.subarray(at + bytes.length)])
    expect((await disks().read(callOf(), disk, around)).equals(wanted)).toBe(true)
    expect(holds(await extentsOf(disks(), disk), { offset: 300_000, length: bytes.length })).toBe(true)
  })

  test('a write beyond the end is refused and changes nothing', async () => {
    const machine = await world.machine()
    const { capacity } = machine.disk
    const last = { offset: capacity - 512, length: 512 }
    const before = await disks().read(callOf(), diskOf(machine), last)
    const beyond = disks().write(callOf(), diskOf(machine), last.offset, randomBytes(1024))
    await expectError(beyond, { failure: 'refused' })
    expect((await disks().read(callOf(), diskOf(machine), last)).equals(before)).toBe(true)
    const absent = disks().write(callOf(), { machine: nowhere, disk: machine.disk.key }, 0, randomBytes(512))
    await expectError(absent, { failure: 'absent' })
  })

  if (world.declares.includes('snapshots'))
    test('a snapshot keeps the bytes of its moment, and going back brings them back', async () => {
      const machine = await world.machine()
      const range = { offset: 128 * kib, length: 64 * kib }
      const old = randomBytes(range.length)
      await disks().write(callOf(), diskOf(machine), range.offset, old)
      const snapshot = await takeSnapshot(world, machine, 'kept')
      const fresh = randomBytes(range.length)
      await disks().write(callOf(), diskOf(machine), range.offset, fresh)
      const kept = await disks().read(callOf(), diskOf(machine, snapshot), range)
      expect(kept.equals(old)).toBe(true)
      expect((await disks().read(callOf(), diskOf(machine), range)).equals(fresh)).toBe(true)
      const machines = portIn(world, 'machines')
      await done(machines.revertToSnapshot(callOf(), machine.ref, snapshot))
      await done(machines.removeSnapshot(callOf(), machine.ref, snapshot))
      expect((await disks().read(callOf(), diskOf(machine), range)).equals(old)).toBe(true)
    })
}

export const testChangedBlocks = (world: PlatformUnderTest): void => {
  const disks = () => portIn(world, 'disks')
  const track = (machine: TestMachine, changeTracking: boolean) =>
    done(portIn(world, 'machines').reconfigure(callOf(), machine.ref, { changeTracking }))

  test('names every block that was written since, over snapshots, and not the whole disk', async () => {
    const machine = await world.machine()
    await track(machine, true)
    const first = await takeSnapshot(world, machine, 'first')
    const start = await disks().changedBlocks(callOf(), diskOf(machine, first), '*')
    const writes = [70_000, 1_000_000, 5_000_001].map((offset) => ({ offset, bytes: randomBytes(3_000) }))
    for (const { offset, bytes } of writes) await disks().write(callOf(), diskOf(machine), offset, bytes)
    const second = await takeSnapshot(world, machine, 'second')
    await disks().write(callOf(), diskOf(machine), 3_000_000, randomBytes(100))
    const changed = await disks().changedBlocks(callOf(), diskOf(machine, second), start.changeId)
    for (const { offset, bytes } of writes)
      expect(holds(changed.extents, { offset, length: bytes.length }), `${offset}`).toBe(true)
    const size = changed.extents.reduce((sum, { length }) => sum + length, 0)
    expect(size).toBeLessThan(machine.disk.capacity / 4)
    const third = await takeSnapshot(world, machine, 'third')
    const later = await disks().changedBlocks(callOf(), diskOf(machine, third), changed.changeId)
    expect(holds(later.extents, { offset: 3_000_000, length: 100 })).toBe(true)
    expect(holds(later.extents, { offset: 70_000, length: 1 })).toBe(false)
  })

  test('everything in use is a superset of what was written', async () => {
    const machine = await world.machine()
    await track(machine, true)
    await disks().write(callOf(), diskOf(machine), 2_000_000, randomBytes(500))
    const snapshot = await takeSnapshot(world, machine, 'all')
    const all = await disks().changedBlocks(callOf(), diskOf(machine, snapshot), '*')
    expect(holds(all.extents, { offset: 2_000_000, length: 500 })).toBe(true)
  })

  test('tracking that was off in between has lost its place', async () => {
    const machine = await world.machine()
    await track(machine, true)
    const first = await takeSnapshot(world, machine, 'before')
    const { changeId } = await disks().changedBlocks(callOf(), diskOf(machine, first), '*')
    await done(portIn(world, 'machines').removeSnapshot(callOf(), machine.ref, first))
    await track(machine, false)
    await track(machine, true)
    const second = await takeSnapshot(world, machine, 'after')
    const lost = { code: 'platform-cursor-lost' } as const
    await expectError(disks().changedBlocks(callOf(), diskOf(machine, second), changeId), lost)
    await expectError(disks().changedBlocks(callOf(), diskOf(machine, second), 'nonsense'), lost)
  })
}
