import { type Ref, refOf, textOf } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { createView, destroyView, type ObjectRead, retrieve } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'

/** One thing that has a place in the inventory, other than a machine. */
export interface TreeNode {
  readonly ref: Ref
  /** As vSphere writes it: a slash in a name is `%2f`. */
  readonly rawName: string
  readonly parent: string
}

/**
 * Everything around the machines, read at once: where things are, and by what machines name their networks. Small
 * beside the machines themselves.
 */
export class InventoryTree {
  readonly #nodes: ReadonlyMap<string, TreeNode>
  readonly #networkByKey: ReadonlyMap<string, string>
  readonly #switchByUuid: ReadonlyMap<string, string>
  readonly #paths = new Map<string, string>()
  /** Networks by data centre and name; made when first asked for. */
  #named: ReadonlyMap<string, string> | undefined

  constructor(
    nodes: ReadonlyMap<string, TreeNode>,
    keys: { networks: ReadonlyMap<string, string>; switches: ReadonlyMap<string, string> },
  ) {
    this.#nodes = nodes
    this.#networkByKey = keys.networks
    this.#switchByUuid = keys.switches
  }

  get nodes(): Iterable<TreeNode> {
    return this.#nodes.values()
  }

  node(id: string): TreeNode | undefined {
    return this.#nodes.get(id)
  }

  /** A name for people; empty when it is not known. */
  name(id: string): string {
    return plainName(this.#nodes.get(id)?.rawName ?? '')
  }

  /** `/Paris/vm/shop`; empty for the root, which vSphere leaves out of paths, and for what is not known. */
  path(id: string): string {
    // Upwards to what is known, then down again: without calls, as a server may answer with a long chain or a circle.
    const open: TreeNode[] = []
    let path = this.#paths.get(id)
    for (let node = this.#nodes.get(id); path === undefined; node = this.#nodes.get(node.parent)) {
      if (!node || node.parent === '' || open.length >= longestPath) path = ''
      else {
        open.push(node)
        path = this.#paths.get(node.parent)
      }
      if (!node) break
    }
    for (const node of open.reverse()) {
      path = `${path ?? ''}/${node.rawName}`.slice(0, longestPathChars)
      this.#paths.set(node.ref.value, path)
    }
    return path ?? ''
  }

  /** The nearest one of that type, `id` itself included. */
  nearest(id: string, type: string): TreeNode | undefined {
    let node = this.#nodes.get(id)
    for (let steps = 0; node && steps < longestPath; steps += 1) {
      if (node.ref.type === type) return node
      node = this.#nodes.get(node.parent)
    }
    return undefined
  }

  /** The network that a card plugged into a distributed port group or an NSX network names by its key. */
  networkOf(key: string): string | undefined {
    return this.#networkByKey.get(key)
  }

  /** The network of that name which this host reaches; for cards whose network is known by name alone. */
  networkNamed(rawName: string, datacenter: string): string | undefined {
    this.#named ??= this.#nameNetworks()
    return this.#named.get(`${datacenter}/${rawName}`)
  }

  /** The first of each name. Asked for by each card of each machine, so not looked for each time. */
  #nameNetworks(): ReadonlyMap<string, string> {
    const named = new Map<string, string>()
    for (const { ref, rawName } of this.#nodes.values()) {
      if (!networkTypes.includes(ref.type)) continue
      const key = `${this.nearest(ref.value, 'Datacenter')?.ref.value ?? ''}/${rawName}`
      if (!named.has(key)) named.set(key, ref.value)
    }
    return named
  }

  switchName(uuid: string): string {
    return this.name(this.#switchByUuid.get(uuid) ?? '')
  }
}

const longestPath = 100
/** Many things share a long beginning, and each has its own copy. */
const longestPathChars = 2_048
const networkTypes = ['Network', 'DistributedVirtualPortgroup', 'OpaqueNetwork']

/** vSphere writes three characters of names as escapes. */
export const plainName = (rawName: string): string =>
  rawName.includes('%') ? rawName.replaceAll(/%2f|%5c|%25/gi, (code) => decodeURIComponent(code)) : rawName

const place = ['name', 'parent']

/** Types and what is read of them. Several of them are kinds of others: each has all that the other has. */
const treeProperties = [
  { type: 'Folder', paths: place },
  { type: 'Datacenter', paths: place },
  { type: 'ComputeResource', paths: place },
  { type: 'ClusterComputeResource', paths: place },
  { type: 'HostSystem', paths: place },
  { type: 'ResourcePool', paths: place },
  { type: 'VirtualApp', paths: [...place, 'parentFolder'] },
  { type: 'Datastore', paths: place },
  { type: 'Network', paths: place },
  { type: 'DistributedVirtualPortgroup', paths: [...place, 'key'] },
  { type: 'OpaqueNetwork', paths: [...place, 'summary'] },
  { type: 'DistributedVirtualSwitch', paths: [...place, 'uuid'] },
  { type: 'VmwareDistributedVirtualSwitch', paths: [...place, 'uuid'] },
]

const viewed = [
  ...['Folder', 'Datacenter', 'ComputeResource', 'HostSystem', 'ResourcePool', 'Datastore', 'Network'],
  'DistributedVirtualSwitch',
]

export const readTree = async (session: Session, call: Call): Promise<InventoryTree> => {
  const root = await session.manager(call, 'rootFolder')
  const view = await createView(session, call, root, viewed)
  const nodes = new Map<string, TreeNode>([[root.value, { ref: root, rawName: '', parent: '' }]])
  const networks = new Map<string, string>()
  const switches = new Map<string, string>()
  try {
    const reading = retrieve(session, call, { objects: { view }, properties: treeProperties })
    for await (const objects of reading)
      for (const object of objects) {
        nodes.set(object.ref.value, treeNode(object))
        for (const key of networkKeys(object)) networks.set(key, object.ref.value)
        const uuid = object.properties.get('uuid')?.text
        if (uuid !== undefined) switches.set(uuid, object.ref.value)
      }
  } finally {
    await destroyView(session, view)
  }
  return new InventoryTree(nodes, { networks, switches })
}

const treeNode = ({ ref, properties }: ObjectRead): TreeNode => ({
  ref,
  rawName: properties.get('name')?.text ?? '',
  // A vApp hangs in a folder of machines and below a resource pool; its path is that of the folder.
  parent: (refOf(properties.get('parentFolder')) ?? refOf(properties.get('parent')))?.value ?? '',
})

const networkKeys = ({ ref, properties }: ObjectRead): readonly string[] => {
  const portgroup = properties.get('key')?.text
  const opaque = textOf(properties.get('summary'), 'opaqueNetworkId')
  return [ref.value, ...(portgroup === undefined ? [] : [portgroup]), ...(opaque === '' ? [] : [opaque])]
}
