import { at, childrenOf, type XmlNode } from '../../xml/xml-node.ts'
import { entryName } from '../tar/entry-name.ts'
import { OvfRefusal } from './ovf-refusal.ts'
import { bytesOf } from './units.ts'

/** The format of a disk in the descriptor. The header of the file must agree. */
export type DeclaredFormat = 'vmdk' | 'qcow2' | 'raw'

/** A file that the descriptor references. */
export interface OvfFile {
  readonly id: string
  readonly href: string
  /** Null: not given. */
  readonly size: number | null
  readonly isGzip: boolean
  /** Null: in one piece. */
  readonly chunkBytes: number | null
}

export interface OvfDisk {
  readonly id: string
  /** Null: empty. */
  readonly file: OvfFile | null
  /** Null: read from the header of the disk. */
  readonly capacity: number | null
  readonly format: DeclaredFormat
}

const filesMost = 1_000

export const attributeOf = (node: XmlNode | undefined, name: string): string =>
  node?.attributes?.[name]?.trim() ?? ''

export const readFiles = (envelope: XmlNode): readonly OvfFile[] => {
  const nodes = childrenOf(at(envelope, 'References'), 'File')
  if (nodes.length > filesMost) throw new OvfRefusal(`It names more than ${filesMost} files.`)
  const files = nodes.map(readFile)
  const hrefs = new Set(files.map(({ href }) => href))
  const ids = new Set(files.map(({ id }) => id))
  if (hrefs.size < files.length || ids.size < files.length) throw new OvfRefusal('It names a file twice.')
  return files
}

const readFile = (node: XmlNode): OvfFile => {
  const text = attributeOf(node, 'href')
  const href = entryName(text)
  if (href === undefined)
    throw new OvfRefusal(
      `It names the file ${JSON.stringify(text.slice(0, 200))}, which is outside of the archive.`,
      'image-disk-foreign-file',
    )
  const compression = attributeOf(node, 'compression')
  if (!['', 'identity', 'gzip'].includes(compression))
    throw new OvfRefusal(
      `It packs ${href} by ${compression.slice(0, 50)}, which cannot be read.`,
      'image-disk-unsupported',
    )
  return {
    id: attributeOf(node, 'id'),
    href,
    size: wholeNumber(node, 'size'),
    isGzip: compression === 'gzip',
    chunkBytes: wholeNumber(node, 'chunkSize') || null,
  }
}

const wholeNumber = (node: XmlNode, name: string): number | null => {
  const text = attributeOf(node, name)
  if (text === '') return null
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new OvfRefusal(`It has the ${name} ${JSON.stringify(text.slice(0, 50))} of a file.`)
  return value
}

export const readDisks = (envelope: XmlNode, files: readonly OvfFile[]): readonly OvfDisk[] => {
  const nodes = childrenOf(at(envelope, 'DiskSection'), 'Disk')
  const disks = nodes.map((node) => readDisk(node, files))
  const ids = new Set(disks.map(({ id }) => id))
  const used = disks.flatMap(({ file }) => (file ? [file.href] : []))
  if (ids.size < disks.length || new Set(used).size < used.length)
    throw new OvfRefusal('It has one disk, or the file of one disk, twice.')
  return disks
}

const readDisk = (node: XmlNode, files: readonly OvfFile[]): OvfDisk => {
  const id = attributeOf(node, 'diskId')
  const fileRef = attributeOf(node, 'fileRef')
  if (id === '') throw new OvfRefusal('It has a disk without an id.')
  if (attributeOf(node, 'parentRef') !== '')
    throw new OvfRefusal(`Its disk ${id} holds only what differs from another disk.`, 'image-delta-disk')
  const file = fileRef === '' ? null : files.find((one) => one.id === fileRef)
  if (file === undefined) throw new OvfRefusal(`Its disk ${id} has a file that it does not name.`)
  const capacity = bytesOf(attributeOf(node, 'capacity'), attributeOf(node, 'capacityAllocationUnits'))
  if (file === null && !capacity) throw new OvfRefusal(`Its empty disk ${id} has no capacity.`)
  return { id, file, capacity: capacity || null, format: formatOf(attributeOf(node, 'format'), id) }
}

/**
 * Never guessed from the content: a guest that writes the header of another format would choose which files are read.
 */
const formatOf = (text: string, id: string): DeclaredFormat => {
  const uri = text.toLowerCase()
  if (/vmdk[^#]*#(monolithic)?flat$/.test(uri)) return 'raw'
  if (uri.includes('vmdk')) return 'vmdk'
  if (uri.includes('qcow')) return 'qcow2'
  if (/(^|[^a-z])raw$/.test(uri)) return 'raw'
  throw new OvfRefusal(
    `Its disk ${id} is in the format ${JSON.stringify(text.slice(0, 200))}, which cannot be read.`,
    'image-format-unknown',
  )
}
