import { expect, test } from 'vitest'
import type { DiskRef, Extent } from '../../src/platforms/ports/disks.ts'
import { portOf } from '../../src/platforms/ports/ports.ts'
import { openDisks } from '../../src/platforms/vsphere/disks/disks.ts'
import { readFakeObjects } from '../support/fake-objects.ts'
import { Fault, startFakeVsphere } from '../support/fake-vsphere.ts'
import { anyCall, makeMachine, startVsphere } from '../support/vsphere-machines.ts'

const mib = 1024 ** 2
const capacity = 40 * mib
const changeId = '52 3c ec 11 9e 2c 4c 3d-87 4a c3 4e 85 f2 ea 95/446'
const disk: DiskRef = { machine: 'vm-7', disk: '2000', snapshot: 'snapshot-9' }

interface Tracked {
  readonly changeId?: string
  readonly isTracked?: boolean
  readonly answer: (from: number, since: string) => string | Fault
}

/** The shapes of the schema: `DiskChangeInfo` with its `changedArea`, and the device with its backing. */
const startTracked = async (tracked: Tracked) => {
  const backing =
    '<backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName>[store] web/web.vmdk</fileName>' +
    `<diskMode>persistent</diskMode><changeId>${tracked.changeId ?? changeId}</changeId></backing>`
  const device =
    `<VirtualDevice xsi:type="VirtualDisk"><key>2000</key>${backing}` +
    `<capacityInKB>${capacity / 1024}</capacityInKB><capacityInBytes>${capacity}</capacityInBytes></VirtualDevice>`
  const snapshot = {
    'config.hardware.device': { type: 'ArrayOfVirtualDevice', xml: device },
    'config.changeTrackingEnabled': String(tracked.isTracked ?? true),
  }
  const asked: string[] = []
  const fake = await startFakeVsphere({
    RetrievePropertiesEx: readFakeObjects(() => ({ 'VirtualMachineSnapshot:snapshot-9': snapshot })),
    QueryChangedDiskAreas: (request) => {
      asked.push(/<QueryChangedDiskAreas[^>]*>(.*)<\/QueryChangedDiskAreas>/.exec(request)?.[1] ?? '')
      return tracked.answer(
        Number(/<startOffset>(\d+)</.exec(request)?.[1]),
        String(/<changeId>(.*)<\/changeId>/.exec(request)?.[1]),
      )
    },
  })
  return { disks: openDisks(fake.session), asked }
}

const changeInfo = (start: number, length: number, areas: readonly Extent[]): string =>
  `<returnval><startOffset>${start}</startOffset><length>${length}</length>${areas
    .map((area) => `<changedArea><start>${area.offset}</start><length>${area.length}</length></changedArea>`)
    .join('')}</returnval>`

test('recorded shapes: changes are asked for until the whole disk is covered, and come in order', async () => {
  const pages: Readonly<Record<number, string>> = {
    0: changeInfo(0, 16 * mib, [
      { offset: 0, length: mib },
      { offset: mib, length: mib },
      { offset: 8 * mib, length: 65_536 },
    ]),
    [16 * mib]: changeInfo(16 * mib, 16 * mib, []),
    [32 * mib]: changeInfo(32 * mib, 8 * mib, [{ offset: 39 * mib, length: mib }]),
  }
  const { disks, asked } = await startTracked({
    answer: (from) => pages[from] ?? new Fault('InvalidArgument'),
  })
  const since = changeId.replace('446', '400')
  expect(await disks.changedBlocks(anyCall(), disk, since)).toEqual({
    changeId,
    extents: [
      { offset: 0, length: 2 * mib },
      { offset: 8 * mib, length: 65_536 },
      { offset: 39 * mib, length: mib },
    ],
  })
  expect(asked).toEqual(
    [0, 16 * mib, 32 * mib].map(
      (from) =>
        '<_this type="VirtualMachine">vm-7</_this><snapshot type="VirtualMachineSnapshot">snapshot-9</snapshot>' +
        `<deviceKey>2000</deviceKey><startOffset>${from}</startOffset><changeId>${since}</changeId>`,
    ),
  )
})

