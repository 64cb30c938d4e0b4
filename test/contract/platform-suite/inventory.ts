import { expect, test } from 'vitest'
import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { InventoryItem, Scan, ScanOptions } from '../../../src/platforms/ports/inventory.ts'
import { portOf } from '../../../src/platforms/ports/ports.ts'
import {
  behindProxy,
  callOf,
  done,
  expectError,
  made,
  newMachine,
  newName,
  nowhere,
  opened,
  type PlatformUnderTest,
  portIn,
  present,
} from './world.ts'

const options: ScanOptions = { scopes: [], concurrency: 4, itemTimeoutMs: 20_000 }

interface Reading {
  readonly items: readonly InventoryItem[]
  readonly batches: number
  readonly cursor: string | null
}

const readAll = async (scan: Scan): Promise<Reading> => {
  const items: InventoryItem[] = []
  for (let batches = 0; ; batches += 1) {
    const step = await scan.next()
    if (step.done) return { items, batches, cursor: step.value.cursor }
    items.push(...step.value)
  }
}

const instancesOf = (items: readonly InventoryItem[]): InstanceFacts[] =>
  items.flatMap((item) => (item.type === 'instance' ? [item.facts] : []))

const refsOf = (items: readonly InventoryItem[]): Set<string> =>
  new Set(
    items.flatMap((item) =>
      item.type === 'instance'
        ? [item.facts.ref]
        : item.type === 'gone' && item.of === 'instance'
          ? [item.ref]
          : [],
    ),
  )

/** What machines name and no other item explains: hosts and storage go by name, networks by ref. */
const strayNames = (items: readonly InventoryItem[]): string[] => {
  const known = (type: 'host' | 'storage' | 'network', by: 'name' | 'ref') =>
    new Set(items.flatMap((item) => (item.type === type ? [item.facts[by]] : [])))
  const [hosts, storage, networks] = [
    known('host', 'name'),
    known('storage', 'name'),
    known('network', 'ref'),
  ]
  return instancesOf(items).flatMap(({ ref, host, disks, nics }) => [
    ...(host === '' || hosts.has(host) ? [] : [`${ref} is on host ${host}`]),
    ...disks
      .filter(({ datastore }) => datastore !== '' && !storage.has(datastore))
      .map(({ datastore }) => `${ref} has a disk on ${datastore}`),
    ...nics
      .filter((nic) => nic.network_ref !== '' && !networks.has(nic.network_ref))
      .map((nic) => `${ref} has a card on ${nic.network_ref}`),
  ])
}

export const testInventory = (world: PlatformUnderTest): void => {
  const scan = (over: Partial<ScanOptions> = {}) =>
    readAll(portIn(world, 'inventory').scan(callOf(), { ...options, ...over }))

  test('streams everything there is, each thing once and by its ref', async () => {
    const machine = await world.machine()
    const { items, batches, cursor } = await scan()
    expect(batches).toBeGreaterThan(0)
    const facts = instancesOf(items).filter(({ ref }) => ref === machine.ref)
    expect(facts).toMatchObject([{ name: machine.name, power_state: 'off', running: false }])
    for (const type of ['instance', 'network', 'host', 'storage'] as const) {
      const refs = items.flatMap((item) => (item.type === type ? [item.facts.ref] : []))
      expect(refs.length, type).toBeGreaterThan(0)
      expect(new Set(refs).size, type).toBe(refs.length)
    }
    expect(items.filter(({ type }) => type === 'gone')).toEqual([])
    expect(strayNames(items)).toEqual([])
    expect(cursor !== null).toBe(world.declares.includes('inventory-delta'))
  })

  test('gives one machine as the listing does, and knows what is not there', async () => {
    const machine = await world.machine()
    const inventory = portIn(world, 'inventory')
    const listed = instancesOf((await scan()).items).find(({ ref }) => ref === machine.ref)
    const single = await present(inventory.instance(callOf(), machine.ref))
    expect(single).toEqual(listed)
    expect(await inventory.instance(callOf(), nowhere)).toEqual({ found: false })
  })

  test('a reader that stops early leaves nothing behind that hinders the next', async () => {
    const inventory = portIn(world, 'inventory')
    const first = inventory.scan(callOf(), options)
    expect((await first.next()).done).toBe(false)
    await first.return({ cursor: null })
    const { items } = await readAll(inventory.scan(callOf(), options))
    expect(instancesOf(items).length).toBeGreaterThan(0)
  })

  test('a reading ends at its deadline and with its signal, with an error and not with an end', async () => {
    const { platform, proxy } = await behindProxy(world)
    await platform.probe(callOf())
    const inventory = portOf(platform, 'inventory')
    proxy.blackhole()
    await expectError(readAll(inventory.scan(callOf({ timeoutMs: 300 }), options)), {
      code: 'platform-timeout',
    })
    const ending = new AbortController()
    const reading = expect(
      readAll(inventory.scan(callOf({ signal: ending.signal }), options)),
    ).rejects.toThrow('enough read')
    ending.abort(new Error('enough read'))
    await reading
  })

  const { scope } = world
  if (scope)
    test('reads only the part that was asked for', async () => {
      const all = instancesOf((await scan()).items)
      const part = instancesOf((await scan({ scopes: [scope.name] })).items)
      const wanted = all.filter(({ location }) => scope.holds(location)).map(({ ref }) => ref)
      expect(wanted.length).toBeGreaterThan(0)
      expect(wanted.length).toBeLessThan(all.length)
      expect(part.map(({ ref }) => ref).sort()).toEqual(wanted.sort())
    })
}

