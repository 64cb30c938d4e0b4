import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { openHttp } from '../../src/platforms/http/platform-http.ts'
import { type Capability, portOf } from '../../src/platforms/ports/ports.ts'
import type { NewImage } from '../../src/platforms/ports/templates.ts'
import { parseDatastorePath, uploadToDatastore } from '../../src/platforms/vsphere/disks/datastore.ts'
import { Session } from '../../src/platforms/vsphere/soap/session.ts'
import { atEnd } from '../support/cleanup.ts'
import { testOvf } from '../support/test-ovf.ts'
import { endOtherSessions } from '../support/vcsim-sessions.ts'
import { setSimulated, startVsphere, vmFolder } from '../support/vsphere-machines.ts'
import { describePlatform } from './platform.ts'
import {
  callOf,
  made,
  newMachine,
  newName,
  ownerOf,
  type PlatformUnderTest,
  present,
  type TestMachine,
} from './platform-suite/world.ts'

const simulated = await startVsphere({ datacenters: 2, vms: 2 })
const { vcsim, ports, platform } = simulated

const http = openHttp(vcsim.connection)
const session = new Session(http, vcsim.connection)
atEnd(async () => {
  await session.logout()
  http.close()
})

const capacity = 8 * 1024 * 1024
const inventory = portOf(platform, 'inventory')

/** Where the simulator keeps things in its first data centre. */
const places = async () => {
  const found = new Map<string, string>()
  const scan = inventory.scan(callOf(), { scopes: ['/DC0'], concurrency: 1, itemTimeoutMs: 10_000 })
  for await (const items of scan)
    for (const item of items)
      if (item.type === 'host' || item.type === 'storage' || item.type === 'network')
        if (!found.has(item.type)) found.set(item.type, item.facts.ref)
  return (type: string) => found.get(type) ?? ''
}
const placeOf = await places()

/** A machine whose disk has content, as far as the simulator keeps any, and whose guest says what a test wants. */
const machineWith = async (tools: 'guestToolsRunning' | 'guestToolsNotRunning'): Promise<TestMachine> => {
  const wanted = newMachine(world, { owner: {} })
  const ref = await made(ports.machines.create(callOf(), wanted))
  const facts = await present(inventory.instance(callOf(), ref))
  const [disk] = facts.disks
  if (!disk) throw new Error('The simulator made a machine without its disk.')
  const { datastore, path } = parseDatastorePath(disk.name)
  await uploadToDatastore(
    session,
    callOf(),
    { datacenter: 'DC0', datastore, path: path.replace(/\.vmdk$/, '-flat.vmdk') },
    { stream: Readable.from([randomBytes(capacity)], { objectMode: false }), bytes: capacity },
  )
  await setSimulated(simulated, ref, {
    'guest.toolsRunningStatus': tools,
    'guest.hostName': tools === 'guestToolsRunning' ? 'guest-01' : '',
  })
  return { ref, name: wanted.machineName, disk: { key: disk.key, capacity } }
}

const newImage = (): NewImage => {
  const content = randomBytes(3 * 1024 * 1024)
  const disks = ['disk-0', 'disk-1'].map((id) => ({ id, capacity, size: content.length }))
  const pieces = function* () {
    for (let at = 0; at < content.length; at += 50_000) yield content.subarray(at, at + 50_000)
  }
  return {
    templateName: newName('image'),
    folder: vmFolder,
    project: '',
    pool: '',
    host: '',
    network: placeOf('network'),
    ovf: testOvf(disks),
    cpus: 2,
    memory: 512 * 1024 * 1024,
    disks: disks.map((disk) => ({
      ...disk,
      format: 'vmdk-stream',
      open: () => Promise.resolve(Readable.from(pieces(), { objectMode: false })),
    })),
    owner: ownerOf(),
  }
}

const declares: readonly Capability[] = [
  ...(['inventory', 'inventory-delta', 'power', 'guest-shutdown', 'suspend', 'create', 'rename'] as const),
  ...(['reconfigure', 'clone', 'snapshots', 'ownership-tags', 'read-disks', 'changed-blocks'] as const),
  ...(['templates', 'import-image', 'guest-facts'] as const),
]

const world: PlatformUnderTest = {
  connection: vcsim.connection,
  declares,
  // The simulator answers no question for changed blocks: vsphere-operations-blocks.test.ts has recorded shapes.
  notSimulated: ['changed-blocks'],
  machine: () => machineWith('guestToolsRunning'),
  machineWithoutAgent: () => machineWith('guestToolsNotRunning'),
  place: {
    folder: vmFolder,
    project: '',
    pool: placeOf('storage'),
    network: placeOf('network'),
    host: placeOf('host'),
    otherHost: '',
  },
  scope: { name: '/DC1', holds: (location) => location.startsWith('/DC1/') },
  findsTasksBy: [],
  remembersNames: false,
  levers: { loseSessions: () => endOtherSessions(session, callOf()) },
}

describePlatform('vsphere', { ...world, newImage })
