import type { InstanceFacts, PowerState, SnapshotFacts } from '../../../domain/inventory/facts.ts'
import {
  child,
  childrenOf,
  isTrue,
  meaningOf,
  numberOf,
  refOf,
  textOf,
  type XmlNode,
} from '../../../xml/xml-node.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import type { ObjectRead } from '../soap/property-read.ts'
import { readDevices } from './instance-devices.ts'
import { readDisks } from './instance-disks.ts'
import { readGuest, readSystem } from './instance-guest.ts'
import { readNics } from './instance-nics.ts'
import { type InventoryTree, plainName } from './inventory-tree.ts'

/** What is read of every machine. */
export const instancePaths: readonly string[] = [
  ...['name', 'parent', 'parentVApp', 'resourcePool', 'snapshot', 'layoutEx', 'customValue'],
  ...['config.uuid', 'config.instanceUuid', 'config.template', 'config.annotation', 'config.version'],
  ...['config.guestId', 'config.guestFullName', 'config.firmware', 'config.bootOptions', 'config.hardware'],
  ...['config.cpuHotAddEnabled', 'config.memoryHotAddEnabled', 'config.changeTrackingEnabled'],
  ...['config.keyId', 'config.managedBy', 'config.extraConfig', 'summary.config.product'],
  ...['runtime.powerState', 'runtime.host', 'runtime.connectionState', 'runtime.consolidationNeeded'],
  ...['runtime.faultToleranceState', 'guest.net', 'guest.hostName', 'guest.toolsRunningStatus'],
  ...['guest.toolsStatus', 'guest.toolsVersionStatus2', 'guest.toolsVersion'],
]

export interface InstanceSurroundings {
  readonly tree: InventoryTree
  /** Names of custom attributes by key. */
  readonly attributes: ReadonlyMap<string, string>
  /** By ref of the machine: names by category. */
  readonly tags: ReadonlyMap<string, Readonly<Record<string, readonly string[]>>>
}

/** Throws a PlatformError when too little of the machine can be read to say what it is. */
export const readInstance = (object: ObjectRead, surroundings: InstanceSurroundings): InstanceFacts => {
  const { properties } = object
  const hardware = properties.get('config.hardware')
  if (!hardware) throw unreadable(object)
  const devices = childrenOf(hardware, 'device')
  const extra = extraConfig(properties.get('config.extraConfig'))
  const where = placeOf(object, surroundings.tree)
  const text = (path: string) => properties.get(path)?.text ?? ''
  const flag = (path: string) => isTrue(text(path))
  const power = powerOf(object)
  const around = { tree: surroundings.tree, datacenter: where.datacenterRef }
  const readFacts = readDevices(devices)
  return {
    ref: object.ref.value,
    uuid: text('config.instanceUuid').toLowerCase(),
    bios_uuid: text('config.uuid').toLowerCase(),
    name: plainName(text('name')),
    ...where.facts,
    description: text('config.annotation'),
    template: flag('config.template'),
    appliance: isAppliance(properties, extra),
    power_state: power,
    running: power === 'on',
    ...readSystem(extra.get('guestInfo.detailed.data') ?? '', text('config.guestId')),
    os_template: text('config.guestFullName'),
    cpus: numberOf(hardware, 'numCPU'),
    memory: numberOf(hardware, 'memoryMB') * 1024 * 1024,
    cpu_hot_plug: flag('config.cpuHotAddEnabled'),
    memory_hot_plug: flag('config.memoryHotAddEnabled'),
    legacy_boot: text('config.firmware') !== 'efi',
    secure_boot: isTrue(textOf(properties.get('config.bootOptions'), 'efiSecureBootEnabled')),
    tpm: readFacts.some((device) => device.kind === 'tpm'),
    encrypted: properties.has('config.keyId'),
    hardware_version: text('config.version'),
    background_import: flag('config.changeTrackingEnabled'),
    needs_consolidation: flag('runtime.consolidationNeeded'),
    fault_tolerant: !['', 'notConfigured'].includes(text('runtime.faultToleranceState')),
    nics: readNics(devices, properties.get('guest.net'), around),
    disks: readDisks(devices, properties.get('layoutEx'), surroundings.tree),
    snapshots: readSnapshots(properties.get('snapshot')),
    devices: readFacts,
    guest: readGuest(properties),
    tags: surroundings.tags.get(object.ref.value) ?? {},
    attributes: readAttributes(properties.get('customValue'), surroundings.attributes),
  }
}

const powerStates: Readonly<Record<string, PowerState>> = {
  poweredOn: 'on',
  poweredOff: 'off',
  suspended: 'suspended',
}

