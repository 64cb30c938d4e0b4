import { expect, test } from 'vitest'
import type { InstanceFacts } from '../../src/domain/inventory/facts.ts'
import { openHttp } from '../../src/platforms/http/platform-http.ts'
import type { InventoryItem, Scan, ScanOptions } from '../../src/platforms/ports/inventory.ts'
import { type Platform, portOf } from '../../src/platforms/ports/ports.ts'
import { createView, retrieve } from '../../src/platforms/vsphere/soap/property-read.ts'
import { Session } from '../../src/platforms/vsphere/soap/session.ts'
import { element, refElement } from '../../src/platforms/vsphere/soap/soap-request.ts'
import { openVsphere } from '../../src/platforms/vsphere/vsphere.ts'
import { atEnd } from '../support/cleanup.ts'
import { call, expectFailure } from '../support/hostile-server.ts'
import { startSoapProxy } from '../support/soap-proxy.ts'
import { startVcsim, type Vcsim, type VcsimOptions } from '../support/vcsim.ts'
import { setTags } from '../support/vcsim-tags.ts'
import { anyCall, makeMachine, portsOf, setSimulated } from '../support/vsphere-machines.ts'

const everything: ScanOptions = { scopes: [], concurrency: 4, itemTimeoutMs: 10_000 }

const drain = async (scan: Scan): Promise<{ items: InventoryItem[]; cursor: string }> => {
  const items: InventoryItem[] = []
  let step = await scan.next()
  for (; !step.done; step = await scan.next()) items.push(...step.value)
  return { items, cursor: step.value.cursor ?? '' }
}

const open = (vcsim: Pick<Vcsim, 'connection'>, endpoint = vcsim.connection.endpoint): Platform => {
  const platform = openVsphere({ ...vcsim.connection, endpoint })
  atEnd(() => platform.close())
  return platform
}

const start = async (options: VcsimOptions = {}) => {
  const vcsim = await startVcsim({ vms: 2, hosts: 2, standaloneHosts: 0, ...options })
  const platform = open(vcsim)
  const inventory = portOf(platform, 'inventory')
  const scan = (more: Partial<ScanOptions> = {}) => drain(inventory.scan(call(), { ...everything, ...more }))
  const changes = (cursor: string, from = platform) =>
    drain(portOf(from, 'inventory').changes(call(), { ...everything, cursor }))
  return { vcsim, platform, inventory, scan, changes, ports: portsOf(platform) }
}

const instancesOf = (items: readonly InventoryItem[]): InstanceFacts[] =>
  items.flatMap((item) => (item.type === 'instance' ? [item.facts] : []))

/** The simulator numbers the uplinks of its switches by what it made before. */
const summary = (items: readonly InventoryItem[]): string[] =>
  items
    .map((item) =>
      `${item.type} ${'facts' in item ? item.facts.name : item.ref}`.replace(/Uplinks-\d+/, 'Uplinks'),
    )
    .sort()

test('a whole vCenter is read: machines, networks of each kind, hosts, storage', async () => {
  const { scan } = await start({ nsxNetworks: 1, nsxPortgroups: 1, standaloneHosts: 1 })
  const { items } = await scan()
  expect(summary(items)).toEqual([
    'host DC0_C0_H0',
    'host DC0_C0_H1',
    'host DC0_H0',
    'instance DC0_C0_RP0_VM0',
    'instance DC0_C0_RP0_VM1',
    'instance DC0_H0_VM0',
    'instance DC0_H0_VM1',
    'network DC0_DVPG0',
    'network DC0_NSX0',
    'network DC0_NSXPG0',
    'network DVS0-DVUplinks',
    'network VM Network',
    'storage LocalDS_0',
  ])
  const networks = new Map(
    items.flatMap((item) => (item.type === 'network' ? [[item.facts.name, item.facts] as const] : [])),
  )
  expect(networks.get('DC0_DVPG0')).toMatchObject({ type: 'distributed', switch: 'DVS0', datacenter: 'DC0' })
  expect(networks.get('DC0_NSX0')?.type).toBe('nsx')
  expect(networks.get('DC0_NSXPG0')?.type).toBe('nsx-distributed')
  expect(networks.get('VM Network')).toMatchObject({ type: 'standard', switch: 'vSwitch0' })
  const [machine] = instancesOf(items)
  expect(machine).toMatchObject({
    location: '/DC0/vm/DC0_H0_VM0',
    datacenter: 'DC0',
    host: 'DC0_H0',
    power_state: 'on',
    disks: [{ name: '[LocalDS_0] DC0_H0_VM0/disk1.vmdk', backing: 'file', mode: 'dependent' }],
  })
  expect(machine?.nics[0]?.network_ref).toBe(networks.get('DC0_DVPG0')?.ref)
})

