import { ByteReader } from '../stream/byte-reader.ts'
import { pieceBytes } from '../stream/pieces.ts'
import { entryName } from './entry-name.ts'
import { readPax } from './pax.ts'
import { blockBytes, isZero, readTarHeader, type TarHeader, tarText } from './tar-header.ts'

export interface TarEntry {
  readonly name: string
  readonly size: number
  /** The offset of the content in the archive. */
  readonly start: number
}

const entriesMost = 10_000
/** The limit of a long name, or of extended fields. */
const extraBytesMost = 256 * 1024
const extrasMost = 4
/** The most zeros after the end; writers pad to their block size, which is smaller. */
const paddingMost = 16 * 1024 ** 2

/** Fields from headers before the header of the file. */
interface Extra {
  readonly path?: string
  readonly size?: number
}

/** Reads a tar archive entry by entry in one pass. Directories are skipped; anything but regular files is refused. */
export class TarReader {
  readonly #reader: ByteReader
  readonly #names = new Set<string>()
  #headers = 0
  #left = 0
  #padding = 0

  constructor(source: AsyncIterable<Buffer>) {
    this.#reader = new ByteReader(source, { entry: '', start: 0 })
  }

  get reader(): ByteReader {
    return this.#reader
  }

  /** The next file; null at the end. The unread rest of the previous file is skipped. */
  async next(): Promise<TarEntry | null> {
    await this.#leave()
    let extra: Extra = {}
    for (let extras = 0; ; ) {
      const at = this.#reader.position
      const header = await this.#header()
      if (!header) {
        if (extras > 0) throw this.#refuse('image-header-invalid', 'A name has no file.', at)
        await this.#end()
        return null
      }
      if (header.type === '5') {
        await this.#directory(header, extra, at)
        extra = {}
        extras = 0
      } else if ('xgLK'.includes(header.type)) {
        extras += 1
        if (extras > extrasMost) throw this.#refuse('image-header-invalid', 'A file has too many names.', at)
        extra = { ...extra, ...(await this.#extra(header, at)) }
      } else return this.#file(header, extra, at)
    }
  }

  /** The content of the current entry. */
  async *body(): AsyncGenerator<Buffer, void> {
    while (this.#left > 0) yield await this.#piece()
  }

  async #piece(): Promise<Buffer> {
    const piece = await this.#reader.some(Math.min(this.#left, pieceBytes))
    if (!piece)
      throw this.#reader.refuse('image-truncated', `The archive ends ${this.#left} bytes before a file does.`)
    this.#left -= piece.length
    return piece
  }

  async #leave(): Promise<void> {
    while (this.#left > 0) await this.#piece()
    await this.#reader.skip(this.#padding, 'the archive')
    this.#padding = 0
  }

  /** Undefined at the empty blocks that end an archive. */
  async #header(): Promise<TarHeader | undefined> {
    const at = this.#reader.position
    const block = await this.#reader.peek(blockBytes)
    if (at === 0) this.#refuseOtherKinds(block)
    if (block.length < blockBytes) throw this.#refuse('image-truncated', 'The end of the archive is missing.')
    if (isZero(block)) return undefined
    this.#headers += 1
    if (this.#headers > entriesMost)
      throw this.#refuse('image-too-many-entries', `The archive has more than ${entriesMost} entries.`, at)
    const header = readTarHeader(await this.#reader.read(blockBytes, 'a header'))
    if (header) return header
    if (at === 0) throw this.#refuse('image-not-tar', 'This is no tar archive.', at)
    throw this.#refuse('image-header-invalid', 'A header of the archive is damaged.', at)
  }

  #refuseOtherKinds(block: Buffer): void {
    const start = block.toString('latin1', 0, 4)
    if (start.startsWith('PK')) throw this.#refuse('image-is-zip', 'This is a zip archive, not an OVA.', 0)
    if (start.startsWith('\x1f\x8b') || start.startsWith('BZh') || start === '\xfd7zX')
      throw this.#refuse('image-is-packed', 'This archive is packed as a whole.', 0)
    if (block.length === 0) throw this.#refuse('image-truncated', 'The archive is empty.', 0)
  }

  async #extra(header: TarHeader, at: number): Promise<Extra> {
    if (header.size > extraBytesMost)
      throw this.#refuse('image-text-too-large', `The name of a file takes ${header.size} bytes.`, at)
    const bytes = await this.#reader.read(header.size, 'the name of a file')
    await this.#reader.skip(paddingOf(header.size), 'the archive')
    if (header.type === 'K') throw this.#kind('a link', at)
    if (header.type === 'L') {
      const path = tarText(bytes)
      if (path === null) throw this.#refuse('image-entry-name', 'A name is not in UTF-8.', at)
      return { path }
    }
    const fields = readPax(bytes)
    if (!fields) throw this.#refuse('image-header-invalid', 'Extended fields of the archive are damaged.', at)
    if (fields.odd !== undefined) throw this.#kind(`a file with ${fields.odd}`, at)
    // Global fields: comments and times are harmless; one name or size for all files is an error.
    if (header.type === 'g' && (fields.path !== undefined || fields.size !== undefined))
      throw this.#refuse('image-header-invalid', 'The archive gives one name or size to all its files.', at)
    return fields
  }

  async #directory(header: TarHeader, extra: Extra, at: number): Promise<void> {
    const text = extra.path ?? header.name
    if (text !== './' && text !== '.') this.#name(text, at)
    if ((extra.size ?? header.size) !== 0) throw this.#kind('a directory with content', at)
  }

  #file(header: TarHeader, extra: Extra, at: number): TarEntry {
    const kind = kinds[header.type]
    if (kind !== 'file') throw this.#kind(kind ?? `of kind ${JSON.stringify(header.type)}`, at)
    const name = this.#name(extra.path ?? header.name, at)
    if (this.#names.has(name))
      throw this.#refuse('image-entry-duplicate', `The archive holds ${name} twice.`, at)
    this.#names.add(name)
    const size = extra.size ?? header.size
    this.#left = size
    this.#padding = paddingOf(size)
    return { name, size, start: this.#reader.position }
  }

  #name(text: string | null, at: number): string {
    const name = text === null ? undefined : entryName(text)
    if (name !== undefined) return name
    throw this.#refuse(
      'image-entry-name',
      text === null ? 'A name is not in UTF-8.' : `The name ${JSON.stringify(text.slice(0, 200))} leads out.`,
      at,
    )
  }

  async #end(): Promise<void> {
    const { position } = this.#reader
    for (
      let piece = await this.#reader.some(pieceBytes);
      piece;
      piece = await this.#reader.some(pieceBytes)
    ) {
      if (!isZero(piece)) throw this.#refuse('image-trailing-data', 'The archive goes on behind its end.')
      if (this.#reader.position - position > paddingMost)
        throw this.#refuse('image-trailing-data', 'The archive is followed by too many zeros.')
    }
    if (this.#reader.position - position < 2 * blockBytes)
      throw this.#refuse('image-truncated', 'The end of the archive is missing.')
  }

  #kind(what: string, at: number) {
    return this.#refuse('image-entry-kind', `The archive holds ${what}; an OVA has files alone.`, at)
  }

  #refuse(code: Parameters<ByteReader['refuse']>[0], message: string, at?: number) {
    return this.#reader.refuse(code, message, at === undefined ? {} : { at })
  }
}

const kinds: Readonly<Record<string, string>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'a link',
  '2': 'a symbolic link',
  '3': 'a device',
  '4': 'a device',
  '6': 'a pipe',
  S: 'a file with holes',
}

const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes
