import { child, type Ref, textOf } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { InventoryItem } from '../../ports/inventory.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { type ObjectRead, type ObjectSet, retrieve, retrieveOne } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import { type InstanceSurroundings, instancePaths, readInstance } from './instance-facts.ts'
import { type InventoryTree, plainName } from './inventory-tree.ts'
import { type HostVlans, readHost, readHostVlans, readNetwork, readStorage, sitePaths } from './site-facts.ts'

export const instanceProperties = { type: 'VirtualMachine', paths: instancePaths }

const siteProperties = [
  { type: 'HostSystem', paths: sitePaths.host },
  { type: 'Datastore', paths: sitePaths.storage },
  { type: 'Network', paths: sitePaths.network },
  { type: 'OpaqueNetwork', paths: sitePaths.network },
  { type: 'DistributedVirtualPortgroup', paths: sitePaths.portgroup },
  { type: 'ClusterComputeResource', paths: ['summary'] },
]

const networkTypes = ['Network', 'OpaqueNetwork', 'DistributedVirtualPortgroup']

/** What an item is of; nothing for what is only a place of others. */
export const kindOf = (ref: Ref): 'instance' | 'network' | 'host' | 'storage' | undefined => {
  if (ref.type === 'VirtualMachine') return 'instance'
  if (ref.type === 'HostSystem') return 'host'
  if (ref.type === 'Datastore') return 'storage'
  return networkTypes.includes(ref.type) ? 'network' : undefined
}

/** Hosts, datastores and networks; few beside the machines, so they are read whole. */
export const readSite = async (
  session: Session,
  call: Call,
  views: readonly Ref[],
): Promise<readonly ObjectRead[]> => {
  const found = new Map<string, ObjectRead>()
  for (const view of views)
    for await (const objects of retrieve(session, call, { objects: { view }, properties: siteProperties }))
      for (const object of objects) found.set(object.ref.value, object)
  return [...found.values()]
}

export const siteItems = (objects: readonly ObjectRead[], tree: InventoryTree): InventoryItem[] => {
  const hosts = objects.filter(({ ref }) => ref.type === 'HostSystem')
  const vlans = readHostVlans(hosts, tree)
  const evcModes = new Map(
    objects
      .filter(({ ref }) => ref.type === 'ClusterComputeResource')
      .map(({ ref, properties }) => [ref.value, textOf(properties.get('summary'), 'currentEVCModeKey')]),
  )
  return objects.flatMap((object) => siteItem(object, { tree, vlans, evcModes }))
}

const siteItem = (
  object: ObjectRead,
  around: { tree: InventoryTree; vlans: HostVlans; evcModes: ReadonlyMap<string, string> },
): readonly InventoryItem[] => {
  const of = kindOf(object.ref)
  if (!of || of === 'instance') return []
  return guarded(of, object, () => {
    if (of === 'host') return { type: 'host', facts: readHost(object, around.tree, around.evcModes) }
    if (of === 'storage') return { type: 'storage', facts: readStorage(object, around.tree) }
    const facts = readNetwork(object, around.tree, around.vlans)
    return facts && { type: 'network', facts }
  })
}

/** All machines of some objects, each object once. */
export async function* readInstances(
  session: Session,
  call: Call,
  sets: readonly ObjectSet[],
  surroundings: InstanceSurroundings,
): AsyncGenerator<readonly InventoryItem[], void> {
  const seen = new Set<string>()
  for (const objects of sets)
    for await (const batch of retrieve(session, call, {
      objects,
      properties: [instanceProperties],
      flows: true,
    })) {
      const fresh = sets.length === 1 ? batch : batch.filter(({ ref }) => !seen.has(ref.value))
      if (sets.length > 1) for (const { ref } of fresh) seen.add(ref.value)
      yield fresh.flatMap((object) => instanceItem(object, surroundings))
    }
}

const instanceItem = (object: ObjectRead, surroundings: InstanceSurroundings): readonly InventoryItem[] =>
  guarded('instance', object, () => ({ type: 'instance', facts: readInstance(object, surroundings) }))

/** Whatever is wrong with one thing, the others come all the same. */
const guarded = (
  of: 'instance' | 'network' | 'host' | 'storage',
  { ref, properties }: ObjectRead,
  read: () => InventoryItem | undefined,
): readonly InventoryItem[] => {
  try {
    const item = read()
    return item ? [item] : []
  } catch (error) {
    const name = plainName(properties.get('name')?.text ?? '')
    return [{ type: 'problem', of, ref: ref.value, name, error: asProblem(error, ref) }]
  }
}

const asProblem = (error: unknown, ref: Ref): PlatformError =>
  error instanceof PlatformError
    ? error
    : new PlatformError(
        {
          code: 'platform-answer-invalid',
          failure: 'unknown',
          message: `What vSphere tells of ${ref.value} is not understood.`,
          remedy: 'This is a defect in Drover: report it with what the log says of it.',
          detail: { ref: ref.value },
        },
        { cause: error },
      )

/** Names of custom attributes by key; none on ESXi and for an account that may not see them. */
export const readAttributeNames = async (
  session: Session,
  call: Call,
): Promise<ReadonlyMap<string, string>> => {
  const manager = (await session.content(call)).refs.get('customFieldsManager')
  if (!manager) return new Map()
  const read = await retrieveOne(session, call, manager, ['field'])
  const fields = read.found ? (read.value.properties.get('field')?.children ?? []) : []
  return new Map(fields.map((field) => [textOf(field, 'key'), child(field, 'name')?.text ?? '']))
}