export const testDeltas = (world: PlatformUnderTest): void => {
  const scan = () => readAll(portIn(world, 'inventory').scan(callOf(), options))
  /** Each by a new object: a cursor is for another process too. */
  const changes = (cursor: string | null) =>
    readAll(portIn(world, 'inventory').changes(callOf(), { ...options, cursor: cursor ?? '' }))

  test('a delta has just what changed, and goes on from where it ended', async () => {
    const machine = await world.machine()
    await world.machine()
    const full = await scan()
    const quiet = await changes(full.cursor)
    expect([...refsOf(quiet.items)]).toEqual([])
    await done(portIn(world, 'power').start(callOf(), machine.ref))
    const changed = await changes(quiet.cursor)
    expect([...refsOf(changed.items)]).toEqual([machine.ref])
    expect(instancesOf(changed.items)).toMatchObject([{ ref: machine.ref, power_state: 'on' }])
    const after = await changes(changed.cursor)
    expect([...refsOf(after.items)]).toEqual([])
  })

  if (world.declares.includes('rename'))
    test('a delta has a new name', async () => {
      const machine = await world.machine()
      const { cursor } = await scan()
      const name = newName('renamed')
      await done(portIn(world, 'machines').rename(callOf(), machine.ref, name))
      expect(instancesOf((await changes(cursor)).items)).toMatchObject([{ ref: machine.ref, name }])
    })

  if (world.declares.includes('create'))
    test('a delta has what came and what went', async () => {
      const machines = portIn(world, 'machines')
      const before = await scan()
      const ref = await made(machines.create(callOf(), newMachine(world)))
      const came = await changes(before.cursor)
      expect([...refsOf(came.items)]).toEqual([ref])
      await done(machines.destroy(callOf(), ref))
      const went = await changes(came.cursor)
      expect(went.items).toContainEqual({ type: 'gone', of: 'instance', ref })
      expect([...refsOf(went.items)]).toEqual([ref])
    })

  test('a cursor that means nothing is lost, and so are all when the platform forgets', async () => {
    await expectError(changes('not a cursor'), { code: 'platform-cursor-lost' })
    const { loseCursors } = world.levers
    if (!loseCursors) return
    const { cursor } = await scan()
    await loseCursors()
    await expectError(changes(cursor), { code: 'platform-cursor-lost' })
    const anew = await scan()
    expect((await changes(anew.cursor)).cursor).toMatch(/\S/)
  })
}

/** An object that is already at work has no need of a new one. */
export const testSameObject = (world: PlatformUnderTest): void => {
  test('one object reads, acts and reads again', async () => {
    const platform = opened(world)
    const machine = await world.machine()
    const inventory = portOf(platform, 'inventory')
    await done(portOf(platform, 'power').start(callOf(), machine.ref))
    expect(await present(inventory.instance(callOf(), machine.ref))).toMatchObject({ power_state: 'on' })
    await done(portOf(platform, 'power').stop(callOf(), machine.ref))
    expect(await present(inventory.instance(callOf(), machine.ref))).toMatchObject({ power_state: 'off' })
  })
}
