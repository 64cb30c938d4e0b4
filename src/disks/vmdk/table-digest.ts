import { tableEntries } from './vmdk-header.ts'

/**
 * Compares the tables of a disk with its grains without keeping either in memory: for each table a sum over its entries
 * that does not depend on their order. Detects damage; the hash in the manifest detects manipulation.
 */
export class TableDigest {
  readonly #sums: Uint32Array

  constructor(tables: number) {
    this.#sums = new Uint32Array(tables)
  }

  /** A grain was found at this sector. */
  add(grain: number, sector: number): void {
    const table = Math.floor(grain / tableEntries)
    this.#sums[table] = ((this.#sums[table] as number) + mix(grain % tableEntries, sector)) | 0
  }

  sum(table: number): number {
    return this.#sums[table] ?? 0
  }
}

/** The same sum, of the bytes of a table. */
export const sumOfTable = (bytes: Buffer): number => {
  let sum = 0
  for (let entry = 0; entry < tableEntries; entry += 1) {
    const sector = bytes.readUInt32LE(entry * 4)
    if (sector > 1) sum = (sum + mix(entry, sector)) | 0
  }
  return sum >>> 0
}

const mix = (entry: number, sector: number): number => {
  let hash = Math.imul(sector ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(entry + 1, 0xc2b2ae35)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  return hash ^ (hash >>> 15)
}
