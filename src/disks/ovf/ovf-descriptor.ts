import { storableLine } from '../../storable.ts'
import { at, child, childrenOf, textOf, type XmlNode } from '../../xml/xml-node.ts'
import { XmlRefusal, XmlStream } from '../../xml/xml-stream.ts'
import { attributeOf, type OvfDisk, type OvfFile, readDisks, readFiles } from './ovf-disks.ts'
import { OvfRefusal } from './ovf-refusal.ts'
import { bytesOf } from './units.ts'

export const descriptorBytesMost = 4 * 1024 ** 2
const eulaCharsMost = 64 * 1024
const networksMost = 100
const textMost = 200

/** The contents of a descriptor of one machine. */
export interface OvfDescriptor {
  readonly files: readonly OvfFile[]
  readonly disks: readonly OvfDisk[]
  readonly networks: readonly string[]
  readonly product: string
  readonly vendor: string
  readonly version: string
  readonly os: string
  /** Null: not given. */
  readonly cpus: number | null
  readonly memory: number | null
  readonly firmware: 'bios' | 'efi'
  readonly secureBoot: boolean
  /** Empty: none. */
  readonly eula: string
}

/** Throws `OvfRefusal`. */
export const readOvf = (bytes: Buffer): OvfDescriptor => {
  const envelope = parse(bytes)
  if (envelope.name !== 'Envelope') throw new OvfRefusal('It is no OVF descriptor.')
  if (child(envelope, 'VirtualSystemCollection'))
    throw new OvfRefusal('It describes several machines.', 'image-descriptor-several')
  const systems = childrenOf(envelope, 'VirtualSystem')
  if (systems.length > 1) throw new OvfRefusal('It describes several machines.', 'image-descriptor-several')
  const [system] = systems
  if (!system) throw new OvfRefusal('It describes no machine.')
  const files = readFiles(envelope)
  return {
    files,
    disks: attached(readDisks(envelope, files), system),
    networks: networksOf(envelope),
    ...productOf(system),
    ...hardwareOf(system),
    eula: eulaOf(system, envelope),
  }
}

const parse = (bytes: Buffer): XmlNode => {
  const limits = { totalBytes: descriptorBytesMost, itemBytes: descriptorBytesMost, depth: 32 }
  const stream = new XmlStream({ ...limits, attributes: true })
  try {
    stream.write(bytes)
    return stream.end()
  } catch (error) {
    if (error instanceof XmlRefusal) throw new OvfRefusal(`The descriptor is refused: ${error.message}.`)
    throw error
  }
}

const line = (text: string): string => storableLine(text.trim(), textMost)

const networksOf = (envelope: XmlNode): readonly string[] => {
  const names = childrenOf(at(envelope, 'NetworkSection'), 'Network').map((one) =>
    line(attributeOf(one, 'name')),
  )
  if (names.length > networksMost) throw new OvfRefusal(`It has more than ${networksMost} networks.`)
  return [...new Set(names)]
}

const productOf = (system: XmlNode) => {
  const product = child(system, 'ProductSection')
  const os = child(system, 'OperatingSystemSection')
  return {
    product: line(textOf(product, 'Product')) || line(textOf(system, 'Name')),
    vendor: line(textOf(product, 'Vendor')),
    version: line(textOf(product, 'FullVersion')) || line(textOf(product, 'Version')),
    os: line(textOf(os, 'Description')) || line(attributeOf(os, 'osType')) || line(attributeOf(os, 'id')),
  }
}

const eulaOf = (...nodes: readonly XmlNode[]): string =>
  nodes
    .flatMap((node) => childrenOf(node, 'EulaSection'))
    .map((section) => textOf(section, 'License').trim())
    .join('\n\n')
    .slice(0, eulaCharsMost)

/** OVF 1 has all hardware in `Item`; OVF 2 has separate elements for disks and networks. */
const itemsOf = (hardware: XmlNode | undefined): readonly XmlNode[] =>
  ['Item', 'StorageItem', 'EthernetPortItem'].flatMap((name) => childrenOf(hardware, name))

const hardwareOf = (system: XmlNode) => {
  const hardware = child(system, 'VirtualHardwareSection')
  const items = itemsOf(hardware)
  const ofType = (type: string) => items.find((item) => textOf(item, 'ResourceType').trim() === type)
  const memory = ofType('4')
  const configs = new Map(
    childrenOf(hardware, 'Config').map((one) => [attributeOf(one, 'key'), attributeOf(one, 'value')]),
  )
  const cpus = Number(textOf(ofType('3'), 'VirtualQuantity'))
  return {
    cpus: Number.isInteger(cpus) && cpus > 0 && cpus <= 4_096 ? cpus : null,
    memory:
      bytesOf(textOf(memory, 'VirtualQuantity'), textOf(memory, 'AllocationUnits') || 'MegaBytes') || null,
    firmware: configs.get('firmware')?.toLowerCase() === 'efi' ? ('efi' as const) : ('bios' as const),
    secureBoot: configs.get('bootOptions.efiSecureBootEnabled') === 'true',
  }
}

/** The attached disks. A disk that is not attached is refused, because it would be dropped silently. */
const attached = (disks: readonly OvfDisk[], system: XmlNode): readonly OvfDisk[] => {
  const resources = itemsOf(child(system, 'VirtualHardwareSection')).flatMap((item) =>
    childrenOf(item, 'HostResource').map(({ text }) => text.trim().replace(/^(ovf:)?\/{1,2}/, '/')),
  )
  const idle = disks.find(({ id }) => !resources.includes(`/disk/${id}`))
  if (idle) throw new OvfRefusal(`Its disk ${idle.id} belongs to no machine.`)
  const known = new Set(disks.map(({ id }) => `/disk/${id}`))
  const missing = resources.find((one) => one.startsWith('/disk/') && !known.has(one))
  if (missing) throw new OvfRefusal(`Its machine has ${missing.slice(0, 200)}, which is described nowhere.`)
  return disks
}
