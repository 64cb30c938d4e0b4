import { child, isTrue, numberOf, type Ref, refOf } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { MachineChange, MachinesPort, NewMachine } from '../../ports/machines.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import type { TaskHandle, TaskVerb } from '../../ports/task.ts'
import { plainName } from '../inventory/inventory-tree.ts'
import {
  machineRef,
  powerStateOf,
  readPresent,
  refused,
  textAt,
  wrongState,
} from '../soap/machines-reading.ts'
import { requireVcenter } from '../soap/service-content.ts'
import type { Session } from '../soap/session.ts'
import { element, refElement, wrap } from '../soap/soap-request.ts'
import { findTask, madeHandle, startTask } from '../soap/tasks.ts'
import { setAttributes } from './machines-attributes.ts'
import { computeOf } from './machines-compute.ts'
import { datacenterOf, findChild, findFolder, wireName } from './machines-folder.ts'
import {
  findMadeBy,
  findOwned,
  markEntries,
  markPaths,
  marksOf,
  type Owner,
  readMarks,
  writeMarks,
} from './machines-ownership.ts'
import { findPlace, placeDisks, placeNics } from './machines-placement.ts'
import {
  type ConfigChange,
  configSpec,
  diskDevices,
  mostDisks,
  nicDevices,
  optionValues,
  removedDevice,
} from './machines-spec.ts'
import { openSnapshots } from './snapshots.ts'

const kinds: Readonly<Record<string, TaskVerb>> = {
  'VirtualMachine.rename': 'rename',
  'ManagedEntity.rename': 'rename',
  'VirtualMachine.reconfigure': 'reconfigure',
  'VirtualMachine.reconfigVm': 'reconfigure',
  'VirtualMachine.clone': 'clone',
  'VirtualMachine.cloneVm': 'clone',
  'VirtualMachine.destroy': 'destroy',
  'ManagedEntity.destroy': 'destroy',
  'VirtualMachine.createSnapshot': 'snapshot',
  'vm.Snapshot.revert': 'revert',
  'vm.Snapshot.remove': 'remove-snapshot',
}

export const openMachines = (session: Session): MachinesPort => {
  const snapshots = openSnapshots(session)
  return {
    ...snapshots.port,
    create: (call, machine) => create(session, call, machine),
    findOwned: (call, owner) => findOwned(session, call, owner),
    owner: async (call, machine) => {
      const marks = await readMarks(session, call, machine)
      return marks.found ? { found: true, value: marks.value.owner } : marks
    },
    tag: (call, machine, owner) => tag(session, call, machine, owner),
    rename: (call, machine, newName) => rename(session, call, machine, newName),
    reconfigure: (call, machine, change) => reconfigure(session, call, machine, change),
    clone: (call, machine, to) => clone(session, call, machine, to),
    destroy: (call, machine) => destroy(session, call, machine),
    findTask: (call, trace) =>
      findTask(session, call, trace, {
        kinds,
        madeBy: async (name, machine) =>
          (machine === undefined ? undefined : await snapshots.madeBy(call, machine, name)) ??
          (await findMadeBy(session, call, name)),
      }),
  }
}

/** Adds to the owner that is there. vSphere lets nobody change the configuration of a template. */
const tag = async (session: Session, call: Call, machine: string, owner: Owner): Promise<void> => {
  const read = await readPresent(session, call, machineRef(machine), ['config.template', ...markPaths])
  if (isTrue(textAt(read, 'config.template')))
    throw wrongState(`${machine} is a template, which takes no new owner.`, { machine })
  await writeMarks(session, call, machine, { owner: { ...marksOf(read).owner, ...owner } })
}

/**
 * What has that name in the folder already: ours by the same call (its answer was lost), or somebody else's. A
 * folder of vSphere has each name once, so that is where a machine made twice would show.
 */
export const adopted = async (
  session: Session,
  call: Call,
  folder: Ref,
  name: string,
): Promise<string | undefined> => {
  const found = await findChild(session, call, folder, name)
  if (!found) return undefined
  const marks = found.type === 'VirtualMachine' ? await readMarks(session, call, found.value) : undefined
  if (marks?.found && marks.value.madeBy === call.name) return found.value
  if (marks?.found && !marks.value.readable) throw notReadable(name, found)
  throw nameTaken(name, found)
}

/** It may be our own, still being made: neither to be adopted nor to be called somebody else's. */
const notReadable = (name: string, by: Ref): PlatformError =>
  new PlatformError({
    code: 'platform-busy',
    failure: 'refused',
    message: `${by.value} has the name ${name}, and vSphere does not show its configuration now.`,
    remedy: 'It is tried again. When it stays so, look whether that machine can be reached in vSphere.',
    detail: { name, by: by.value },
  })

export const nameTaken = (name: string, by: Ref): PlatformError =>
  new PlatformError({
    code: 'platform-name-taken',
    failure: 'refused',
    message: `The name ${name} is taken in that folder by ${by.type} ${by.value}.`,
    remedy: 'Choose another name, or rename what has this name now.',
    detail: { name, by: by.value },
  })

