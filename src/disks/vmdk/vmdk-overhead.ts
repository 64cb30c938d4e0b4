import type { ByteReader } from '../stream/byte-reader.ts'
import { checkVmdkDescriptor, descriptorSectorsMost } from './vmdk-descriptor.ts'
import { sectorBytes, tableEntries, type VmdkHeader } from './vmdk-header.ts'

/** Moves a reader forward to a sector; backward is refused. */
export const goTo = async (reader: ByteReader, sector: number, what: string): Promise<void> => {
  const at = sector * sectorBytes
  if (at < reader.position)
    throw reader.refuse(
      'image-disk-scattered',
      `${what} lies before what was read already: the disk cannot be read in one pass.`,
      { at },
    )
  await reader.skip(at - reader.position, what)
}

export const readDescriptor = async (reader: ByteReader, header: VmdkHeader): Promise<void> => {
  const { offset, size } = header.descriptor
  if (offset === 0 || size === 0 || size > descriptorSectorsMost || offset > header.overhead)
    throw reader.refuse('image-disk-invalid', 'The VMDK has no descriptor.')
  await goTo(reader, offset, 'the descriptor of the VMDK')
  const bytes = await reader.read(size * sectorBytes, 'the descriptor of the VMDK')
  checkVmdkDescriptor(bytes, header.capacity, reader)
}

/**
 * Reads the directory and the tables before the grains, one table at a time. A missing table means zeros.
 */
export async function* readTables(
  reader: ByteReader,
  header: VmdkHeader & { readonly directory: number },
): AsyncGenerator<{ readonly table: number; readonly bytes: Buffer }, void> {
  await goTo(reader, header.directory, 'the directory of the VMDK')
  const directory = await reader.read(header.tables * 4, 'the directory of the VMDK')
  const places: { table: number; sector: number }[] = []
  for (let table = 0; table < header.tables; table += 1) {
    const sector = directory.readUInt32LE(table * 4)
    if (sector !== 0) places.push({ table, sector })
  }
  for (const { table, sector } of places.sort((left, right) => left.sector - right.sector)) {
    await goTo(reader, sector, 'a table of the VMDK')
    yield { table, bytes: await reader.read(tableEntries * 4, 'a table of the VMDK') }
  }
}
