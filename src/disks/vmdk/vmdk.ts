import type { ByteReader } from '../stream/byte-reader.ts'
import { type DiskContent, type DiskPiece, readRest } from '../stream/disk-content.ts'
import { inOrder } from '../stream/inflate.ts'
import { grainsByTable } from './vmdk-grains.ts'
import { readVmdkHeader, sectorBytes, type VmdkHeader } from './vmdk-header.ts'
import { grainsOf } from './vmdk-markers.ts'
import { readDescriptor } from './vmdk-overhead.ts'

/** A sparse VMDK in one file: compressed grains with markers, or plain grains with tables before them. */
export const openVmdk = async (reader: ByteReader): Promise<DiskContent> => {
  const sector = await reader.peek(sectorBytes)
  const start = sector.toString('latin1', 0, 22)
  if (/^#? ?Disk DescriptorFile/i.test(start))
    throw reader.refuse(
      'image-disk-foreign-file',
      'The VMDK is a mere descriptor: its content is in other files.',
    )
  if (start.startsWith('COWD')) throw reader.refuse('image-delta-disk', 'The VMDK is a redo log.')
  const header = readVmdkHeader(await reader.read(sectorBytes, 'the header of the VMDK'), reader)
  const { isCompressed, hasMarkers, directory } = header
  if (isCompressed !== hasMarkers || (!isCompressed && directory === null))
    throw reader.refuse('image-disk-unsupported', 'The VMDK is neither streamOptimized nor plainly sparse.')
  await readDescriptor(reader, header)
  return {
    format: isCompressed ? 'vmdk-stream' : 'vmdk-sparse',
    capacity: header.capacity * sectorBytes,
    pieces: () => piecesOf(reader, header),
  }
}

async function* piecesOf(reader: ByteReader, header: VmdkHeader): AsyncGenerator<DiskPiece, void> {
  const { directory } = header
  if (header.isCompressed) {
    yield* inOrder(grainsOf(reader, header))
    await readRest(reader, 'zeros')
  } else if (directory !== null) {
    yield* grainsByTable(reader, { ...header, directory })
    await readRest(reader, 'anything')
  }
}