test('an ESXi host by itself is read the same way', async () => {
  const { scan, changes, inventory } = await start({ esx: true, vms: 1 })
  const { items, cursor } = await scan()
  expect(summary(items).filter((line) => line.startsWith('instance'))).toHaveLength(1)
  const [machine] = instancesOf(items)
  expect(machine).toMatchObject({ datacenter: 'ha-datacenter', tags: {}, attributes: {} })
  expect((await changes(cursor)).items).toEqual([])
  expect(await inventory.instance(call(), machine?.ref ?? '')).toEqual({ found: true, value: machine })
})

test('a place is read alone, with what is around it, and an unknown place is refused by name', async () => {
  const { scan } = await start({ datacenters: 2, vms: 1 })
  const one = await scan({ scopes: ['/DC1/...'] })
  expect(summary(one.items).filter((line) => !line.includes('DC1'))).toEqual([
    'network DVS0-DVUplinks',
    'network VM Network',
    'storage LocalDS_0',
  ])
  expect(instancesOf(one.items)).toHaveLength(1)
  const both = await scan({ scopes: ['DC1', '/DC1/vm', '/DC0/host/DC0_C0'] })
  expect(
    instancesOf(both.items)
      .map(({ datacenter }) => datacenter)
      .sort(),
  ).toEqual(['DC0', 'DC1'])
  const error = await expectFailure(scan({ scopes: ['/Nowhere'] }), 'platform-refused', 'refused')
  expect(error).toMatchObject({ field: 'scopes', detail: { scope: 'Nowhere' } })
})

test('nothing changed, nothing comes; what changed comes, and nothing else', async () => {
  const { scan, changes, ports } = await start({ vms: 6 })
  const first = await scan()
  const [off, renamed, , gone] = instancesOf(first.items).map(({ ref }) => ref)
  const idle = await changes(first.cursor)
  expect(idle.items).toEqual([])
  await (await ports.power.stop(anyCall(), off ?? '')).wait(anyCall())
  await (await ports.machines.rename(anyCall(), renamed ?? '', 'renamed/1')).wait(anyCall())
  await (await ports.power.stop(anyCall(), gone ?? '')).wait(anyCall())
  await (await ports.machines.destroy(anyCall(), gone ?? '')).wait(anyCall())
  const made = await makeMachine(ports, { machineName: 'brand-new' })
  const second = await changes(idle.cursor)
  expect(
    second.items
      .map((item) =>
        item.type === 'instance'
          ? [item.facts.ref, item.facts.name, item.facts.power_state]
          : [item.type, 'ref' in item ? item.ref : ''],
      )
      .sort(),
  ).toEqual(
    [
      [off, 'DC0_C0_RP0_VM0', 'off'],
      [renamed, 'renamed/1', 'on'],
      [made, 'brand-new', 'off'],
      ['gone', gone],
    ].sort(),
  )
  expect((await changes(second.cursor)).items).toEqual([])
})

test('a delta goes on in another process, after the first has gone', async () => {
  const { vcsim, platform, scan, changes, ports } = await start()
  const { items, cursor } = await scan()
  const [{ ref } = { ref: '' }] = instancesOf(items)
  await (await ports.power.stop(anyCall(), ref)).wait(anyCall())
  await platform.close()
  expect(cursor.length).toBeLessThanOrEqual(8 * 1024)
  const later = await changes(cursor, open(vcsim))
  expect(instancesOf(later.items).map(({ power_state }) => power_state)).toEqual(['off'])
})

