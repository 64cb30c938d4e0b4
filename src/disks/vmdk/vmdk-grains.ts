import type { ByteReader } from '../stream/byte-reader.ts'
import type { DiskPiece } from '../stream/disk-content.ts'
import { sectorBytes, tableEntries, type VmdkHeader } from './vmdk-header.ts'
import { goTo, readTables } from './vmdk-overhead.ts'

/** The limit for tables without a plain run of grains: enough for a disk of 256 GiB. */
const tableBytesMost = 16 * 1024 ** 2

/** A table: the sector of its first grain if all grains are consecutive, else the bytes of the table. */
type KeptTable = number | Buffer

/**
 * The grains of a VMDK without markers: the tables come first and have the sector of each grain. Grains that are not in
 * disk order cannot be read in one pass.
 */
export async function* grainsByTable(
  reader: ByteReader,
  header: VmdkHeader & { readonly directory: number },
): AsyncGenerator<DiskPiece, void> {
  const tables = await keepTables(reader, header)
  const grainBytes = header.grain * sectorBytes
  for (let table = 0; table < header.tables; table += 1) {
    const kept = tables.get(table)
    if (kept === undefined) continue
    for (let entry = 0; entry < tableEntries; entry += 1) {
      const sector = typeof kept === 'number' ? kept + entry * header.grain : kept.readUInt32LE(entry * 4)
      if (sector === 0 || (sector === 1 && header.hasZeroGrains)) continue
      const offset = (table * tableEntries + entry) * grainBytes
      const bytes = Math.min(grainBytes, header.capacity * sectorBytes - offset)
      if (bytes <= 0) throw reader.refuse('image-disk-invalid', 'A table goes on behind the end of its disk.')
      if (sector < header.overhead)
        throw reader.refuse('image-disk-invalid', 'A table names a grain among the tables.')
      await goTo(reader, sector, 'a grain')
      yield { offset, bytes: await reader.read(bytes, 'a grain') }
    }
  }
}

const keepTables = async (
  reader: ByteReader,
  header: VmdkHeader & { readonly directory: number },
): Promise<ReadonlyMap<number, KeptTable>> => {
  const tables = new Map<number, KeptTable>()
  let held = 0
  for await (const { table, bytes } of readTables(reader, header)) {
    const kept = compact(bytes, header.grain)
    if (kept === undefined) continue
    held += typeof kept === 'number' ? 0 : kept.length
    if (held > tableBytesMost)
      throw reader.refuse('image-disk-scattered', 'The grains of the VMDK are scattered over its file.')
    // Copied, because the bytes are part of a larger buffer.
    tables.set(table, typeof kept === 'number' ? kept : Buffer.from(kept))
  }
  return tables
}

const compact = (bytes: Buffer, grain: number): KeptTable | undefined => {
  const first = bytes.readUInt32LE(0)
  let isRun = first > 1
  let isEmpty = true
  for (let entry = 0; entry < tableEntries; entry += 1) {
    const sector = bytes.readUInt32LE(entry * 4)
    if (sector !== 0) isEmpty = false
    if (sector !== first + entry * grain) isRun = false
  }
  return isEmpty ? undefined : isRun ? first : bytes
}
