import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { Call } from '../../../src/platforms/ports/call.ts'
import type { ChangedBlocks, DiskRef, DisksPort, Extent } from '../../../src/platforms/ports/disks.ts'
import type { GuestPort } from '../../../src/platforms/ports/guest.ts'
import type { InventoryItem, InventoryPort, ScanEnd } from '../../../src/platforms/ports/inventory.ts'
import type { MachinesPort } from '../../../src/platforms/ports/machines.ts'
import type { Capability, Platform } from '../../../src/platforms/ports/ports.ts'
import type { PowerPort } from '../../../src/platforms/ports/power.ts'
import type { Found, TaskHandle, TaskStatus } from '../../../src/platforms/ports/task.ts'
import { hostFacts, instanceFacts, networkFacts, storageFacts } from '../../support/imagined-site.ts'
import { problem } from '../operation/cloud-things.ts'
import type { EstateDisk, EstateMachine } from './estate.ts'
import type { Hand } from './hand.ts'
import type { Place, PlaceTask } from './place.ts'

/** Of one name everywhere: cards land where they were. */
const network = 'VM-Network'

const capabilities: ReadonlySet<Capability> = new Set([
  ...(['inventory', 'power', 'guest-shutdown', 'create', 'rename', 'reconfigure', 'snapshots'] as const),
  ...([
    'ownership-tags',
    'read-disks',
    'write-disks',
    'changed-blocks',
    'guest-facts',
    'port-probe',
  ] as const),
])

/** A place as a turn of a worker reaches it. */
export const platformOf = (place: Place, hand: Hand): Platform => ({
  kind: 'lab',
  capabilities,
  ports: {
    inventory: named(hand, 'inventory', inventoryOf(place, hand)),
    power: named(hand, 'power', powerOf(place, hand)),
    machines: named(hand, 'machines', machinesOf(place, hand) as MachinesPort),
    disks: named(hand, 'disks', disksOf(place, hand)),
    guest: named(hand, 'guest', guestOf(place, hand)),
  },
  probe: (call) =>
    hand.look(place, call, () => ({ product: 'Imagined', version: '1', instance_id: place.name })),
  close: () => Promise.resolve(),
})

/** Its call is over when its last page is there. */
async function* streamed(hand: Hand, name: string, pages: AsyncGenerator): AsyncGenerator {
  const end: unknown = yield* pages
  await hand.life.rest(`after ${name}`)
  return end
}

/** Every call of a port that there is, by its name. */
export const knownCalls = new Set<string>()

/** Before and after each of its calls is a point with the name of the call. */
const named = <Port extends object>(hand: Hand, port: string, calls: Port): Port => {
  for (const [call, made] of Object.entries(calls) as [
    keyof Port & string,
    (...given: never[]) => unknown,
  ][]) {
    const name = `${port}.${call}`
    knownCalls.add(name)
    const passing = (...given: never[]) => {
      hand.life.pass(`before ${name}`)
      const answer = made(...given)
      if (!(answer instanceof Promise)) return streamed(hand, name, answer as AsyncGenerator)
      return answer.then(async (value: unknown) => {
        await hand.life.rest(`after ${name}`)
        return value
      })
    }
    Object.assign(calls, { [call]: passing })
  }
  return calls
}

const found = <Value>(value: Value | undefined): Found<Value> =>
  value === undefined ? { found: false } : { found: true, value }

const tasksOf = (place: Place, hand: Hand) => {
  const handle = (task: PlaceTask): TaskHandle => ({
    id: task.id,
    status: (call) => hand.look(place, call, () => statusOf(task)),
    wait: async (call) => {
      await hand.look(place, call, () => {
        if (task.slip !== 'takes-long') place.advance(task)
      })
      if (task.state === 'running') throw problem('platform-timeout', 'unknown')
      if (task.error) throw task.error
      return task.result
    },
  })
  return {
    begin: async (call: Call, begin: (name: string) => PlaceTask): Promise<TaskHandle> =>
      handle(await hand.act(place, call, () => begin(call.name))),
    findTask: (call: Call, trace: Parameters<PowerPort['findTask']>[1]): Promise<Found<TaskHandle>> =>
      hand.look(place, call, () => {
        const task = place.find(trace)
        return found(task && handle(task))
      }),
  }
}

const statusOf = ({ id, state, result, error }: PlaceTask): TaskStatus => ({
  ...{ id, state, result, error },
  percent: null,
})

const powerOf = (place: Place, hand: Hand): PowerPort => {
  const { begin, findTask } = tasksOf(place, hand)
  return {
    findTask,
    power: (call, ref) =>
      hand.look(place, call, () => {
        const machine = place.estate.find(place.name, ref)
        const boot = machine?.power === 'on' ? machine.boot : ''
        return found(machine && { state: machine.power, host: hostFacts.name, boot_id: boot })
      }),
    start: (call, ref) => begin(call, (name) => place.start(name, ref)),
    shutdownGuest: (call, ref) => begin(call, (name) => place.shutdown(name, ref)),
    stop: (call, ref) => begin(call, (name) => place.stop(name, ref)),
    restart: (call, ref) => begin(call, (name) => place.restart(name, ref)),
    suspend: () => Promise.reject(problem('platform-refused', 'refused')),
  }
}