test('a cursor is good for one delta: a second one, or one after a crash, reads everything', async () => {
  const { inventory, scan, changes, ports } = await start()
  const before = await scan()
  const [{ ref } = { ref: '' }] = instancesOf(before.items)
  await (await ports.power.stop(anyCall(), ref)).wait(anyCall())
  const interrupted = inventory.changes(call(), { ...everything, cursor: before.cursor })
  expect((await interrupted.next()).done).toBe(false)
  await interrupted.return({ cursor: null })
  await expectFailure(changes(before.cursor), 'platform-cursor-lost', 'refused')
  const anew = await scan()
  const both = await Promise.allSettled([changes(anew.cursor), changes(anew.cursor)])
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

test('tags and attributes are read each time, changed ones alone in a delta', async () => {
  const { vcsim, scan, changes, inventory } = await start({ vms: 3 })
  const refs = instancesOf((await scan()).items).map(({ ref }) => ref)
  const tags = await setTags(vcsim)
  await tags.attach('tier', 'gold', refs[0] ?? '')
  await tags.attach('tier', 'prod', refs[0] ?? '')
  const first = await scan()
  expect(instancesOf(first.items).map((one) => one.tags)).toEqual([{ tier: ['gold', 'prod'] }, {}, {}])
  await tags.attach('owner', 'ann', refs[1] ?? '')
  await tags.detach('tier', 'gold', refs[0] ?? '')
  const second = await changes(first.cursor)
  const told = new Map(instancesOf(second.items).map((one) => [one.ref, one.tags]))
  expect(told.get(refs[0] ?? '')).toEqual({ tier: ['prod'] })
  expect(told.get(refs[1] ?? '')).toEqual({ owner: ['ann'] })
  expect((await changes(second.cursor)).items).toEqual([])
  expect(await inventory.instance(call(), refs[1] ?? '')).toMatchObject({
    value: { tags: { owner: ['ann'] } },
  })
})

/** A client of its own, to do what no port does. */
const ownSession = (vcsim: Vcsim): Session => {
  const http = openHttp(vcsim.connection)
  atEnd(() => http.close())
  return new Session(http, vcsim.connection)
}

test('a custom attribute has its name, and a new one asks for a whole reading', async () => {
  const { vcsim, scan, changes } = await start({ vms: 1 })
  const before = await scan()
  const [{ ref } = { ref: '' }] = instancesOf(before.items)
  const session = ownSession(vcsim)
  const on = await session.manager(call(), 'customFieldsManager')
  const body = element('name', 'cost centre') + element('moType', 'VirtualMachine')
  const field = await session.call(call(), { on, method: 'AddCustomFieldDef', body })
  const key = field.children[0]?.children.find(({ name }) => name === 'key')?.text ?? ''
  const value =
    refElement('entity', { type: 'VirtualMachine', value: ref }) +
    element('key', key) +
    element('value', 'A <7>')
  await session.call(call(), { on, method: 'SetField', body: value })
  expect(instancesOf((await scan()).items)[0]?.attributes).toEqual({ 'cost centre': 'A <7>' })
  await expectFailure(changes(before.cursor), 'platform-cursor-lost', 'refused')
  await session.logout()
})

test('a cursor is lost with the server’s memory, with other places, and with a folder’s name', async () => {
  const { vcsim, inventory, scan, changes } = await start()
  const first = await scan()
  const elsewhere = drain(inventory.changes(call(), { ...everything, scopes: ['DC0'], cursor: first.cursor }))
  await expectFailure(elsewhere, 'platform-cursor-lost', 'refused')
  await expectFailure(changes('{}'), 'platform-cursor-lost', 'refused')
  const session = ownSession(vcsim)
  const root = await session.manager(call(), 'rootFolder')
  const view = await createView(session, call(), root, ['Folder'])
  const reading = retrieve(session, call(), {
    objects: { view },
    properties: [{ type: 'Folder', paths: ['name'] }],
  })
  for await (const objects of reading)
    for (const { ref, properties } of objects)
      if (properties.get('name')?.text === 'vm')
        await session.call(call(), { on: ref, method: 'Rename_Task', body: element('newName', 'machines') })
  await session.logout()
  await expectFailure(changes(first.cursor), 'platform-cursor-lost', 'refused')
  const second = await scan()
  expect(instancesOf(second.items)[0]?.folder).toBe('/DC0/machines')
  await vcsim.restart()
  await expectFailure(changes(second.cursor), 'platform-cursor-lost', 'refused')
})

test('a reading that is stopped early leaves no session behind', async () => {
  const { vcsim, inventory } = await start()
  const proxy = await startSoapProxy(vcsim.url)
  const platform = open(vcsim, proxy.url)
  for await (const batch of portOf(platform, 'inventory').scan(call(), everything))
    if (batch.length > 0) break
  expect(proxy.seen.at(-1)).toBe('Logout')
  expect(await inventory.instance(call(), 'vm-nope')).toEqual({ found: false })
})

test('a reading that is cut concludes nothing, and the next one is whole', async () => {
  const { vcsim } = await start()
  const proxy = await startSoapProxy(vcsim.url)
  const inventory = portOf(open(vcsim, proxy.url), 'inventory')
  // A question that does no harm is asked again by itself, once.
  for (const lost of [['RetrievePropertiesEx', 'RetrievePropertiesEx'], ['WaitForUpdatesEx']]) {
    for (const what of lost) proxy.loseAnswer(what)
    await expectFailure(drain(inventory.scan(call(), everything)), 'platform-unreachable', 'unknown')
  }
  expect(instancesOf((await drain(inventory.scan(call(), everything))).items)).toHaveLength(2)
})

test('a slow server costs its own deadline and no more', async () => {
  const { vcsim } = await start({ methodDelayMs: { RetrievePropertiesEx: 30_000 } })
  const inventory = portOf(open(vcsim), 'inventory')
  const scan = drain(inventory.scan(call({ timeoutMs: 5_000 }), everything))
  await expectFailure(scan, 'platform-timeout', 'unknown')
})

test('what the guest says is in the facts, and a change of it in the delta', async () => {
  const world = await start({ vms: 1 })
  const first = await world.scan()
  const [{ ref } = { ref: '' }] = instancesOf(first.items)
  await setSimulated(world, ref, { 'guest.ipAddress': '10.1.2.3', 'guest.hostName': 'web-01.example.org' })
  const second = await world.changes(first.cursor)
  expect(instancesOf(second.items)).toMatchObject([
    { ref, guest: { hostname: 'web-01.example.org' }, nics: [{ ipv4_addresses: ['10.1.2.3'] }] },
  ])
})
