import type { ByteReader } from '../stream/byte-reader.ts'
import { capacityMost } from '../stream/disk-content.ts'

export interface Qcow2Header {
  readonly capacity: number
  readonly clusterBits: number
  readonly clusterBytes: number
  readonly directory: { readonly offset: number; readonly entries: number }
  /** Version 3 knows clusters of zeros. */
  readonly hasZeroClusters: boolean
}

const shortHeader = 72
const longHeader = 104
/** Bounds the directory: 64 TiB with clusters of the usual size. */
const entriesMost = 1 << 18

/** The incompatible feature bits. */
const feature = { dirty: 1n, corrupt: 2n, dataFile: 4n, compression: 8n, extended: 16n } as const

export const readQcow2Header = async (reader: ByteReader): Promise<Qcow2Header> => {
  const bytes = await reader.read(shortHeader, 'the header of the qcow2 file')
  if (bytes.toString('latin1', 0, 4) !== 'QFI\xfb')
    throw reader.refuse('image-format-mismatch', 'The descriptor says qcow2, and the file is none.')
  const version = bytes.readUInt32BE(4)
  if (version !== 2 && version !== 3)
    throw reader.refuse('image-disk-unsupported', `qcow2 version ${version} is unknown.`)
  if (bytes.readBigUInt64BE(8) !== 0n || bytes.readUInt32BE(16) !== 0)
    throw reader.refuse('image-delta-disk', 'The qcow2 file names another file that it builds on.')
  if (bytes.readUInt32BE(32) !== 0)
    throw reader.refuse('image-disk-encrypted', 'The qcow2 file is encrypted.')
  if (version === 3) await checkFeatures(reader)
  return layoutOf(bytes, reader, version === 3)
}

const checkFeatures = async (reader: ByteReader): Promise<void> => {
  const more = await reader.read(longHeader - shortHeader, 'the header of the qcow2 file')
  const bits = more.readBigUInt64BE(0)
  const headerBytes = more.readUInt32BE(28)
  if ((bits & feature.dataFile) !== 0n)
    throw reader.refuse('image-disk-foreign-file', 'The qcow2 file keeps its data in another file.')
  if ((bits & feature.corrupt) !== 0n)
    throw reader.refuse('image-disk-invalid', 'The qcow2 file says that it is damaged.')
  const packing =
    (bits & feature.compression) === 0n || headerBytes <= longHeader ? 0 : await packingOf(reader)
  if ((bits & ~(feature.dirty | feature.compression)) !== 0n || packing !== 0)
    throw reader.refuse(
      'image-disk-unsupported',
      `The qcow2 file has features (${bits}) that cannot be read.`,
    )
}

const packingOf = async (reader: ByteReader): Promise<number> =>
  (await reader.read(8, 'the header of the qcow2 file'))[0] as number

const layoutOf = (bytes: Buffer, reader: ByteReader, hasZeroClusters: boolean): Qcow2Header => {
  const odd = (why: string) => reader.refuse('image-disk-invalid', `The header of the qcow2 file ${why}.`)
  const clusterBits = bytes.readUInt32BE(20)
  const capacity = Number(bytes.readBigUInt64BE(24))
  if (clusterBits < 9 || clusterBits > 21) throw odd(`has clusters of 2^${clusterBits} bytes`)
  if (capacity === 0 || capacity > capacityMost) throw odd(`has a capacity of ${capacity}`)
  const clusterBytes = 2 ** clusterBits
  const entries = Math.ceil(capacity / (clusterBytes * (clusterBytes / 8)))
  if (entries > entriesMost || bytes.readUInt32BE(36) < entries) throw odd('has a directory of another size')
  const offset = Number(bytes.readBigUInt64BE(40))
  if (!Number.isSafeInteger(offset) || offset === 0 || offset % clusterBytes !== 0)
    throw odd('names no place for its directory')
  return { capacity, clusterBits, clusterBytes, directory: { offset, entries }, hasZeroClusters }
}
