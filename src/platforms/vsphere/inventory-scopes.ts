import type { Call } from '../call.ts'
import { PlatformError } from '../platform-error.ts'
import { type InventoryTree, plainName, type TreeNode } from './inventory-tree.ts'
import { createView } from './property-read.ts'
import type { Session } from './session.ts'
import type { Ref } from './xml-node.ts'

const around = [
  'HostSystem',
  'Network',
  'Datastore',
  'Folder',
  'Datacenter',
  'ComputeResource',
  'ResourcePool',
]
const everything = ['VirtualMachine', ...around]

/** The same places have the same text, in whatever order and form they were given. */
export const normalScopes = (scopes: readonly string[]): readonly string[] => {
  const clean = scopes.map((scope) => scope.replace(/\/\.\.\.$/, '').replace(/^\/+|\/+$/g, ''))
  return clean.includes('') || clean.includes('...') ? [] : [...new Set(clean)].sort()
}

/** Views at the server of everything in these places, that follow what comes and goes there. */
export const openViews = async (
  session: Session,
  call: Call,
  scopes: readonly string[],
  readTree: () => Promise<InventoryTree>,
): Promise<readonly Ref[]> => {
  const wanted = normalScopes(scopes)
  if (wanted.length === 0)
    return [await createView(session, call, await session.manager(call, 'rootFolder'), everything)]
  const tree = await readTree()
  const places = new Map<string, { ref: Ref; types: readonly string[] }>()
  for (const scope of wanted) {
    const node = findPlace(tree, scope)
    const datacenter = tree.nearest(node.ref.value, 'Datacenter')
    const isPart = datacenter !== undefined && datacenter !== node
    places.set(node.ref.value, { ref: node.ref, types: isPart ? ['VirtualMachine'] : everything })
    if (isPart && !places.has(datacenter.ref.value))
      places.set(datacenter.ref.value, { ref: datacenter.ref, types: around })
  }
  const views: Ref[] = []
  for (const { ref, types } of places.values()) views.push(await createView(session, call, ref, types))
  return views
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
