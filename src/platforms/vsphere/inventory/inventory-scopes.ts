import type { Ref } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { createView } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import { type InventoryTree, plainName, type TreeNode } from './inventory-tree.ts'

const around = [
  'HostSystem',
  'Network',
  'Datastore',
  'Folder',
  'Datacenter',
  'ComputeResource',
  'ResourcePool',
]

/** The same places have the same text, in whatever order and form they were given. */
export const normalScopes = (scopes: readonly string[]): readonly string[] => {
  const clean = scopes.map((scope) => scope.replace(/\/\.\.\.$/, '').replace(/^\/+|\/+$/g, ''))
  return clean.includes('') || clean.includes('...') ? [] : [...new Set(clean)].sort()
}

/** Views at the server that follow what comes and goes. */
export interface ScopeViews {
  readonly machines: readonly Ref[]
  /** Hosts, networks, storage, and the places of all. */
  readonly around: readonly Ref[]
}

/** Machines of some places, and all else of the data centres that these are in. */
export const openViews = async (
  session: Session,
  call: Call,
  scopes: readonly string[],
  readTree: () => Promise<InventoryTree>,
): Promise<ScopeViews> => {
  const wanted = normalScopes(scopes)
  const [machines, sites] =
    wanted.length === 0
      ? [[await session.manager(call, 'rootFolder')], [await session.manager(call, 'rootFolder')]]
      : placesOf(await readTree(), wanted)
  const open = async (places: readonly Ref[], types: readonly string[]) => {
    const views: Ref[] = []
    for (const place of places) views.push(await createView(session, call, place, types))
    return views
  }
  return { machines: await open(machines, ['VirtualMachine']), around: await open(sites, around) }
}

const placesOf = (tree: InventoryTree, scopes: readonly string[]): readonly [Ref[], Ref[]] => {
  const machines = new Map<string, Ref>()
  const sites = new Map<string, Ref>()
  for (const scope of scopes) {
    const { ref } = findPlace(tree, scope)
    machines.set(ref.value, ref)
    const site = tree.nearest(ref.value, 'Datacenter')?.ref ?? ref
    sites.set(site.value, site)
  }
  return [[...machines.values()], [...sites.values()]]
}

const containers = [
  'Folder',
  'Datacenter',
  'ComputeResource',
  'ClusterComputeResource',
  'ResourcePool',
  'HostSystem',
]

/** By inventory path, or a data centre by its name alone. */
const findPlace = (tree: InventoryTree, scope: string): TreeNode => {
  for (const node of tree.nodes) {
    if (!containers.includes(node.ref.type)) continue
    const path = tree.path(node.ref.value).slice(1)
    if (path === scope || plainName(path) === scope) return node
    if (node.ref.type === 'Datacenter' && plainName(node.rawName) === scope) return node
  }
  throw new PlatformError({
    code: 'platform-refused',
    failure: 'refused',
    message: `There is no "${scope}" in the inventory, or the account may not see it.`,
    remedy:
      'Correct the scopes of the source: inventory paths like /Paris/vm/shop, or names of data centres.',
    field: 'scopes',
    detail: { scope },
  })
}