test('recorded shapes: what holds data is asked for with a star, page by page', async () => {
  const { disks } = await startTracked({
    answer: (from, since) =>
      since === '*'
        ? changeInfo(from, 20 * mib, [{ offset: from, length: mib }])
        : new Fault('InvalidArgument'),
  })
  const pages: (readonly Extent[])[] = []
  for await (const page of disks.extents(anyCall(), disk)) pages.push(page)
  expect(pages).toEqual([[{ offset: 0, length: mib }], [{ offset: 20 * mib, length: mib }]])
})

test('recorded shapes: a disk that is not tracked may hold data everywhere, and has no changes to tell', async () => {
  const answer = () => new Fault('FileFault')
  for (const untracked of [{ isTracked: false }, { changeId: '' }]) {
    const { disks, asked } = await startTracked({ ...untracked, answer })
    const pages: (readonly Extent[])[] = []
    for await (const page of disks.extents(anyCall(), disk)) pages.push(page)
    expect(pages).toEqual([[{ offset: 0, length: capacity }]])
    await expect(disks.changedBlocks(anyCall(), disk, '*')).rejects.toMatchObject({
      code: 'platform-refused',
    })
    await expect(disks.changedBlocks(anyCall(), disk, changeId)).rejects.toMatchObject({
      code: 'platform-cursor-lost',
    })
    expect(asked).toEqual([])
  }
})

test('recorded shapes: tracking that began anew, and an id that vSphere refuses, have lost their place', async () => {
  const lost = { code: 'platform-cursor-lost', failure: 'refused' }
  const anew = await startTracked({ answer: (from) => changeInfo(from, capacity, []) })
  for (const id of ['52 00 00 11 9e 2c 4c 3d-87 4a c3 4e 85 f2 ea 95/446', 'nonsense', ''])
    await expect(anew.disks.changedBlocks(anyCall(), disk, id)).rejects.toMatchObject(lost)
  for (const fault of ['FileFault', 'InvalidArgument']) {
    const refusing = await startTracked({ answer: () => new Fault(fault) })
    await expect(refusing.disks.changedBlocks(anyCall(), disk, changeId)).rejects.toMatchObject(lost)
    await expect(refusing.disks.changedBlocks(anyCall(), disk, '*')).rejects.toMatchObject({
      code: 'platform-refused',
    })
  }
})

test('recorded shapes: an answer that skips, repeats, goes backwards or beyond the disk is no answer', async () => {
  const wrong: readonly ((from: number) => string)[] = [
    (from) => changeInfo(from, 0, []),
    (from) => changeInfo(from + mib, capacity - mib, []),
    (from) => changeInfo(from, capacity + 1, []),
    (from) => changeInfo(from, capacity, [{ offset: capacity - 1, length: 2 }]),
    (from) => changeInfo(from, capacity, [{ offset: 10, length: 0 }]),
    (from) =>
      changeInfo(from, capacity, [
        { offset: 2 * mib, length: mib },
        { offset: mib, length: mib },
      ]),
    (from) => changeInfo(from, capacity, []).replace(/<length>\d+/, '<length>-5'),
    () => '<returnval></returnval>',
  ]
  for (const answer of wrong) {
    const { disks } = await startTracked({ answer })
    await expect(disks.changedBlocks(anyCall(), disk, changeId)).rejects.toMatchObject({
      code: 'platform-answer-invalid',
      failure: 'unknown',
    })
  }
})

test('the simulator cannot answer for changed blocks, and that is said instead of made up', async () => {
  const world = await startVsphere()
  const machine = await makeMachine(world.ports, { disks: [{ key: 'a', capacity, pool: '' }] })
  await (await world.ports.machines.reconfigure(anyCall(), machine, { changeTracking: true })).wait(anyCall())
  const facts = await portOf(world.platform, 'inventory').instance(anyCall(), machine)
  const key = facts.found ? (facts.value.disks[0]?.key ?? '') : ''
  expect(facts.found && facts.value.background_import).toBe(true)
  // It gives no id of changes either, so the question does not even go out.
  await expect(world.ports.disks.changedBlocks(anyCall(), { machine, disk: key }, '*')).rejects.toMatchObject(
    { code: 'platform-refused' },
  )
  await expect(
    world.ports.disks.write(anyCall(), { machine, disk: key }, 0, Buffer.alloc(512)),
  ).rejects.toMatchObject({ failure: 'unsupported' })
})
