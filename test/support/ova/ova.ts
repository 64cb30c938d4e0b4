import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { ArchiveEnd } from '../../../src/disks/archive-files.ts'
import { type DiskPassage, type OvaOptions, openOva } from '../../../src/disks/open-ova.ts'
import { type TarFile, tarOf } from './tar.ts'
import { streamOptimized } from './vmdk.ts'

export const formats = {
  stream: 'http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized',
  sparse: 'http://www.vmware.com/interfaces/specifications/vmdk.html#sparse',
  flat: 'http://www.vmware.com/interfaces/specifications/vmdk.html#flat',
  qcow2: 'http://www.gnome.org/~markmc/qcow-image-format.html',
} as const

export interface OvaDiskMade {
  readonly id: string
  /** As it is in the archive. */
  readonly bytes: Buffer
  /** As the descriptor says. */
  readonly capacity: number
  readonly format?: string
  readonly href?: string
  readonly gzip?: boolean
  /** How its bytes are packed, where not as gzip usually does. */
  readonly packed?: Buffer
  readonly chunkBytes?: number
  /** The names of its file in the archive, where they are not its href. */
  readonly storedAs?: string
  readonly declaredSize?: number | null
  readonly parentRef?: string
}

export interface OvaMade {
  readonly disks: readonly OvaDiskMade[]
  readonly manifest?: 'sha1' | 'sha256' | 'sha512' | null
  readonly manifestLast?: boolean
  /** More lines of the manifest. */
  readonly manifestExtra?: string
  /** More elements of the machine's description. */
  readonly sections?: string
  readonly extraFiles?: readonly TarFile[]
  /** The descriptor, where it is another one. */
  readonly ovf?: string
}

export const storedBytes = (disk: OvaDiskMade): Buffer =>
  disk.packed ?? (disk.gzip ? gzipSync(disk.bytes) : disk.bytes)

const hrefOf = (disk: OvaDiskMade): string => disk.href ?? `${disk.id}.vmdk`

const fileTag = (disk: OvaDiskMade): string => {
  const size = disk.declaredSize === undefined ? storedBytes(disk).length : disk.declaredSize
  return (
    `<File ovf:href="${hrefOf(disk)}" ovf:id="file-${disk.id}"` +
    (size === null ? '' : ` ovf:size="${size}"`) +
    (disk.gzip ? ' ovf:compression="gzip"' : '') +
    (disk.chunkBytes ? ` ovf:chunkSize="${disk.chunkBytes}"` : '') +
    '/>'
  )
}

const diskTag = (disk: OvaDiskMade): string =>
  `<Disk ovf:capacity="${disk.capacity}" ovf:capacityAllocationUnits="byte" ovf:diskId="${disk.id}"` +
  ` ovf:fileRef="file-${disk.id}" ovf:format="${disk.format ?? formats.stream}"` +
  (disk.parentRef ? ` ovf:parentRef="${disk.parentRef}"` : '') +
  '/>'

const item = (type: number, inner: string): string =>
  `<Item><rasd:ElementName>x</rasd:ElementName><rasd:ResourceType>${type}</rasd:ResourceType>${inner}</Item>`

export const ovfOf = ({ disks, sections = '' }: OvaMade): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<ovf:Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
 xmlns:vmw="http://www.vmware.com/schema/ovf">
<References>${disks.map(fileTag).join('')}</References>
<DiskSection><Info>Disks</Info>${disks.map(diskTag).join('')}</DiskSection>
<NetworkSection><Info>Networks</Info><Network ovf:name="inside"/></NetworkSection>
<VirtualSystem ovf:id="golden"><Info>A machine</Info>${sections}
<ProductSection><Info/><Product>Golden</Product><Vendor>Example</Vendor><Version>1.2</Version></ProductSection>
<OperatingSystemSection ovf:id="96" vmw:osType="debian12_64Guest"><Info/></OperatingSystemSection>
<VirtualHardwareSection><Info/>
${item(3, '<rasd:VirtualQuantity>2</rasd:VirtualQuantity>')}
${item(4, '<rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits><rasd:VirtualQuantity>512</rasd:VirtualQuantity>')}
${disks.map(({ id }) => item(17, `<rasd:HostResource>ovf:/disk/${id}</rasd:HostResource>`)).join('')}
${item(10, '<rasd:Connection>inside</rasd:Connection>')}
<vmw:Config ovf:required="false" vmw:key="firmware" vmw:value="efi"/>
</VirtualHardwareSection></VirtualSystem></ovf:Envelope>`

const diskFiles = (disk: OvaDiskMade): readonly TarFile[] => {
  const bytes = storedBytes(disk)
  if (!disk.chunkBytes) return [{ name: disk.storedAs ?? hrefOf(disk), bytes }]
  const size = disk.chunkBytes
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, number) => ({
    name: `${hrefOf(disk)}.${String(number).padStart(9, '0')}`,
    bytes: bytes.subarray(number * size, (number + 1) * size),
  }))
}

export const manifestOf = (
  files: readonly TarFile[],
  algorithm: 'sha1' | 'sha256' | 'sha512' = 'sha256',
): string =>
  files
    .map(
      ({ name, bytes }) =>
        `${algorithm.toUpperCase()}(${name})= ${createHash(algorithm).update(bytes).digest('hex')}\n`,
    )
    .join('')

/** The files of an archive, for tests that change one of them. */
export const ovaFiles = (made: OvaMade): readonly TarFile[] => {
  const { manifest = 'sha256', manifestLast = false, manifestExtra = '', extraFiles = [] } = made
  const descriptor: TarFile = { name: 'golden.ovf', bytes: Buffer.from(made.ovf ?? ovfOf(made)) }
  const rest = [...made.disks.flatMap(diskFiles), ...extraFiles]
  if (manifest === null) return [descriptor, ...rest]
  const text = manifestOf([descriptor, ...rest], manifest) + manifestExtra
  const file: TarFile = { name: 'golden.mf', bytes: Buffer.from(text) }
  return manifestLast ? [descriptor, ...rest, file] : [descriptor, file, ...rest]
}

export const ovaOf = (made: OvaMade): Buffer => tarOf(ovaFiles(made))

/** A disk of so many bytes as a streamOptimized VMDK. */
export const vmdkDisk = (id: string, content: Buffer, over: Partial<OvaDiskMade> = {}): OvaDiskMade => ({
  ...{ id, capacity: content.length, bytes: streamOptimized(content) },
  ...over,
})

/** Bytes in pieces of so many. */
export async function* inPieces(bytes: Buffer, pieceBytes = 65_536): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

export const collected = async (stream: Readable): Promise<Buffer> => {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

export interface ReadOva {
  readonly disks: readonly Buffer[]
  readonly capacities: readonly number[]
  readonly end: ArchiveEnd
}

/** All of an archive, as an importer would take it. */
export const readOva = async (
  bytes: Buffer,
  as: DiskPassage = 'raw',
  { pieceBytes, ...options }: OvaOptions & { readonly pieceBytes?: number } = {},
): Promise<ReadOva> => {
  const ova = await openOva(inPieces(bytes, pieceBytes), options)
  const disks: Buffer[] = []
  for (const disk of ova.disks) disks.push(await collected(await disk.open(as)))
  return { disks, capacities: ova.disks.map(({ capacity }) => capacity), end: await ova.finish() }
}
