import type { PowerState } from '../../domain/inventory/facts.ts'
import { type Change, newId, toDate, toMs } from '../model/context.ts'
import { blockBytes, readBootRecord } from '../model/disk-content.ts'
import { refuse, unreachable, wrongState } from '../model/refusal.ts'
import { listDisks, viewDisk } from '../store/disks.ts'
import { type HostLoad, hostLoads, touchEntity } from '../store/entities.ts'
import { type Machine, saveMachine } from '../store/machines.ts'
import { logPower } from '../store/power-log.ts'
import { readBytes } from './disk-bytes.ts'
import { bootWrites, guestWrites } from './guest-load.ts'

/** One up every tenth of a second while the guest runs. */
const countMs = 100

/** The number in the guest's memory at that moment; null when nothing runs that counts. */
export const counterAt = (machine: Machine, at: number): number | null => {
  if (machine.guest === null || machine.power === 'off') return null
  const since = toMs(machine.counterAt)
  const more = machine.power === 'on' && since !== null ? Math.floor((at - since) / countMs) : 0
  return machine.counterBase + Math.max(0, more)
}

/** Where it could run: a live host of its own cluster with room; the one that was asked for, its last one, or the emptiest. */
export const chooseHost = async (
  change: Pick<Change, 'tx' | 'site'>,
  machine: Machine,
  asked: string,
): Promise<HostLoad> => {
  const loads = await hostLoads(change.tx, change.site)
  const wanted = loads.find(({ host }) => host.ref === asked || host.name === asked)
  if (asked !== '' && !wanted) throw refuse('platform-absent', `There is no host "${asked.slice(0, 100)}".`)
  if (wanted) return checkRoom(wanted, machine)
  const free = ({ host, memory }: HostLoad) => host.data.memory - memory
  const fitting = loads
    .filter(({ host }) => machine.cluster === '' || host.data.cluster === machine.cluster)
    .filter((load) => blocked(load, machine) === '')
    .sort(
      (a, b) =>
        Number(b.host.ref === machine.host) - Number(a.host.ref === machine.host) || free(b) - free(a),
    )
  const [best] = fitting
  if (!best)
    throw refuse('platform-no-capacity', `No host has room for "${machine.name}".`, 'Free some capacity.')
  return best
}

/** Devices of the host itself, by which a machine is bound to hosts that have them. */
const hostDevices = (machine: Machine): string[] =>
  machine.traits.frozenFacts
    ? []
    : machine.facts.devices
        .filter(({ kind, connected }) => connected && (kind === 'pci-passthrough' || kind === 'vgpu'))
        .map(({ label }) => label)

/** Why it cannot start there, or empty. */
const blocked = ({ host, cpus, memory }: HostLoad, machine: Machine): string => {
  if (host.trouble.dead) return 'does not answer'
  if (host.data.state !== 'connected') return `is ${host.data.state}`
  if (host.trouble.full) return 'is full'
  if (memory + machine.memory > host.data.memory) return 'has too little memory left'
  if (cpus + machine.cpus > host.data.cpus) return 'has too few CPUs left'
  const device = hostDevices(machine).find((label) => !host.data.devices.includes(label))
  if (device !== undefined) return `has no device "${device}"`
  return ''
}

const checkRoom = (load: HostLoad, machine: Machine): HostLoad => {
  const why = blocked(load, machine)
  if (why === '') return load
  if (load.host.trouble.dead) throw unreachable(`Host ${load.host.name}`)
  throw refuse('platform-no-capacity', `Host ${load.host.name} ${why}.`, 'Choose another host, or make room.')
}

/** What a machine may be told in which state. */
export const needsState = (machine: Machine, states: readonly PowerState[], verb: string): void => {
  if (machine.template) throw wrongState(`"${machine.name}" is a template: it cannot ${verb}.`)
  if (!machine.complete) throw wrongState(`"${machine.name}" is not complete: it cannot ${verb}.`)
  if (!states.includes(machine.power))
    throw wrongState(`"${machine.name}" is ${machine.power}: it cannot ${verb}.`)
}

/** Runs from now on; cold unless it wakes from memory. */
export const powerOn = async (
  change: Change,
  machine: Machine,
  options: { host: string; wake?: { bootId: string; counter: number; guest: Machine['guest'] } },
): Promise<void> => {
  machine.power = 'on'
  machine.host = options.host
  machine.runId = newId()
  machine.counterAt = toDate(change.at)
  machine.loadAt = toDate(change.at)
  if (options.wake) {
    machine.guest = options.wake.guest
    machine.bootId = options.wake.bootId
    machine.counterBase = options.wake.counter
    machine.readyAt = toDate(change.at)
  } else {
    machine.guest = await guestOnDisk(change, machine)
    machine.bootId = machine.guest ? newId() : ''
    machine.counterBase = 0
    machine.readyAt = toDate(change.at + Math.round((machine.guest?.boot_ms ?? 0) * change.pace))
    await bootWrites(change, machine)
  }
  await finish(change, machine)
}

/** Freezes (suspend, hibernate) or ends (stop) what ran. */
export const powerDown = async (change: Change, machine: Machine, to: 'off' | 'suspended'): Promise<void> => {
  await guestWrites(change, machine)
  machine.counterBase = to === 'suspended' ? (counterAt(machine, change.at) ?? 0) : 0
  machine.counterAt = null
  machine.readyAt = null
  machine.loadAt = null
  machine.power = to
  if (to === 'off') machine.guest = null
  await finish(change, machine)
}

const finish = async (change: Change, machine: Machine): Promise<void> => {
  await saveMachine(change, machine)
  await logPower(change, machine)
  if (machine.host !== '') await touchEntity(change, 'host', machine.host)
}

/** What would boot: the guest whose record is in the first block of the first disk. */
const guestOnDisk = async (change: Change, machine: Machine): Promise<Machine['guest']> => {
  const [first] = await listDisks(change.tx, change.site, machine.ref)
  if (!first) return null
  const view = await viewDisk(change.tx, {
    site: change.site,
    machine: machine.ref,
    key: first.key,
    snapshot: '',
  })
  const length = Math.min(blockBytes, first.capacity)
  return readBootRecord(await readBytes(change.tx, view, { offset: 0, length }))
}
