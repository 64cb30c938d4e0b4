import type { ByteReader } from './byte-reader.ts'
import { zeros } from './pieces.ts'

/** The format of a disk's file, from its header. */
export type DiskFormat = 'vmdk-stream' | 'vmdk-sparse' | 'qcow2' | 'raw'

/** A part of a disk that has data. */
export interface DiskPiece {
  readonly offset: number
  readonly bytes: Buffer
}

/** A disk whose header was read; the rest of the file is read on demand. */
export interface DiskContent {
  readonly format: DiskFormat
  readonly capacity: number
  /** In ascending order; gaps read as zeros. After the last piece the whole structure has been checked. */
  pieces(): AsyncIterable<DiskPiece>
}

/** The largest capacity; no platform has larger virtual disks. */
export const capacityMost = 64 * 1024 ** 4

/** The most padding after the end of a disk. */
const restBytesMost = 4 * 1024 ** 2

/** The disk as a guest sees it: exactly its capacity in bytes. */
export async function* wholeDisk(content: DiskContent, reader: ByteReader): AsyncGenerator<Buffer, void> {
  let at = 0
  for await (const { offset, bytes } of content.pieces()) {
    const kept = bytes.subarray(0, Math.max(0, content.capacity - offset))
    if (offset < at || offset >= content.capacity)
      throw reader.refuse('image-disk-too-large', 'The file holds more than its disk has room for.')
    yield* zeros(offset - at)
    yield kept
    at = offset + kept.length
  }
  yield* zeros(content.capacity - at)
}

/** Reads the rest of a file after its disk: bounded, and in some formats only zeros. */
export const readRest = async (reader: ByteReader, allows: 'zeros' | 'anything'): Promise<void> => {
  const from = reader.position
  for (let piece = await reader.some(restBytesMost); piece; piece = await reader.some(restBytesMost)) {
    if (allows === 'zeros' && piece.some((byte) => byte !== 0))
      throw reader.refuse('image-trailing-data', 'The file goes on behind the end of its disk.')
    if (reader.position - from > restBytesMost)
      throw reader.refuse('image-trailing-data', 'The file goes on long behind the end of its disk.')
  }
}
