import type { ByteReader } from '../stream/byte-reader.ts'
import { inflatePiece, type PlacedPiece } from '../stream/inflate.ts'
import { sumOfTable, TableDigest } from './table-digest.ts'
import { readVmdkHeader, sectorBytes, tableEntries, type VmdkHeader } from './vmdk-header.ts'
import { goTo, readTables } from './vmdk-overhead.ts'

const markers = { end: 0, table: 1, directory: 2, footer: 3 } as const
/** The header of a grain: its sector and its packed size. */
const grainHeadBytes = 12

/** The state of a pass over the markers of a disk. */
interface Walk {
  readonly reader: ByteReader
  readonly header: VmdkHeader
  readonly found: TableDigest
  /** Sums of the tables by sector. */
  readonly tables: Map<number, number>
  /** The last directory. */
  directory: { readonly sector: number; readonly bytes: Buffer } | null
  nextGrain: number
}

/**
 * The grains of a streamOptimized VMDK in file order, with the tables first or a footer last. A file whose tables and
 * grains differ is refused: platforms could read either.
 */
export async function* grainsOf(reader: ByteReader, header: VmdkHeader): AsyncGenerator<PlacedPiece, void> {
  const walk: Walk = {
    ...{ reader, header, directory: null, nextGrain: 0 },
    found: new TableDigest(header.tables),
    tables: new Map(),
  }
  const { directory } = header
  const first = directory === null ? null : new Uint32Array(header.tables)
  if (first && directory !== null)
    for await (const { table, bytes } of readTables(reader, { ...header, directory }))
      first[table] = sumOfTable(bytes)
  await goTo(reader, header.overhead, 'the first grain')
  for (;;) {
    const head = await reader.peek(16)
    if (head.length === 0 && first) break
    if (head.length < 16) throw reader.refuse('image-truncated', 'The VMDK ends without its footer.')
    const bytes = head.readUInt32LE(8)
    if (bytes > 0) yield await grainOf(walk, bytes)
    else if (await atMarker(walk, head.readUInt32LE(12))) break
  }
  if (first) compare(walk, (table) => first[table] as number)
}

const grainOf = async (walk: Walk, packedBytes: number): Promise<PlacedPiece> => {
  const { reader, header } = walk
  const at = reader.position
  const grainBytes = header.grain * sectorBytes
  // Deflate makes incompressible data a little longer.
  if (packedBytes > grainBytes * 2)
    throw reader.refuse('image-disk-invalid', `A grain takes ${packedBytes} bytes.`)
  const whole = await reader.read(roundUp(grainHeadBytes + packedBytes), 'a grain')
  const sector = Number(whole.readBigUInt64LE(0))
  const grain = sector / header.grain
  if (!Number.isInteger(grain) || sector >= header.capacity)
    throw reader.refuse('image-disk-invalid', `A grain says that it is at sector ${sector}.`, { at })
  if (grain < walk.nextGrain)
    throw reader.refuse('image-disk-scattered', 'The grains of the VMDK are not in order.', { at })
  walk.nextGrain = grain + 1
  walk.found.add(grain, at / sectorBytes)
  const least = Math.min(grainBytes, (header.capacity - sector) * sectorBytes)
  const packed = whole.subarray(grainHeadBytes, grainHeadBytes + packedBytes)
  return { offset: sector * sectorBytes, bytes: inflated(packed, { grainBytes, least, reader, at }) }
}

const inflated = async (
  packed: Buffer,
  { grainBytes, least, reader, at }: { grainBytes: number; least: number; reader: ByteReader; at: number },
): Promise<Buffer> => {
  const bytes = await inflatePiece(packed, { most: grainBytes }).catch((cause: unknown) => {
    throw reader.refuse('image-disk-invalid', 'A grain cannot be unpacked.', { at, cause })
  })
  if (bytes.length >= least) return bytes
  throw reader.refuse('image-disk-invalid', `A grain unpacks to ${bytes.length} bytes.`, { at })
}

/** Reads a marker and its data; true: the end of the disk. */
const atMarker = async (walk: Walk, type: number): Promise<boolean> => {
  const { reader, header } = walk
  const head = await reader.read(sectorBytes, 'a marker')
  const sectors = Number(head.readBigUInt64LE(0))
  const expect = (right: number) => {
    if (sectors === right && header.directory === null) return
    throw reader.refuse('image-disk-invalid', `A marker of kind ${type} has ${sectors} sectors.`)
  }
  const sector = reader.position / sectorBytes
  if (type === markers.end) {
    if (header.directory === null) throw reader.refuse('image-truncated', 'The VMDK ends without its footer.')
    return true
  }
  if (type === markers.table) {
    expect((tableEntries * 4) / sectorBytes)
    if (walk.tables.size >= header.tables)
      throw reader.refuse('image-disk-invalid', 'The VMDK has more tables than its disk needs.')
    walk.tables.set(sector, sumOfTable(await reader.read(tableEntries * 4, 'a table of the VMDK')))
    return false
  }
  if (type === markers.directory) {
    expect(roundUp(header.tables * 4) / sectorBytes)
    const bytes = await reader.read(roundUp(header.tables * 4), 'the directory of the VMDK')
    walk.directory = { sector, bytes }
    return false
  }
  if (type !== markers.footer) throw reader.refuse('image-disk-invalid', `A marker is of kind ${type}.`)
  expect(1)
  await readFooter(walk)
  return true
}

const readFooter = async (walk: Walk): Promise<void> => {
  const { reader, header, directory } = walk
  const footer = readVmdkHeader(await reader.read(sectorBytes, 'the footer of the VMDK'), reader)
  const { capacity, grain, isCompressed, hasMarkers } = header
  const same =
    footer.capacity === capacity &&
    footer.grain === grain &&
    footer.isCompressed === isCompressed &&
    footer.hasMarkers === hasMarkers
  if (!same || !directory || footer.directory !== directory.sector)
    throw reader.refuse('image-disk-invalid', 'The footer of the VMDK differs from its header.')
  const end = await reader.read(sectorBytes, 'the end of the VMDK')
  if (end.some((byte) => byte !== 0))
    throw reader.refuse('image-disk-invalid', 'Behind the footer of the VMDK its end is missing.')
  compare(walk, (table) => {
    const sector = directory.bytes.readUInt32LE(table * 4)
    return sector === 0 ? 0 : (walk.tables.get(sector) ?? -1)
  })
}

const compare = ({ reader, header, found }: Walk, told: (table: number) => number): void => {
  for (let table = 0; table < header.tables; table += 1)
    if (found.sum(table) !== told(table))
      throw reader.refuse('image-disk-invalid', `Table ${table} of the VMDK does not fit its grains.`)
}

const roundUp = (bytes: number): number => Math.ceil(bytes / sectorBytes) * sectorBytes
