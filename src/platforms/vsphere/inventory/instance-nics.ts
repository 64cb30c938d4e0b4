import type { NicFacts } from '../../../domain/inventory/facts.ts'
import {
  at,
  child,
  childrenOf,
  flagOf,
  meaningOf,
  refOf,
  textOf,
  type XmlNode,
} from '../../../xml/xml-node.ts'
import type { InventoryTree } from './inventory-tree.ts'

/** By type of the device. Any of them has a MAC address, which no other device has. */
const adapters: Readonly<Record<string, string>> = {
  VirtualE1000: 'e1000',
  VirtualE1000e: 'e1000e',
  VirtualPCNet32: 'pcnet32',
  VirtualVmxnet: 'vmxnet',
  VirtualVmxnet2: 'vmxnet2',
  VirtualVmxnet3: 'vmxnet3',
  VirtualVmxnet3Vrdma: 'vmxnet3-rdma',
  VirtualSriovEthernetCard: 'sriov',
}

export interface NicSurroundings {
  readonly tree: InventoryTree
  /** Of the machine; its networks are there. */
  readonly datacenter: string
}

/** Network cards among the devices. `guest` is what the agent inside says (`guest.net`). */
export const readNics = (
  devices: readonly XmlNode[],
  guest: XmlNode | undefined,
  surroundings: NicSurroundings,
): NicFacts[] => {
  const addressesOf = guestAddresses(guest)
  return devices
    .filter((device) => child(device, 'macAddress') !== undefined || Object.hasOwn(adapters, device.xsiType))
    .map((device) => {
      const key = textOf(device, 'key')
      const mac = textOf(device, 'macAddress').toLowerCase()
      const addresses = addressesOf(key, mac)
      return {
        key,
        label: textOf(child(device, 'deviceInfo'), 'label'),
        mac,
        connected: flagOf(child(device, 'connectable'), 'connected'),
        ...networkOf(child(device, 'backing'), surroundings),
        type: meaningOf(adapters, device.xsiType) ?? device.xsiType,
        ipv4_addresses: addresses.filter((address) => !address.includes(':') && !isLinkLocal(address)),
        ipv6_addresses: addresses.filter((address) => address.includes(':') && !isLinkLocal(address)),
      }
    })
}

/** Three kinds of networks, three ways to name one. A network that we may not see is still named by its key. */
const networkOf = (
  backing: XmlNode | undefined,
  { tree, datacenter }: NicSurroundings,
): Pick<NicFacts, 'network_ref' | 'network'> => {
  const portgroup = textOf(child(backing, 'port'), 'portgroupKey')
  const key = portgroup || textOf(backing, 'opaqueNetworkId')
  if (key !== '') {
    const ref = tree.networkOf(key) ?? key
    return { network_ref: ref, network: tree.name(ref) }
  }
  const rawName = textOf(backing, 'deviceName')
  const ref = refOf(child(backing, 'network'))?.value ?? tree.networkNamed(rawName, datacenter) ?? ''
  return { network_ref: ref, network: tree.name(ref) || rawName }
}

/** By the key or the MAC of a card. Laid out once: a machine may have thousands of cards, and so may the list. */
const guestAddresses = (guest: XmlNode | undefined): ((key: string, mac: string) => readonly string[]) => {
  const told = childrenOf(guest, 'GuestNicInfo')
  const byKey = firstPlaces(told.map((nic) => textOf(nic, 'deviceConfigId')))
  const byMac = firstPlaces(told.map((nic) => textOf(nic, 'macAddress').toLowerCase()))
  return (key, mac) => {
    const found = told[Math.min(byKey.get(key) ?? told.length, byMac.get(mac) ?? told.length)]
    const detailed = childrenOf(at(found, 'ipConfig'), 'ipAddress').map((entry) => textOf(entry, 'ipAddress'))
    const plain = childrenOf(found, 'ipAddress').map((entry) => entry.text)
    return [...new Set(detailed.length > 0 ? detailed : plain)].filter((address) => address !== '')
  }
}

const firstPlaces = (words: readonly string[]): ReadonlyMap<string, number> => {
  const places = new Map<string, number>()
  for (const [place, word] of words.entries()) if (!places.has(word)) places.set(word, place)
  return places
}

/** Every card has such addresses; they tell nothing and reach nowhere. */
const isLinkLocal = (address: string): boolean => /^(169\.254\.|fe[89ab])/i.test(address)