const create = async (session: Session, call: Call, machine: NewMachine): Promise<TaskHandle> => {
  if (machine.disks.length > mostDisks)
    throw refused(`A machine with more than ${mostDisks} disks is not made here.`, 'Attach the rest later.')
  const storage = machine.disks[0]?.pool ?? ''
  const place = await findPlace(session, call, { ...machine, storage })
  const known = await adopted(session, call, place.folder, machine.machineName)
  if (known !== undefined) return madeHandle(known)
  const nics = await placeNics(session, call, place.datacenter, machine.nics)
  const disks = placeDisks(session, place, machine.disks)
  const config: ConfigChange = {
    machineName: wireName(machine.machineName),
    ...(machine.uuid === '' ? {} : { instanceUuid: machine.uuid }),
    guestId: 'otherGuest64',
    directory: `[${place.datastore.name}]`,
    cpus: machine.cpus,
    memoryMb: toMegabytes(machine.memory),
    devices: [...diskDevices(disks), ...nicDevices(nics)],
    extraConfig: markEntries({ owner: machine.owner, madeBy: call.name }),
    ...(machine.secureBoot ? { secureBoot: true } : {}),
    firmware: machine.legacyBoot ? 'bios' : 'efi',
  }
  const body =
    wrap('config', configSpec(config)) +
    refElement('pool', place.pool) +
    (place.host ? refElement('host', place.host) : '')
  return startTask(session, call, { on: place.folder, method: 'CreateVM_Task', body })
}

const toMegabytes = (bytes: number): number => Math.ceil(bytes / 1024 ** 2)

const rename = async (
  session: Session,
  call: Call,
  machine: string,
  newName: string,
): Promise<TaskHandle> => {
  const read = await readPresent(session, call, machineRef(machine), ['name', 'parent'])
  if (plainName(textAt(read, 'name')) === newName) return madeHandle(machine)
  const folder = refOf(read.properties.get('parent'))
  const holder = folder ? await findChild(session, call, folder, newName) : undefined
  if (holder) throw nameTaken(newName, holder)
  const body = element('newName', wireName(newName))
  return startTask(session, call, { on: machineRef(machine), method: 'Rename_Task', body })
}

const reconfigure = async (
  session: Session,
  call: Call,
  machine: string,
  change: MachineChange,
): Promise<TaskHandle> => {
  const { attributes, nics, ...rest } = change
  if (attributes) await setAttributes(session, call, machine, attributes)
  const config: ConfigChange = {
    ...(rest.uuid === undefined ? {} : { instanceUuid: rest.uuid }),
    ...(rest.description === undefined ? {} : { annotation: rest.description }),
    ...(rest.cpus === undefined ? {} : { cpus: rest.cpus }),
    ...(rest.memory === undefined ? {} : { memoryMb: toMegabytes(rest.memory) }),
    ...(nics === undefined ? {} : { devices: await replacedNics(session, call, machine, nics) }),
    ...(rest.changeTracking === undefined ? {} : { changeTracking: rest.changeTracking }),
  }
  if (Object.keys(config).length === 0) {
    await readPresent(session, call, machineRef(machine), ['name'])
    return madeHandle(machine)
  }
  const body = wrap('spec', configSpec(config))
  return startTask(session, call, { on: machineRef(machine), method: 'ReconfigVM_Task', body })
}

/** All cards out, the new ones in: in one task, so that there is no machine half way. */
const replacedNics = async (
  session: Session,
  call: Call,
  machine: string,
  nics: NonNullable<MachineChange['nics']>,
): Promise<readonly string[]> => {
  const read = await readPresent(session, call, machineRef(machine), ['config.hardware.device'])
  // Only network cards have a `macAddress`.
  const cards = (read.properties.get('config.hardware.device')?.children ?? []).filter((device) =>
    child(device, 'macAddress'),
  )
  const datacenter = await datacenterOf(session, call, machineRef(machine))
  const placed = await placeNics(session, call, datacenter, nics)
  return [...cards.map((card) => removedDevice(numberOf(card, 'key'), card.xsiType)), ...nicDevices(placed)]
}

const clone = async (
  session: Session,
  call: Call,
  machine: string,
  to: Parameters<MachinesPort['clone']>[2],
): Promise<TaskHandle> => {
  requireVcenter(await session.content(call), 'clone a machine')
  const original = await readPresent(session, call, machineRef(machine), ['resourcePool', 'runtime.host'])
  const folder = await findFolder(session, call, to.folder)
  const known = await adopted(session, call, folder, to.machineName)
  if (known !== undefined) return madeHandle(known)
  // A template is in no pool: its clone goes to that of the host that holds it.
  const host = refOf(original.properties.get('runtime.host'))
  const compute = host && (await computeOf(session, call, host))
  const pool = refOf(original.properties.get('resourcePool')) ?? compute?.pool
  const marks = markEntries({ owner: to.owner, madeBy: call.name, import: '' })
  const spec =
    wrap(
      'location',
      (pool ? refElement('pool', pool) : '') + (compute?.host ? refElement('host', compute.host) : ''),
    ) +
    element('template', false) +
    wrap('config', optionValues(marks).join('')) +
    element('powerOn', false)
  const body = refElement('folder', folder) + element('name', wireName(to.machineName)) + wrap('spec', spec)
  return startTask(session, call, { on: machineRef(machine), method: 'CloneVM_Task', body })
}

const destroy = async (session: Session, call: Call, machine: string): Promise<TaskHandle> => {
  const read = await readPresent(session, call, machineRef(machine), ['runtime.powerState'])
  const state = powerStateOf(session, read)
  if (state === 'on') throw wrongState(`${machine} runs, so it is not removed.`, { machine, state })
  return startTask(session, call, { on: machineRef(machine), method: 'Destroy_Task' })
}
