import { deflateSync } from 'node:zlib'
import { padded } from './tar.ts'

const sector = 512
const tableEntries = 512
const atEnd = 0xffff_ffff_ffff_ffffn

export interface VmdkOptions {
  /** In sectors. */
  readonly grain?: number
  readonly tablesFirst?: boolean
  readonly extentName?: string
  readonly parentCid?: string
  readonly kind?: string
  /** What the header says where it is not the length of the content. */
  readonly capacity?: number
}

export const vmdkDescriptor = (capacity: number, options: VmdkOptions): Buffer =>
  padded(
    Buffer.from(
      `# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=${options.parentCid ?? 'ffffffff'}\n` +
        `createType="${options.kind ?? 'streamOptimized'}"\n\n# Extent description\n` +
        `RW ${capacity / sector} SPARSE "${options.extentName ?? 'call-me-stream.vmdk'}"\n\n` +
        '# The Disk Data Base\nddb.adapterType = "lsilogic"\nddb.virtualHWVersion = "13"\n',
    ),
    20 * sector,
  )

const headerOf = (over: {
  capacity: number
  grain: number
  directory: bigint
  overhead: number
  flags: number
  compressed: boolean
}): Buffer => {
  const header = Buffer.alloc(sector)
  header.write('KDMV')
  header.writeUInt32LE(over.compressed ? 3 : 1, 4)
  header.writeUInt32LE(over.flags, 8)
  header.writeBigUInt64LE(BigInt(over.capacity / sector), 12)
  header.writeBigUInt64LE(BigInt(over.grain), 20)
  header.writeBigUInt64LE(1n, 28)
  header.writeBigUInt64LE(20n, 36)
  header.writeUInt32LE(tableEntries, 44)
  header.writeBigUInt64LE(over.directory, 56)
  header.writeBigUInt64LE(BigInt(over.overhead), 64)
  header.write('\n \r\n', 73)
  header.writeUInt16LE(over.compressed ? 1 : 0, 77)
  return header
}

const marker = (value: number, type: number): Buffer => {
  const bytes = Buffer.alloc(sector)
  bytes.writeBigUInt64LE(BigInt(value), 0)
  bytes.writeUInt32LE(type, 12)
  return bytes
}

const grainMarker = (at: number, content: Buffer): Buffer => {
  const packed = deflateSync(content)
  const head = Buffer.alloc(12)
  head.writeBigUInt64LE(BigInt(at), 0)
  head.writeUInt32LE(packed.length, 8)
  return padded(Buffer.concat([head, packed]))
}

const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0)

/** Grains that are not empty, by their number; the last one is filled up. */
const grainsOf = (content: Buffer, grain: number): readonly { number: number; bytes: Buffer }[] => {
  const length = grain * sector
  const count = Math.ceil(content.length / length)
  return Array.from({ length: count }, (_, number) => ({
    number,
    bytes: padded(content.subarray(number * length, (number + 1) * length), length),
  })).filter(({ bytes }) => !isZero(bytes))
}

/** As VMware writes it: each table after its grains, the directory and the footer last. */
export const streamOptimized = (content: Buffer, options: VmdkOptions = {}): Buffer => {
  const { grain = 128, capacity = content.length } = options
  if (options.tablesFirst) return tablesFirst(content, options)
  const about = { capacity, grain, overhead: 128, flags: 0x3_0001, compressed: true }
  const parts = [
    headerOf({ ...about, directory: atEnd }),
    padded(vmdkDescriptor(capacity, options), 127 * sector),
  ]
  let at = 128
  const add = (bytes: Buffer) => {
    parts.push(bytes)
    at += bytes.length / sector
  }
  const tables = Math.ceil(capacity / sector / (grain * tableEntries))
  const directory = Buffer.alloc(Math.ceil((tables * 4) / sector) * sector)
  const grains = grainsOf(content, grain)
  for (let table = 0; table < tables; table += 1) {
    const own = grains.filter(({ number }) => Math.floor(number / tableEntries) === table)
    if (own.length === 0) continue
    const entries = Buffer.alloc(tableEntries * 4)
    for (const { number, bytes } of own) {
      entries.writeUInt32LE(at, (number % tableEntries) * 4)
      add(grainMarker(number * grain, bytes))
    }
    add(marker(4, 1))
    directory.writeUInt32LE(at, table * 4)
    add(entries)
  }
  add(marker(directory.length / sector, 2))
  const place = BigInt(at)
  add(directory)
  add(marker(1, 3))
  add(headerOf({ ...about, directory: place }))
  add(marker(0, 0))
  return Buffer.concat(parts)
}

const layout = (capacity: number, grain: number) => {
  const tables = Math.ceil(capacity / sector / (grain * tableEntries))
  const directoryAt = 21
  const tablesAt = directoryAt + Math.ceil((tables * 4) / sector)
  const overhead = Math.ceil((tablesAt + tables * 4) / grain) * grain
  return { tables, directoryAt, tablesAt, overhead }
}

/** Header, descriptor, directory and tables; `sectorOf` says where each grain is. */
const front = (
  header: Buffer,
  options: VmdkOptions,
  at: { capacity: number; grain: number; sectorOf: ReadonlyMap<number, number> },
): Buffer => {
  const { tables, directoryAt, tablesAt, overhead } = layout(at.capacity, at.grain)
  const bytes = Buffer.alloc(overhead * sector)
  header.copy(bytes)
  vmdkDescriptor(at.capacity, options).copy(bytes, sector)
  for (let table = 0; table < tables; table += 1)
    bytes.writeUInt32LE(tablesAt + table * 4, directoryAt * sector + table * 4)
  for (const [number, place] of at.sectorOf) bytes.writeUInt32LE(place, tablesAt * sector + number * 4)
  return bytes
}

/** As qemu-img writes it: all tables before the first grain, and no footer. */
const tablesFirst = (content: Buffer, options: VmdkOptions): Buffer => {
  const { grain = 128, capacity = content.length } = options
  const { directoryAt, overhead } = layout(capacity, grain)
  const about = { capacity, grain, overhead, flags: 0x3_0001, compressed: true }
  let at = overhead
  const sectorOf = new Map<number, number>()
  const packed = grainsOf(content, grain).map(({ number, bytes }) => {
    const piece = grainMarker(number * grain, bytes)
    sectorOf.set(number, at)
    at += piece.length / sector
    return piece
  })
  const header = headerOf({ ...about, directory: BigInt(directoryAt) })
  return Buffer.concat([front(header, options, { capacity, grain, sectorOf }), ...packed])
}

/** Plain grains behind their tables; `order` shuffles them in the file. */
export const monolithicSparse = (
  content: Buffer,
  options: VmdkOptions & { readonly backwards?: boolean } = {},
): Buffer => {
  const { grain = 128, capacity = content.length, backwards = false } = options
  const { directoryAt, overhead } = layout(capacity, grain)
  const about = { capacity, grain, overhead, flags: 1, compressed: false }
  const grains = [...grainsOf(content, grain)]
  if (backwards) grains.reverse()
  const sectorOf = new Map(grains.map(({ number }, index) => [number, overhead + index * grain]))
  const header = headerOf({ ...about, directory: BigInt(directoryAt) })
  const named = { kind: 'monolithicSparse', ...options }
  return Buffer.concat([
    front(header, named, { capacity, grain, sectorOf }),
    ...grains.map(({ bytes }) => bytes),
  ])
}
