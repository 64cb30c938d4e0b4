import type { ByteReader } from '../stream/byte-reader.ts'
import type { DiskPiece } from '../stream/disk-content.ts'
import { sectorBytes, tableEntries, type VmdkHeader } from './vmdk-header.ts'
import { goTo, readTables } from './vmdk-overhead.ts'

/** Of tables that hold no plain run of grains: what a disk of 256 GiB has. */
const tableBytesMost = 16 * 1024 ** 2

/** A table: the sector of its first grain when all follow one another, else as it is written. */
type KeptTable = number | Buffer

/**
 * The grains of a VMDK without markers: its tables come first and say where each grain is. Grains in another order than
 * that of the disk cannot be read in one pass.
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
    // The bytes are a part of a larger piece.
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
