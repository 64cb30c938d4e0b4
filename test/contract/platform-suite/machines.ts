import { expect, test } from 'vitest'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import {
  callOf,
  done,
  expectError,
  made,
  newMachine,
  newName,
  nowhere,
  ownerOf,
  type PlatformUnderTest,
  portIn,
  present,
  runningMachine,
} from './world.ts'

export const testCreate = (world: PlatformUnderTest): void => {
  const machines = () => portIn(world, 'machines')
  const facts = (ref: string) => present(portIn(world, 'inventory').instance(callOf(), ref))

  test('makes a machine as it was asked for, off and owned', async () => {
    const nics = [
      { mac: '02:00:00:0a:0b:0c', network: world.place.network, type: 'managed', vlan: '' },
    ] as const
    const wanted = newMachine(world, { nics })
    const ref = await made(machines().create(callOf(), wanted))
    expect(await facts(ref)).toMatchObject({
      name: wanted.machineName,
      cpus: 2,
      memory: 256 * 1024 * 1024,
      power_state: 'off',
      template: false,
    })
    const { nics: seen, disks } = await facts(ref)
    expect(seen.map((nic) => nic.mac)).toEqual(['02:00:00:0a:0b:0c'])
    expect(disks.map((disk) => disk.capacity)).toEqual([8 * 1024 * 1024])
    expect(await present(machines().owner(callOf(), ref))).toEqual(wanted.owner)
    expect(await machines().findOwned(callOf(), wanted.owner)).toEqual([ref])
  })

  test('the same intent twice makes one machine', async () => {
    const wanted = newMachine(world)
    const call = callOf()
    const first = await made(machines().create(call, wanted))
    const again = await done(machines().create(call, wanted)).catch((error: unknown) => error)
    const refused = again instanceof PlatformError && again.code === 'platform-name-taken'
    if (world.remembersNames || !refused) expect(again).toBe(first)
    expect(await machines().findOwned(callOf(), wanted.owner)).toEqual([first])
  })

  test('a name that another has is refused, and nothing is left of the try', async () => {
    const wanted = newMachine(world)
    await made(machines().create(callOf(), wanted))
    const second = { ...wanted, owner: ownerOf() }
    const taken = { code: 'platform-name-taken', failure: 'refused' } as const
    await expectError(done(machines().create(callOf(), second)), taken)
    expect(await machines().findOwned(callOf(), second.owner)).toEqual([])
  })

  test('a place that is not there is refused, and nothing is left of the try', async () => {
    const wanted = newMachine(world, { host: 'host-999999999' })
    await expectError(done(machines().create(callOf(), wanted)), { code: 'platform-absent' })
    expect(await machines().findOwned(callOf(), wanted.owner)).toEqual([])
  })

  test('a task that makes a machine is found again by another process', async () => {
    const wanted = newMachine(world)
    const task = await machines().create(callOf(), wanted)
    const found = await present(machines().findTask(callOf(), { taskId: task.id }))
    expect(await found.wait(callOf())).toBe(await task.wait(callOf()))
  })

  testRemoval(world)
}

const testRemoval = (world: PlatformUnderTest): void => {
  const machines = () => portIn(world, 'machines')

  test('removes what is off, refuses what runs, and knows what is gone', async () => {
    const wanted = newMachine(world)
    const ref = await made(machines().create(callOf(), wanted))
    const power = portIn(world, 'power')
    await done(power.start(callOf(), ref))
    await expectError(done(machines().destroy(callOf(), ref)), {
      code: 'platform-wrong-state',
      failure: 'refused',
    })
    expect(await machines().findOwned(callOf(), wanted.owner)).toEqual([ref])
    await done(power.stop(callOf(), ref))
    await done(machines().destroy(callOf(), ref))
    expect(await portIn(world, 'inventory').instance(callOf(), ref)).toEqual({ found: false })
    expect(await machines().findOwned(callOf(), wanted.owner)).toEqual([])
    await expectError(done(machines().destroy(callOf(), ref)), { code: 'platform-absent', failure: 'absent' })
  })
}

export const testOwnership = (world: PlatformUnderTest): void => {
  const machines = () => portIn(world, 'machines')

  test('finds what is ours by its mark, and a stranger never, whatever it is called', async () => {
    const [ours, stranger] = [await world.machine(), await world.machine()]
    const owner = ownerOf()
    expect(await machines().findOwned(callOf(), owner)).toEqual([])
    await machines().tag(callOf(), ours.ref, owner)
    expect(await machines().findOwned(callOf(), owner)).toEqual([ours.ref])
    expect(await present(machines().owner(callOf(), ours.ref))).toMatchObject(owner)
    expect(await present(machines().owner(callOf(), stranger.ref))).not.toMatchObject(owner)
  })

  test('a mark said twice is there once, and more of it is added', async () => {
    const machine = await world.machine()
    const owner = ownerOf()
    await machines().tag(callOf(), machine.ref, owner)
    await machines().tag(callOf(), machine.ref, owner)
    const more = { 'drover-entry': newName('entry') }
    await machines().tag(callOf(), machine.ref, more)
    expect(await present(machines().owner(callOf(), machine.ref))).toMatchObject({ ...owner, ...more })
    expect(await machines().findOwned(callOf(), { ...owner, ...more })).toEqual([machine.ref])
    const half = { ...owner, 'drover-entry': newName('other') }
    expect(await machines().findOwned(callOf(), half)).toEqual([])
  })

  test('nothing owns what is not there', async () => {
    expect(await machines().owner(callOf(), nowhere)).toEqual({ found: false })
    await expectError(machines().tag(callOf(), nowhere, ownerOf()), { failure: 'absent' })
  })
}

