import { expect, test } from 'vitest'
import type { Call } from '../../../src/platforms/ports/call.ts'
import {
  type Capability,
  capabilities,
  type Platform,
  portOf,
  requireCapability,
} from '../../../src/platforms/ports/ports.ts'
import type { NewImage } from '../../../src/platforms/ports/templates.ts'
import { freePort } from '../../support/temp.ts'
import { callOf, errorOf, newMachine, opened, type PlatformUnderTest } from './world.ts'

type Try = (platform: Platform, call: Call, world: PlatformUnderTest) => unknown

const machine = 'vm-1'
const disk = { machine, disk: 'disk-1' }
const scan = { scopes: [], concurrency: 1, itemTimeoutMs: 1_000 }
const snapshot = { snapshotName: 'x', memory: false, quiesce: false }
const moveTo = { host: 'x', force: false }
const clone = { machineName: 'x', folder: '', owner: {} }

const image = (world: PlatformUnderTest): NewImage => ({
  ...newMachine(world),
  templateName: 'x',
  network: '',
  pool: '',
  ovf: '',
  disks: [],
})

/** Every method behind a capability. */
const tries: Readonly<Record<Capability, readonly Try[]>> = {
  inventory: [
    (p, call) => portOf(p, 'inventory').scan(call, scan).next(),
    (p, call) => portOf(p, 'inventory').instance(call, machine),
  ],
  'inventory-delta': [
    (p, call) =>
      portOf(p, 'inventory')
        .changes(call, { ...scan, cursor: 'x' })
        .next(),
  ],
  power: [
    (p, call) => portOf(p, 'power').power(call, machine),
    (p, call) => portOf(p, 'power').start(call, machine),
    (p, call) => portOf(p, 'power').stop(call, machine),
    (p, call) => portOf(p, 'power').restart(call, machine),
  ],
  'guest-shutdown': [(p, call) => portOf(p, 'power').shutdownGuest(call, machine)],
  suspend: [(p, call) => portOf(p, 'power').suspend(call, machine)],
  create: [(p, call, world) => portOf(p, 'machines').create(call, newMachine(world))],
  rename: [(p, call) => portOf(p, 'machines').rename(call, machine, 'x')],
  reconfigure: [(p, call) => portOf(p, 'machines').reconfigure(call, machine, { cpus: 1 })],
  clone: [(p, call) => portOf(p, 'machines').clone(call, machine, clone)],
  snapshots: [
    (p, call) => portOf(p, 'machines').snapshots(call, machine),
    (p, call) => portOf(p, 'machines').createSnapshot(call, machine, snapshot),
    (p, call) => portOf(p, 'machines').revertToSnapshot(call, machine, 'x'),
    (p, call) => portOf(p, 'machines').removeSnapshot(call, machine, 'x'),
  ],
  'ownership-tags': [
    (p, call) => portOf(p, 'machines').tag(call, machine, {}),
    (p, call) => portOf(p, 'machines').owner(call, machine),
    (p, call) => portOf(p, 'machines').findOwned(call, { drover: 'x' }),
  ],
  'read-disks': [
    (p, call) => portOf(p, 'disks').read(call, disk, { offset: 0, length: 512 }),
    (p, call) => portOf(p, 'disks').extents(call, disk).next(),
  ],
  'write-disks': [(p, call) => portOf(p, 'disks').write(call, disk, 0, Buffer.alloc(512))],
  'changed-blocks': [(p, call) => portOf(p, 'disks').changedBlocks(call, disk, '*')],
  templates: [
    (p, call) => portOf(p, 'templates').templates(call, ''),
    (p, call) => portOf(p, 'templates').template(call, machine),
    (p, call) => portOf(p, 'templates').markTemplate(call, machine),
    (p, call) => portOf(p, 'templates').markMachine(call, machine),
    (p, call) => portOf(p, 'templates').renameTemplate(call, machine, 'x'),
    (p, call) => portOf(p, 'templates').destroyTemplate(call, machine),
  ],
  'import-image': [(p, call, world) => portOf(p, 'templates').importImage(call, image(world), () => {})],
  hibernate: [
    (p, call) => portOf(p, 'hibernate').save(call, machine),
    (p, call) => portOf(p, 'hibernate').saved(call, 'x'),
    (p, call) => portOf(p, 'hibernate').restore(call, 'x', { host: 'x' }),
    (p, call) => portOf(p, 'hibernate').dropSaved(call, 'x'),
  ],
  'live-move': [
    (p, call) => portOf(p, 'liveMove').checkMove(call, machine, moveTo),
    (p, call) => portOf(p, 'liveMove').move(call, machine, moveTo),
    (p, call) => portOf(p, 'liveMove').findTask(call, { name: 'x' }),
    (p, call) => portOf(p, 'liveMove').abort(call, { name: 'x' }),
  ],
  'guest-facts': [(p, call) => portOf(p, 'guest').guest(call, machine)],
  'port-probe': [(p, call) => portOf(p, 'guest').openPorts(call, machine, [22])],
}

/** What a platform cannot do it refuses by name, and asks nobody: there is nobody to ask at that address. */
export const testGaps = (world: PlatformUnderTest): void => {
  for (const capability of capabilities) {
    const declared = world.declares.includes(capability)
    test(`${declared ? 'lets' : 'refuses'} "${capability}"${declared ? ' through' : ' and sends nothing'}`, async () => {
      const endpoint = new URL(world.connection.endpoint)
      endpoint.port = String(await freePort())
      const platform = opened(world, { endpoint: endpoint.href })
      const guarded = async () => requireCapability(platform, capability)
      if (declared) await guarded()
      else expect((await errorOf(guarded())).failure).toBe('unsupported')
      for (const attempt of tries[capability]) {
        const error = await errorOf((async () => await attempt(platform, callOf(), world))())
        expect(error.failure === 'unsupported', `${error.code}: ${error.message}`).toBe(!declared)
      }
    })
  }
}
