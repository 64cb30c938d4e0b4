import type { ByteReader } from '../stream/byte-reader.ts'
import { capacityMost } from '../stream/disk-content.ts'

export const sectorBytes = 512
/** Entries of a grain table; all writers use this number. */
export const tableEntries = 512
/** The offset of the directory if a footer has it. */
const atEnd = 0xffff_ffff_ffff_ffffn
/** Bounds the memory that is kept for each table. */
const tablesMost = 1 << 20

export interface VmdkHeader {
  /** In sectors, like the following numbers. */
  readonly capacity: number
  readonly grain: number
  readonly descriptor: { readonly offset: number; readonly size: number }
  /** Null: the footer has the offset. */
  readonly directory: number | null
  /** The first sector of the grains. */
  readonly overhead: number
  readonly isCompressed: boolean
  readonly hasMarkers: boolean
  /** In a table, 1 stands for a grain of zeros. */
  readonly hasZeroGrains: boolean
  readonly tables: number
}

const flag = { newlines: 1, secondTables: 2, zeroGrains: 4, compressed: 1 << 16, markers: 1 << 17 } as const
const known = Object.values(flag).reduce((all, one) => all | one, 0)

/** Reads the first sector of a sparse VMDK, or its footer. */
export const readVmdkHeader = (sector: Buffer, reader: ByteReader): VmdkHeader => {
  const odd = (why: string) => reader.refuse('image-disk-invalid', `The header of the VMDK ${why}.`)
  if (sector.toString('latin1', 0, 4) !== 'KDMV')
    throw reader.refuse('image-format-mismatch', 'The descriptor says VMDK, and the file is no sparse VMDK.')
  const number = (at: number, what: string): number => {
    const value = Number(sector.readBigUInt64LE(at))
    if (Number.isSafeInteger(value * sectorBytes)) return value
    throw odd(`has no usable ${what}`)
  }
  const version = sector.readUInt32LE(4)
  const flags = sector.readUInt32LE(8)
  if (version < 1 || version > 3 || (flags & ~known) !== 0)
    throw reader.refuse('image-disk-unsupported', `VMDK version ${version} with flags ${flags} is unknown.`)
  if ((flags & flag.newlines) !== 0 && sector.toString('latin1', 73, 77) !== '\n \r\n')
    throw odd('was changed by a text transfer')
  const capacity = number(12, 'capacity')
  const grain = number(20, 'grain size')
  if (grain < 8 || grain > 2_048 || (grain & (grain - 1)) !== 0) throw odd(`has grains of ${grain} sectors`)
  if (sector.readUInt32LE(44) !== tableEntries) throw odd('has tables of another size')
  const tables = Math.ceil(capacity / (grain * tableEntries))
  if (capacity === 0 || capacity * sectorBytes > capacityMost || tables > tablesMost)
    throw odd(`has a capacity of ${capacity} sectors`)
  const isCompressed = (flags & flag.compressed) !== 0
  if (isCompressed && sector.readUInt16LE(77) !== 1)
    throw reader.refuse('image-disk-unsupported', 'The VMDK is compressed by another way than deflate.')
  const isLast = sector.readBigUInt64LE(56) === atEnd
  return {
    ...{ capacity, grain, tables, isCompressed },
    descriptor: { offset: number(28, 'descriptor'), size: number(36, 'descriptor') },
    directory: isLast ? null : number(56, 'directory'),
    overhead: number(64, 'place of its data'),
    hasMarkers: (flags & flag.markers) !== 0,
    hasZeroGrains: (flags & flag.zeroGrains) !== 0,
  }
}