export const testRename = (world: PlatformUnderTest): void => {
  const machines = () => portIn(world, 'machines')
  const nameOf = async (ref: string) =>
    (await present(portIn(world, 'inventory').instance(callOf(), ref))).name

  test('gives a machine another name and keeps its ref', async () => {
    const machine = await world.machine()
    const name = newName('named')
    await done(machines().rename(callOf(), machine.ref, name))
    expect(await nameOf(machine.ref)).toBe(name)
    await expectError(done(machines().rename(callOf(), nowhere, newName('no'))), { failure: 'absent' })
  })

  test('a name that another has in the same folder is refused, and both keep theirs', async () => {
    const one = await world.machine()
    const two = await world.machine()
    const taken = done(machines().rename(callOf(), two.ref, one.name))
    await expectError(taken, { code: 'platform-name-taken', failure: 'refused' })
    expect(await nameOf(one.ref)).toBe(one.name)
    expect(await nameOf(two.ref)).toBe(two.name)
  })
}

export const testReconfigure = (world: PlatformUnderTest): void => {
  test('changes what was named and leaves the rest', async () => {
    const machine = await world.machine()
    const inventory = portIn(world, 'inventory')
    const before = await present(inventory.instance(callOf(), machine.ref))
    const change = { cpus: before.cpus + 1, description: `about ${machine.name}` }
    await done(portIn(world, 'machines').reconfigure(callOf(), machine.ref, change))
    const after = await present(inventory.instance(callOf(), machine.ref))
    expect(after).toMatchObject({ ...change, memory: before.memory, name: before.name, uuid: before.uuid })
    const absent = done(portIn(world, 'machines').reconfigure(callOf(), nowhere, { description: 'x' }))
    await expectError(absent, { failure: 'absent' })
  })
}

export const testClone = (world: PlatformUnderTest): void => {
  const { folder } = world.place
  const machines = () => portIn(world, 'machines')

  test('makes a machine like another, owned by us and with a ref and a name of its own', async () => {
    const machine = await world.machine()
    const to = { machineName: newName('clone'), folder, owner: ownerOf() }
    const ref = await made(machines().clone(callOf(), machine.ref, to))
    expect(ref).not.toBe(machine.ref)
    const inventory = portIn(world, 'inventory')
    const [source, copy] = await Promise.all(
      [machine.ref, ref].map((one) => present(inventory.instance(callOf(), one))),
    )
    expect(copy).toMatchObject({ name: to.machineName, cpus: source?.cpus, memory: source?.memory })
    expect(copy?.disks.map(({ capacity }) => capacity)).toEqual(source?.disks.map(({ capacity }) => capacity))
    expect(await machines().findOwned(callOf(), to.owner)).toEqual([ref])
    await expectError(done(machines().clone(callOf(), machine.ref, { ...to, owner: ownerOf() })), {
      code: 'platform-name-taken',
    })
    await expectError(done(machines().clone(callOf(), nowhere, { ...to, machineName: newName('no') })), {
      failure: 'absent',
    })
  })
}

export const testSnapshots = (world: PlatformUnderTest): void => {
  const machines = () => portIn(world, 'machines')
  const plain = (snapshotName: string) => ({ snapshotName, memory: false, quiesce: false })

  test('takes snapshots in a chain, lists them, goes back and removes them', async () => {
    const { ref } = await world.machine()
    expect(await present(machines().snapshots(callOf(), ref))).toEqual([])
    const one = await made(machines().createSnapshot(callOf(), ref, plain('one')))
    const two = await made(machines().createSnapshot(callOf(), ref, plain('two')))
    const chain = [
      { ref: one, name: 'one', parent: null },
      { ref: two, name: 'two', parent: one },
    ]
    expect(await present(machines().snapshots(callOf(), ref))).toEqual(chain)
    await done(machines().revertToSnapshot(callOf(), ref, one))
    await done(machines().removeSnapshot(callOf(), ref, two))
    expect(await present(machines().snapshots(callOf(), ref))).toEqual(chain.slice(0, 1))
    await expectError(done(machines().removeSnapshot(callOf(), ref, two)), { failure: 'absent' })
    await done(machines().removeSnapshot(callOf(), ref, one))
    expect(await present(machines().snapshots(callOf(), ref))).toEqual([])
  })

  test('a machine that is not there has no snapshots and gets none', async () => {
    expect(await machines().snapshots(callOf(), nowhere)).toEqual({ found: false })
    await expectError(done(machines().createSnapshot(callOf(), nowhere, plain('no'))), { failure: 'absent' })
  })

  test('a running machine can be snapshotted and goes on running', async () => {
    const { ref } = await runningMachine(world)
    const snapshot = await made(machines().createSnapshot(callOf(), ref, plain('running')))
    expect(await present(portIn(world, 'power').power(callOf(), ref))).toMatchObject({ state: 'on' })
    await done(machines().removeSnapshot(callOf(), ref, snapshot))
  })
}