/** Not read is taken for off, as before a machine is touched it is asked again; a word that we do not know is no state. */
const powerOf = ({ ref, properties }: ObjectRead): PowerState => {
  const said = properties.get('runtime.powerState')?.text ?? ''
  const state = said === '' ? 'off' : meaningOf(powerStates, said)
  if (state) return state
  throw new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `The server says that ${ref.value} is "${said.slice(0, 80)}", which is no state of a machine.`,
    remedy: 'Look at the machine in vSphere; it is read again with the next sync.',
    detail: { ref: ref.value },
  })
}

const placeOf = ({ properties }: ObjectRead, tree: InventoryTree) => {
  const pool = refOf(properties.get('resourcePool'))?.value ?? ''
  const host = refOf(properties.get('runtime.host'))?.value ?? ''
  // A machine in a vApp has no folder of its own.
  const parent = refOf(properties.get('parent')) ?? refOf(properties.get('parentVApp'))
  const folder = tree.path(parent?.value ?? '')
  const datacenter = tree.nearest(parent?.value ?? host, 'Datacenter') ?? tree.nearest(host, 'Datacenter')
  const cluster = tree.nearest(host, 'ClusterComputeResource') ?? tree.nearest(pool, 'ClusterComputeResource')
  return {
    datacenterRef: datacenter?.ref.value ?? '',
    facts: {
      location: `${folder}/${properties.get('name')?.text ?? ''}`,
      folder,
      datacenter: tree.name(datacenter?.ref.value ?? ''),
      cluster: tree.name(cluster?.ref.value ?? ''),
      host: tree.name(host),
      resource_pool: tree.name(pool),
    },
  }
}

/** Only what is asked for below: a machine has a hundred of them. */
const wantedExtra = new Set(['guestInfo.detailed.data', 'HDCS.agent'])

const extraConfig = (node: XmlNode | undefined): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const option of node?.children ?? []) {
    const key = textOf(option, 'key')
    if (wantedExtra.has(key)) found.set(key, textOf(option, 'value'))
  }
  return found
}

const longestProduct = 256

/** vSphere's own: agents of clusters, machines of its extensions, the managers themselves. */
const isAppliance = (
  properties: ReadonlyMap<string, XmlNode>,
  extra: ReadonlyMap<string, string>,
): boolean => {
  const managedBy = textOf(properties.get('config.managedBy'), 'extensionKey')
  // Bounded, as what is looked for may begin anywhere.
  const product = textOf(properties.get('summary.config.product'), 'name').slice(0, longestProduct)
  return (
    /^com\.vmware\.(vim\.eam|vcenter\.)/.test(managedBy) ||
    isTrue((extra.get('HDCS.agent') ?? '').toLowerCase()) ||
    /vCenter Server|NSX.*(Manager|Appliance|Edge)|Platform Services Controller/i.test(product)
  )
}

const readSnapshots = (node: XmlNode | undefined): SnapshotFacts[] => {
  const found: SnapshotFacts[] = []
  // With a list instead of calls: a chain may be long.
  const open = childrenOf(node, 'rootSnapshotList').map((tree) => ({ tree, parent: null as string | null }))
  // Not by `shift`, which moves all the others each time.
  for (let place = 0; place < open.length; place += 1) {
    const next = open[place] as (typeof open)[number]
    const ref = refOf(child(next.tree, 'snapshot'))?.value ?? ''
    found.push({
      ref,
      name: plainName(textOf(next.tree, 'name')),
      created_at: textOf(next.tree, 'createTime') || null,
      memory: textOf(next.tree, 'state') === 'poweredOn',
      parent: next.parent,
    })
    for (const tree of childrenOf(next.tree, 'childSnapshotList')) open.push({ tree, parent: ref })
  }
  return found
}

const readAttributes = (
  values: XmlNode | undefined,
  names: ReadonlyMap<string, string>,
): Record<string, string> => {
  const found = new Map<string, string>()
  for (const one of values?.children ?? []) {
    const name = names.get(textOf(one, 'key'))
    if (name !== undefined) found.set(name, textOf(one, 'value'))
  }
  return Object.fromEntries(found)
}

const unreadable = ({ ref, properties, missing }: ObjectRead): PlatformError => {
  const name = plainName(properties.get('name')?.text ?? ref.value)
  const state = properties.get('runtime.connectionState')?.text ?? ''
  const denied = [...missing.values()].find((fault) => fault.type === 'NoPermission')
  return new PlatformError({
    code: denied ? 'platform-permission' : 'platform-wrong-state',
    failure: 'refused',
    message: denied
      ? `The account may not read the configuration of "${name}".`
      : `The configuration of "${name}" cannot be read${state === '' ? '' : `: vSphere calls it ${state}`}.`,
    remedy: denied
      ? 'Give the account the privileges that the vSphere page of the manual lists.'
      : 'Look at its datastore and its host, or remove it from the inventory of vSphere.',
    detail: { ref: ref.value, connection_state: state },
  })
}
