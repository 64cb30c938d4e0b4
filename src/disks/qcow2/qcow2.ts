import type { ByteReader } from '../stream/byte-reader.ts'
import { type DiskContent, type DiskPiece, readRest } from '../stream/disk-content.ts'
import { inflatePiece, inOrder, type PlacedPiece } from '../stream/inflate.ts'
import { type Qcow2Header, readQcow2Header } from './qcow2-header.ts'
import { Qcow2Tables } from './qcow2-tables.ts'

const compressed = 1n << 62n
const offsetBits = 0x00ff_ffff_ffff_fe00n

/** A qcow2 file with tables and data in disk order, as `qemu-img convert` writes them. */
export const openQcow2 = async (reader: ByteReader): Promise<DiskContent> => {
  const header = await readQcow2Header(reader)
  return { format: 'qcow2', capacity: header.capacity, pieces: () => piecesOf(reader, header) }
}

async function* piecesOf(reader: ByteReader, header: Qcow2Header): AsyncGenerator<DiskPiece, void> {
  yield* inOrder(clusters(reader, header))
  // Reference counts and free clusters.
  await readRest(reader, 'anything')
}

async function* clusters(reader: ByteReader, header: Qcow2Header): AsyncGenerator<PlacedPiece, void> {
  const { offset, entries } = header.directory
  await skipTo(reader, offset)
  const directory = Buffer.from(await reader.read(entries * 8, 'the directory of the qcow2 file'))
  const tables = new Qcow2Tables(reader, header, directory)
  const perTable = header.clusterBytes / 8
  for (let entry = 0; entry < entries; entry += 1) {
    const table = await tables.table(entry)
    for (let index = 0; table && index < perTable; index += 1) {
      const at = (entry * perTable + index) * header.clusterBytes
      const value = table.readBigUInt64BE(index * 8)
      if (value === 0n || at >= header.capacity) continue
      const cluster = await clusterAt({ reader, header, tables }, value)
      if (cluster) yield { offset: at, bytes: cluster.bytes }
    }
  }
}

const skipTo = async (reader: ByteReader, offset: number): Promise<void> => {
  if (offset < reader.position)
    throw reader.refuse('image-disk-invalid', 'The directory of the qcow2 file lies in its header.')
  await reader.skip(offset - reader.position, 'the directory of the qcow2 file')
}

interface At {
  readonly reader: ByteReader
  readonly header: Qcow2Header
  readonly tables: Qcow2Tables
}

/** Boxed, because an async function would await a bare promise. */
interface Cluster {
  readonly bytes: Promise<Buffer>
}

/** The cluster of a table entry; undefined: zeros. */
const clusterAt = (at: At, value: bigint): Promise<Cluster | undefined> =>
  (value & compressed) === 0n ? plain(at, value) : packed(at, value)

const plain = async ({ reader, header, tables }: At, value: bigint): Promise<Cluster | undefined> => {
  const offset = Number(value & offsetBits)
  if (header.hasZeroClusters && (value & 1n) !== 0n) return undefined
  if (offset === 0) return undefined
  if (offset % header.clusterBytes !== 0)
    throw reader.refuse('image-disk-invalid', 'A table of the qcow2 file is damaged.')
  await tables.goTo(offset, 'A cluster')
  return { bytes: Promise.resolve(await reader.read(header.clusterBytes, 'a cluster')) }
}

/** Packed clusters are not aligned: the next cluster may begin in the last sector of this cluster. */
const packed = async ({ reader, header, tables }: At, value: bigint): Promise<Cluster> => {
  const lengthBits = BigInt(62 - (header.clusterBits - 8))
  const offset = Number(value & ((1n << lengthBits) - 1n))
  const sectors = Number((value & (compressed - 1n)) >> lengthBits) + 1
  await tables.goTo(offset, 'A cluster')
  const position = reader.position
  const bytes = await reader.peek(sectors * 512 - (offset % 512))
  const inflating = inflatePiece(bytes, { most: header.clusterBytes, raw: true }).then(
    (whole) => {
      if (whole.length === header.clusterBytes) return whole
      throw reader.refuse('image-disk-invalid', 'A cluster is too short.', { at: position })
    },
    (cause: unknown) => {
      throw reader.refuse('image-disk-invalid', 'A cluster cannot be unpacked.', { at: position, cause })
    },
  )
  return { bytes: inflating }
}
