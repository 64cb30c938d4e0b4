import type { ByteReader } from '../stream/byte-reader.ts'
import type { Qcow2Header } from './qcow2-header.ts'

const offsetBits = 0x00ff_ffff_ffff_fe00n
/** The limit for tables that are read before they are needed: enough for 64 GiB. */
const tableBytesMost = 8 * 1024 ** 2

/**
 * Moves forward through a qcow2 file and keeps the tables on the way until they are needed: a table may come right
 * before its data, or all tables come first.
 */
export class Qcow2Tables {
  readonly #reader: ByteReader
  readonly #clusterBytes: number
  /** Offsets of the tables ahead, last offset first. */
  readonly #ahead: number[]
  readonly #passed = new Map<number, Buffer>()
  readonly #places: readonly number[]

  constructor(reader: ByteReader, header: Qcow2Header, directory: Buffer) {
    this.#reader = reader
    this.#clusterBytes = header.clusterBytes
    this.#places = Array.from({ length: header.directory.entries }, (_, entry) =>
      Number(directory.readBigUInt64BE(entry * 8) & offsetBits),
    )
    const known = this.#places.filter((place) => place !== 0)
    if (new Set(known).size < known.length || known.some((place) => place % header.clusterBytes !== 0))
      throw reader.refuse('image-disk-invalid', 'The directory of the qcow2 file is damaged.')
    this.#ahead = known.sort((left, right) => right - left)
  }

  /** The table of a part of the disk; undefined: the whole part reads as zeros. */
  async table(entry: number): Promise<Buffer | undefined> {
    const place = this.#places[entry] ?? 0
    if (place === 0) return undefined
    if (!this.#passed.has(place)) await this.goTo(place + this.#clusterBytes, 'a table of the qcow2 file')
    const table = this.#passed.get(place)
    if (!table) throw this.#scattered('A table', place)
    this.#passed.delete(place)
    return table
  }

  async goTo(offset: number, what: string): Promise<void> {
    if (offset < this.#reader.position) throw this.#scattered(what, offset)
    for (;;) {
      const place = this.#ahead.at(-1)
      if (place === undefined || place >= offset) break
      this.#ahead.pop()
      // Data was read over this table: an error follows when the table is needed.
      if (place < this.#reader.position) continue
      await this.#reader.skip(place - this.#reader.position, what)
      const table = await this.#reader.read(this.#clusterBytes, 'a table of the qcow2 file')
      if ((this.#passed.size + 1) * this.#clusterBytes > Math.max(tableBytesMost, this.#clusterBytes))
        throw this.#scattered('Too much of its tables', place)
      this.#passed.set(place, Buffer.from(table))
    }
    if (offset < this.#reader.position) throw this.#scattered(what, offset)
    await this.#reader.skip(offset - this.#reader.position, what)
  }

  #scattered(what: string, at: number) {
    return this.#reader.refuse(
      'image-disk-scattered',
      `${what} does not stand where the qcow2 file could be read in one pass.`,
      { at },
    )
  }
}
