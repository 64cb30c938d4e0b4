import type { DiskFacts } from '../../../domain/inventory/facts.ts'
import { child, childrenOf, isTrue, numberOf, refOf, textOf, type XmlNode } from '../../../xml/xml-node.ts'
import type { InventoryTree } from './inventory-tree.ts'

/** Disks among the devices of a machine. `layout` is its `layoutEx`, which knows the files. */
export const readDisks = (
  devices: readonly XmlNode[],
  layout: XmlNode | undefined,
  tree: InventoryTree,
): DiskFacts[] => {
  const disks = devices.filter((device) => device.xsiType === 'VirtualDisk')
  if (disks.length === 0) return []
  const sharedBuses = new Set(devices.filter(hasSharedBus).map((device) => textOf(device, 'key')))
  const used = usedBytes(layout)
  return disks.map((disk) => {
    const key = textOf(disk, 'key')
    const backing = child(disk, 'backing')
    const base = baseOf(backing)
    const kind = backingOf(base)
    const thin = textOf(backing, 'thinProvisioned')
    const encrypted = [backing, base].some((one) => child(one, 'keyId') !== undefined)
    const unreadable = kind === 'file' ? whyUnreadable(base?.xsiType ?? '', encrypted) : undefined
    return {
      key,
      label: textOf(child(disk, 'deviceInfo'), 'label'),
      name: textOf(base, 'fileName') || textOf(base, 'deviceName') || textOf(base, 'descriptorFileName'),
      capacity: numberOf(disk, 'capacityInBytes') || numberOf(disk, 'capacityInKB') * 1024,
      used: used.get(key) ?? null,
      backing: kind,
      mode: modeOf(textOf(backing, 'diskMode')),
      shared: isSharing(backing) || sharedBuses.has(textOf(disk, 'controllerKey')),
      encrypted,
      thin: thin === '' ? null : isTrue(thin),
      datastore: datastoreOf(base, tree),
      change_id: textOf(backing, 'changeId') || null,
      ...(unreadable === undefined ? {} : { unreadable }),
    }
  })
}

/** Whether other machines may write to it too. */
const isSharing = (backing: XmlNode | undefined): boolean =>
  !['', 'sharingNone'].includes(textOf(backing, 'sharing'))

const hasSharedBus = (device: XmlNode): boolean =>
  ['virtualSharing', 'physicalSharing'].includes(textOf(device, 'sharedBus'))

/** A snapshot puts a new file on top; what the disk is called stays at the bottom. */
const baseOf = (backing: XmlNode | undefined): XmlNode | undefined => {
  let base = backing
  for (let parent = child(base, 'parent'); parent; parent = child(base, 'parent')) base = parent
  return base
}

const fileBackings = new Set([
  'VirtualDiskFlatVer1BackingInfo',
  'VirtualDiskFlatVer2BackingInfo',
  'VirtualDiskSparseVer1BackingInfo',
  'VirtualDiskSparseVer2BackingInfo',
  'VirtualDiskSeSparseBackingInfo',
])

/** Bytes are read from the base file itself, see disks.ts. */
export const readableBacking = 'VirtualDiskFlatVer2BackingInfo'

const whyUnreadable = (type: string, encrypted: boolean): string | undefined => {
  if (encrypted) return 'is encrypted, and its files hold no plain data'
  return type === readableBacking ? undefined : `is stored as ${type}, which is not read`
}

const backingOf = (backing: XmlNode | undefined): DiskFacts['backing'] => {
  const type = backing?.xsiType ?? ''
  if (fileBackings.has(type)) return 'file'
  if (type === 'VirtualDiskRawDiskMappingVer1BackingInfo') return 'raw-mapping'
  return /^VirtualDisk(Partitioned)?RawDisk/.test(type) ? 'raw' : 'unknown'
}

const modeOf = (mode: string): DiskFacts['mode'] => {
  if (mode === 'persistent') return 'dependent'
  return mode.startsWith('independent_') ? 'independent' : 'unknown'
}

const datastoreOf = (backing: XmlNode | undefined, tree: InventoryTree): string =>
  tree.name(refOf(child(backing, 'datastore'))?.value ?? '') ||
  (/^\[([^\]]*)\]/.exec(textOf(backing, 'fileName'))?.[1] ?? '')

/** Bytes on storage by key of the disk, over all files of its chain. */
const usedBytes = (layout: XmlNode | undefined): ReadonlyMap<string, number> => {
  const sizes = new Map<string, number>()
  for (const file of childrenOf(layout, 'file'))
    if (['diskExtent', 'digestExtent'].includes(textOf(file, 'type')))
      sizes.set(textOf(file, 'key'), numberOf(file, 'size'))
  const used = new Map<string, number>()
  for (const disk of childrenOf(layout, 'disk')) {
    let sum: number | undefined
    for (const chain of childrenOf(disk, 'chain'))
      for (const key of childrenOf(chain, 'fileKey')) {
        const size = sizes.get(key.text)
        if (size !== undefined) sum = (sum ?? 0) + size
      }
    if (sum !== undefined) used.set(textOf(disk, 'key'), sum)
  }
  return used
}
