import type { ByteReader } from './byte-reader.ts'
import { zeros } from './pieces.ts'

/** How a file holds a disk, as its header says. */
export type DiskFormat = 'vmdk-stream' | 'vmdk-sparse' | 'qcow2' | 'raw'

/** Where a disk has data. */
export interface DiskPiece {
  readonly offset: number
  readonly bytes: Buffer
}

/** A disk whose header was read: its file is read on as its pieces are asked for. */
export interface DiskContent {
  readonly format: DiskFormat
  readonly capacity: number
  /** In ascending order; what lies between reads as zeros. At its end the whole structure was found in order. */
  pieces(): AsyncIterable<DiskPiece>
}

/** What no platform takes: larger than the largest virtual disk there is. */
export const capacityMost = 64 * 1024 ** 4

/** Behind the end of a disk a writer may fill up its file. */
const restBytesMost = 4 * 1024 ** 2

/** The disk as a guest sees it, every byte of it and not one more. */
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

/** Reads what is left of a file behind its disk: little, and in some formats nothing but zeros. */
export const readRest = async (reader: ByteReader, allows: 'zeros' | 'anything'): Promise<void> => {
  const from = reader.position
  for (let piece = await reader.some(restBytesMost); piece; piece = await reader.some(restBytesMost)) {
    if (allows === 'zeros' && piece.some((byte) => byte !== 0))
      throw reader.refuse('image-trailing-data', 'The file goes on behind the end of its disk.')
    if (reader.position - from > restBytesMost)
      throw reader.refuse('image-trailing-data', 'The file goes on long behind the end of its disk.')
  }
}
