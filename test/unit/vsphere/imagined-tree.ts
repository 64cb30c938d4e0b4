import { InventoryTree, type TreeNode } from '../../../src/platforms/vsphere/inventory/inventory-tree.ts'
import type { ObjectRead } from '../../../src/platforms/vsphere/soap/property-read.ts'
import type { XmlNode } from '../../../src/xml/xml-node.ts'
import { xmlNode } from '../../support/soap-answers.ts'

const nodes: readonly (readonly [type: string, id: string, rawName: string, parent: string])[] = [
  ['Folder', 'group-d1', 'Datacenters', ''],
  ['Datacenter', 'datacenter-2', 'Paris', 'group-d1'],
  ['Folder', 'group-v3', 'vm', 'datacenter-2'],
  ['Folder', 'group-v10', 'shop%2fweb', 'group-v3'],
  ['VirtualApp', 'resgroup-v20', 'erp', 'group-v3'],
  ['Folder', 'group-h4', 'host', 'datacenter-2'],
  ['ClusterComputeResource', 'domain-c7', 'Gold', 'group-h4'],
  ['ResourcePool', 'resgroup-8', 'Resources', 'domain-c7'],
  ['HostSystem', 'host-9', 'esx1.example.org', 'domain-c7'],
  ['Folder', 'group-n6', 'network', 'datacenter-2'],
  ['Network', 'network-11', 'VM Network', 'group-n6'],
  ['DistributedVirtualPortgroup', 'dvportgroup-12', 'shop', 'group-n6'],
  ['OpaqueNetwork', 'network-o13', 'seg-web', 'group-n6'],
  ['VmwareDistributedVirtualSwitch', 'dvs-14', 'Core', 'group-n6'],
  ['Datastore', 'datastore-15', 'fast', 'datacenter-2'],
]

/** A small data centre, without a server. */
export const imaginedTree = (): InventoryTree =>
  new InventoryTree(
    new Map(
      nodes.map(([type, value, rawName, parent]): [string, TreeNode] => [
        value,
        { ref: { type, value }, rawName, parent },
      ]),
    ),
    {
      networks: new Map([
        ['dvportgroup-12', 'dvportgroup-12'],
        ['b7b5-opaque', 'network-o13'],
      ]),
      switches: new Map([['50 11', 'dvs-14']]),
    },
  )

/** An object as a property collector gives it: `<val>` elements by path. */
export const imaginedObject = (
  type: string,
  id: string,
  properties: Readonly<Record<string, string>>,
): ObjectRead => ({
  ref: { type, value: id },
  properties: new Map(
    Object.entries(properties).map(([path, text]): [string, XmlNode] => [
      path,
      xmlNode(text.startsWith('<') ? text : `<val>${text}</val>`),
    ]),
  ),
  missing: new Map(),
})
