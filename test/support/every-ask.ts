import { Readable } from 'node:stream'
import type { Call } from '../../src/platforms/ports/call.ts'
import type { Scan } from '../../src/platforms/ports/inventory.ts'
import type { Platform } from '../../src/platforms/ports/ports.ts'
import { testOvf } from './test-ovf.ts'

const owner = { drover: 'x' }
const disk = { machine: 'vm-1', disk: '2000' }
const scanOptions = { scopes: [], concurrency: 2, itemTimeoutMs: 2_000 }
const machine = {
  ...{ machineName: 'new', project: '', host: '', folder: '/Paris/vm', cpus: 1, memory: 2 ** 20, uuid: '' },
  ...{ legacyBoot: false, secureBoot: false, owner },
  nics: [{ mac: '', network: 'n', type: 'managed' as const, vlan: '' }],
  disks: [{ key: 'd', capacity: 2 ** 20, pool: '' }],
}
const image = {
  ...{ templateName: 'golden', folder: '/Paris/vm', project: '', pool: '', host: '', network: 'n' },
  ...{ cpus: 1, memory: 2 ** 20, owner, ovf: testOvf([{ id: 'disk-0', capacity: 2 ** 20, size: 8 }]) },
}
const imageOf = (format: 'raw' | 'vmdk-stream') => ({
  ...image,
  disks: [
    {
      id: 'disk-0',
      capacity: 2 ** 20,
      size: 8,
      format,
      open: async () => Readable.from([Buffer.alloc(8)], { objectMode: false }),
    },
  ],
})

/** A few steps are enough: what never ends is bounded elsewhere. */
const drain = async (scan: Scan | AsyncGenerator<unknown, unknown>): Promise<void> => {
  for (let step = await scan.next(); !step.done; ) step = await scan.next()
}

type Ask = (call: Call) => Promise<unknown>

/** Everything that a platform can be asked, by its port and name, once. */
export const everyAsk = ({ kind, ports, probe }: Platform): readonly (readonly [string, Ask])[] => {
  const { inventory, power, machines, disks, templates, guest, hibernate, liveMove } = ports
  const trace = { taskId: 'task-1', name: 'n', machine: 'vm-1' }
  const asks: Record<string, Ask | undefined> = {
    probe,
    scan: inventory && ((call) => drain(inventory.scan(call, scanOptions))),
    scoped: inventory && ((call) => drain(inventory.scan(call, { ...scanOptions, scopes: ['/Paris/vm'] }))),
    instance: inventory && ((call) => inventory.instance(call, 'vm-1')),
    power: power && ((call) => power.power(call, 'vm-1')),
    start: power && (async (call) => (await power.start(call, 'vm-1')).wait(call)),
    stop: power && (async (call) => (await power.stop(call, 'vm-1')).wait(call)),
    shutdown: power && ((call) => power.shutdownGuest(call, 'vm-1')),
    'power.findTask': power && ((call) => power.findTask(call, trace)),
    create: machines && ((call) => machines.create(call, machine)),
    findOwned: machines && ((call) => machines.findOwned(call, owner)),
    owner: machines && ((call) => machines.owner(call, 'vm-1')),
    tag: machines && ((call) => machines.tag(call, 'vm-1', owner)),
    rename: machines && ((call) => machines.rename(call, 'vm-1', 'other')),
    reconfigure:
      machines &&
      ((call) => machines.reconfigure(call, 'vm-1', { cpus: 2, nics: machine.nics, attributes: { a: 'b' } })),
    clone:
      machines && ((call) => machines.clone(call, 'vm-1', { machineName: 'c', folder: '/Paris/vm', owner })),
    destroy: machines && ((call) => machines.destroy(call, 'vm-1')),
    snapshots: machines && ((call) => machines.snapshots(call, 'vm-1')),
    createSnapshot:
      machines &&
      ((call) => machines.createSnapshot(call, 'vm-1', { snapshotName: 's', memory: false, quiesce: false })),
    removeSnapshot: machines && ((call) => machines.removeSnapshot(call, 'vm-1', 's-1')),
    'machines.findTask': machines && ((call) => machines.findTask(call, trace)),
    extents: disks && ((call) => drain(disks.extents(call, disk))),
    read: disks && ((call) => disks.read(call, disk, { offset: 0, length: 512 })),
    changedBlocks: disks && ((call) => disks.changedBlocks(call, disk, '*')),
    templates: templates && ((call) => templates.templates(call, '/Paris/vm')),
    template: templates && ((call) => templates.template(call, 'vm-1')),
    importImage:
      templates &&
      ((call) => templates.importImage(call, imageOf(kind === 'lab' ? 'raw' : 'vmdk-stream'), () => {})),
    markTemplate: templates && ((call) => templates.markTemplate(call, 'vm-1')),
    markMachine: templates && ((call) => templates.markMachine(call, 'vm-1')),
    renameTemplate: templates && ((call) => templates.renameTemplate(call, 'vm-1', 'other')),
    destroyTemplate: templates && ((call) => templates.destroyTemplate(call, 'vm-1')),
    guest: guest && ((call) => guest.guest(call, 'vm-1')),
    save: hibernate && ((call) => hibernate.save(call, 'vm-1')),
    saved: hibernate && ((call) => hibernate.saved(call, 's-1')),
    restore: hibernate && ((call) => hibernate.restore(call, 's-1', { host: 'h-1' })),
    move:
      liveMove &&
      (async (call) => (await liveMove.move(call, 'vm-1', { host: 'h-1', force: false })).status(call)),
    abort: liveMove && ((call) => liveMove.abort(call, trace)),
  }
  return Object.entries(asks).filter((entry): entry is [string, Ask] => entry[1] !== undefined)
}
