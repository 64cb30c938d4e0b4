import type { DeclaredFormat } from './ovf/ovf-disks.ts'
import { openQcow2 } from './qcow2/qcow2.ts'
import type { ByteReader } from './stream/byte-reader.ts'
import type { DiskContent, DiskPiece } from './stream/disk-content.ts'
import { pieceBytes } from './stream/pieces.ts'
import { openVmdk } from './vmdk/vmdk.ts'

/** Reads the header of a disk, only in the format of the descriptor. */
export const openDisk = (
  reader: ByteReader,
  as: { readonly format: DeclaredFormat; readonly capacity: number | null },
): Promise<DiskContent> => {
  if (as.format === 'vmdk') return openVmdk(reader)
  if (as.format === 'qcow2') return openQcow2(reader)
  return openRaw(reader, as.capacity)
}

/** A raw disk has no header: only the descriptor has its capacity. */
const openRaw = (reader: ByteReader, capacity: number | null): Promise<DiskContent> => {
  if (capacity === null)
    throw reader.refuse('image-descriptor-invalid', 'The descriptor does not say how large a raw disk is.')
  return Promise.resolve({ format: 'raw', capacity, pieces: () => plainPieces(reader, capacity) })
}

async function* plainPieces(reader: ByteReader, capacity: number): AsyncGenerator<DiskPiece, void> {
  for (;;) {
    const offset = reader.position
    const bytes = await reader.some(pieceBytes)
    if (!bytes) return
    if (reader.position > capacity)
      throw reader.refuse('image-disk-too-large', `The file has more than the ${capacity} bytes of its disk.`)
    yield { offset, bytes }
  }
}