const machinesOf = (place: Place, hand: Hand): Partial<MachinesPort> => {
  const { begin, findTask } = tasksOf(place, hand)
  const { estate, name: at } = place
  return {
    findTask,
    create: (call, machine) => begin(call, (name) => place.create(name, machine)),
    findOwned: (call, owner) =>
      hand.look(place, call, () =>
        estate
          .at(at)
          .filter((machine) => Object.entries(owner).every(([key, value]) => machine.owner[key] === value))
          .map(({ ref }) => ref),
      ),
    owner: (call, ref) => hand.look(place, call, () => found(estate.find(at, ref)?.owner)),
    reconfigure: (call, ref, change) => begin(call, (name) => place.reconfigure(name, ref, change)),
    destroy: (call, ref) => begin(call, (name) => place.destroy(name, ref)),
    snapshots: (call, ref) =>
      hand.look(place, call, () => {
        const machine = estate.find(at, ref)
        return found(
          machine && [...machine.snapshots].map(([one, { name }]) => ({ ref: one, name, parent: null })),
        )
      }),
    createSnapshot: (call, ref, { snapshotName }) =>
      begin(call, (name) => place.snapshot(name, ref, snapshotName)),
    removeSnapshot: (call, ref, snapshot) => begin(call, (name) => place.dropSnapshot(name, ref, snapshot)),
  }
}

const diskOf = (place: Place, { machine: ref, disk: key, snapshot }: DiskRef): Readonly<EstateDisk> => {
  const machine = place.estate.machine(place.name, ref)
  const disks = snapshot ? machine.snapshots.get(snapshot)?.disks : machine.disks
  const disk = disks?.get(key)
  if (!disk) throw problem('platform-absent', 'absent')
  return disk
}

const disksOf = (place: Place, hand: Hand): DisksPort => ({
  extents: async function* (call, ref) {
    yield await hand.look(place, call, (): Extent[] => [
      { offset: 0, length: diskOf(place, ref).bytes.length },
    ])
  },
  read: (call, ref, { offset, length }) =>
    hand.look(place, call, () => Buffer.from(diskOf(place, ref).bytes.subarray(offset, offset + length))),
  write: (call, ref, offset, bytes) =>
    hand.act(place, call, () => {
      const machine = place.estate.machine(place.name, ref.machine)
      if (machine.power === 'on') throw problem('platform-wrong-state', 'refused')
      const disk = diskOf(place, ref)
      bytes.copy(disk.bytes, offset)
      // It is a copy that has not run yet, once more.
      machine.copied = null
    }),
  changedBlocks: (call, ref, changeId) =>
    hand.look(place, call, (): ChangedBlocks => {
      if (!place.estate.machine(place.name, ref.machine).tracked) throw problem('platform-refused', 'refused')
      const { version, bytes } = diskOf(place, ref)
      const whole = changeId === '*' || Number(changeId) < version
      return { extents: whole ? [{ offset: 0, length: bytes.length }] : [], changeId: String(version) }
    }),
})

const guestOf = (place: Place, hand: Hand): GuestPort => ({
  guest: (call, ref) =>
    hand.look(place, call, () => {
      const machine = place.estate.find(place.name, ref)
      const runs = machine?.power === 'on'
      return found(
        machine && {
          agent: runs ? ('running' as const) : ('not-running' as const),
          hostname: runs ? machine.name : '',
          addresses: [],
          boot_id: machine.boot,
          counter: null,
        },
      )
    }),
  openPorts: (call) => hand.look(place, call, () => found<readonly number[]>([])),
})

/** What a look at the place shows of a machine. */
const factsOf = (machine: EstateMachine): InstanceFacts => {
  const { ref, name, uuid, power, cpus, memory, nics, disks, tracked } = machine
  const usual = instanceFacts({ ref, name, uuid })
  const [nic] = usual.nics
  const [disk] = usual.disks
  if (!nic || !disk) throw new Error('An imagined instance has a card and a disk.')
  return {
    ...usual,
    background_import: tracked,
    ...{ cpus, memory, power_state: power, running: power === 'on', host: hostFacts.name },
    nics: nics.map(({ mac }) => ({ ...nic, mac, network, ipv4_addresses: [...nic.ipv4_addresses] })),
    disks: [...disks].map(([key, { bytes, version }]) => ({
      ...{ ...disk, key, used: null },
      ...{ capacity: bytes.length, change_id: tracked ? String(version) : null },
    })),
  }
}

const inventoryOf = (place: Place, hand: Hand): InventoryPort => {
  async function* scan(call: Call): AsyncGenerator<readonly InventoryItem[], ScanEnd> {
    const things: InventoryItem[] = [
      { type: 'network', facts: { ...networkFacts, name: network } },
      { type: 'host', facts: hostFacts },
      { type: 'storage', facts: storageFacts },
      { type: 'storage', facts: { ...storageFacts, ref: 'ds-2', name: 'ds-2' } },
      { type: 'project', facts: { ref: 'default', name: 'default', limits: {}, used: {} } },
    ]
    yield await hand.look(place, call, () => [
      ...things,
      ...place.estate
        .at(place.name)
        .map((machine) => ({ type: 'instance' as const, facts: factsOf(machine) })),
    ])
    return { cursor: null }
  }
  return {
    scan,
    changes: scan,
    instance: (call, ref) =>
      hand.look(place, call, () => {
        const machine = place.estate.find(place.name, ref)
        return found(machine && factsOf(machine))
      }),
  }
}
