import { ImageRefusal, type ImageRefusalCode } from './image-refusal.ts'

/** The origin of a reader's bytes, for its errors. */
export interface ReaderPlace {
  readonly entry: string
  /** The offset of the first byte in the archive; null: packed. */
  readonly start: number | null
}

/**
 * Pulls bytes from a source: nothing is read ahead, and at most the requested bytes and one piece of the source are
 * held. Callers bound their requests.
 */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  readonly #place: ReaderPlace
  #pieces: Buffer[] = []
  #held = 0
  #ended = false
  #position = 0
  /** Called with each piece of the source, in order; the reader waits for the promise. */
  onPulled: ((bytes: Buffer) => Promise<void>) | undefined

  constructor(source: AsyncIterable<Buffer>, place: ReaderPlace) {
    this.#source = source[Symbol.asyncIterator]()
    this.#place = place
  }

  /** Bytes consumed so far. */
  get position(): number {
    return this.#position
  }

  /** Up to `bytes` bytes without consuming them; fewer only at the end. */
  async peek(bytes: number): Promise<Buffer> {
    await this.#hold(bytes)
    return this.#front(Math.min(bytes, this.#held))
  }

  async read(bytes: number, what: string): Promise<Buffer> {
    await this.#hold(bytes)
    if (this.#held < bytes) throw this.#cutOff(what)
    return this.#consume(this.#front(bytes))
  }

  /** The next piece of the source, of at most `most` bytes; null at the end. */
  async some(most: number): Promise<Buffer | null> {
    await this.#hold(1)
    const first = this.#pieces[0]
    return first === undefined ? null : this.#consume(first.subarray(0, most))
  }

  async skip(bytes: number, what: string): Promise<void> {
    for (let left = bytes; left > 0; ) {
      const piece = await this.some(left)
      if (!piece) throw this.#cutOff(what)
      left -= piece.length
    }
  }

  async hasEnded(): Promise<boolean> {
    await this.#hold(1)
    return this.#held === 0
  }

  /** `at`: another position than the current position, in bytes of this reader. */
  refuse(
    code: ImageRefusalCode,
    message: string,
    more: { at?: number; cause?: unknown; detail?: Record<string, unknown> } = {},
  ): ImageRefusal {
    const { at = this.#position, ...rest } = more
    const { entry, start } = this.#place
    return new ImageRefusal(code, message, { ...rest, entry, position: start === null ? null : start + at })
  }

  #cutOff(what: string): ImageRefusal {
    const at = this.#position + this.#held
    return this.refuse('image-truncated', `It ends in the middle of ${what}.`, { at })
  }

  async #hold(bytes: number): Promise<void> {
    while (this.#held < bytes && !this.#ended) {
      const next = await this.#source.next()
      if (next.done) this.#ended = true
      else if (next.value.length > 0) {
        this.#pieces.push(next.value)
        this.#held += next.value.length
        await this.onPulled?.(next.value)
      }
    }
  }

  /** The first held bytes in one piece; copied only if they are in several pieces. */
  #front(bytes: number): Buffer {
    const [first] = this.#pieces
    if (!first || bytes === 0) return Buffer.alloc(0)
    if (first.length >= bytes) return first.subarray(0, bytes)
    let count = 0
    let length = 0
    while (length < bytes) length += (this.#pieces[count++] as Buffer).length
    const joined = Buffer.concat(this.#pieces.slice(0, count))
    this.#pieces.splice(0, count, joined)
    return joined.subarray(0, bytes)
  }

  /** `bytes` is the front of the held bytes. */
  #consume(bytes: Buffer): Buffer {
    const first = this.#pieces[0]
    if (bytes.length > 0 && first) {
      if (first.length === bytes.length) this.#pieces.shift()
      else this.#pieces[0] = first.subarray(bytes.length)
    }
    this.#held -= bytes.length
    this.#position += bytes.length
    return bytes
  }
}
