import type { Extent } from '../../platforms/ports/disks.ts'

/** The grid of copies and proofs: an extent is sent in full when any byte of it has changed. */
export const extentBytes = 4 * 1024 * 1024

/** A set of extents of a disk: one bit each, so that even the largest disk takes little memory. */
export class ExtentMap {
  readonly capacity: number
  readonly length: number
  readonly #bits: Uint8Array
  #count = 0

  constructor(capacity: number) {
    this.capacity = capacity
    this.length = Math.ceil(capacity / extentBytes)
    this.#bits = new Uint8Array(Math.ceil(this.length / 8))
  }

  /** How many extents are in the set. */
  get count(): number {
    return this.#count
  }

  /** Bytes of all extents in the set. */
  get bytes(): number {
    const last = this.length - 1
    const missing = this.length * extentBytes - this.capacity
    return this.#count * extentBytes - (last >= 0 && this.has(last) ? missing : 0)
  }

  has(at: number): boolean {
    return ((this.#bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0
  }

  add(at: number): void {
    if (at < 0 || at >= this.length || this.has(at)) return
    this.#bits[at >> 3] = (this.#bits[at >> 3] ?? 0) | (1 << (at & 7))
    this.#count += 1
  }

  delete(at: number): void {
    if (!this.has(at)) return
    this.#bits[at >> 3] = (this.#bits[at >> 3] ?? 0) & ~(1 << (at & 7))
    this.#count -= 1
  }

  /** Adds every extent that these bytes touch. */
  addBytes({ offset, length }: Extent): void {
    const to = Math.ceil(Math.min(offset + length, this.capacity) / extentBytes)
    for (let at = Math.floor(offset / extentBytes); at < to; at += 1) this.add(at)
  }

  /** The position of an extent; the last extent of a disk may be shorter. */
  rangeOf(at: number): Extent {
    const offset = at * extentBytes
    return { offset, length: Math.min(extentBytes, this.capacity - offset) }
  }

  /** In order. */
  *[Symbol.iterator](): Generator<number> {
    for (let at = 0; at < this.length; at += 1)
      if (this.#bits[at >> 3] === 0) at |= 7
      else if (this.has(at)) yield at
  }
}
