import type { ArchiveEnd, ArchiveFiles } from './archive-files.ts'
import { openDisk } from './open-disk.ts'
import type { OvfDescriptor } from './ovf/ovf-descriptor.ts'
import type { OvfDisk, OvfFile } from './ovf/ovf-disks.ts'
import { ByteReader } from './stream/byte-reader.ts'
import type { DiskContent } from './stream/disk-content.ts'
import { ImageRefusal, type ImageRefusalCode } from './stream/image-refusal.ts'
import { gunzipped, type Unpacking } from './stream/inflate.ts'
import type { TarEntry } from './tar/tar-reader.ts'

export interface FiledDisk {
  readonly disk: OvfDisk
  readonly file: OvfFile
}

/** The current disk, whose header was read. */
export interface DiskAt extends FiledDisk {
  readonly reader: ByteReader
  readonly content: DiskContent
  /** The bytes that were read with the header. */
  readonly first: readonly Buffer[]
  /** The size of the file; null: the file is in several pieces, or packed. */
  readonly size: number | null
}

interface Found extends FiledDisk {
  /** The number of the piece, of a file in pieces `<href>.<number>`. */
  readonly part: number | null
}

/** Finds the files of the disks in an archive, in archive order. */
export class DiskFiles {
  readonly #files: ArchiveFiles
  readonly #filed: readonly FiledDisk[]
  readonly #seen = new Set<OvfDisk>()

  constructor(files: ArchiveFiles, descriptor: OvfDescriptor) {
    this.#files = files
    this.#filed = descriptor.files.flatMap((file) => {
      const disk = descriptor.disks.find((one) => one.file === file)
      return disk ? [{ disk, file }] : []
    })
  }

  /** In the order of the files in the descriptor. */
  get filed(): readonly FiledDisk[] {
    return this.#filed
  }

  get allSeen(): boolean {
    return this.#seen.size === this.#filed.length
  }

  orderOf(disk: OvfDisk): number {
    return this.#filed.findIndex((one) => one.disk === disk)
  }

  /** Advances to the next disk and reads its header. */
  async next(): Promise<DiskAt> {
    for (;;) {
      const entry = await this.#files.next()
      if (!entry) throw this.#missing()
      const found = this.#find(entry)
      if (found) return this.#open(entry, found)
    }
  }

  /** Reads to the end of the archive. */
  async end(): Promise<ArchiveEnd> {
    for (let entry = await this.#files.next(); entry; entry = await this.#files.next()) this.#find(entry)
    if (!this.allSeen) throw this.#missing()
    return this.#files.end()
  }

  #find(entry: TarEntry): Found | undefined {
    if (/\.ovf$/i.test(entry.name))
      throw refuse(entry, 'image-descriptor-several', 'The archive has two descriptors.')
    for (const filed of this.#filed) {
      const part = partOf(entry.name, filed.file.href)
      if (part === undefined) continue
      if (this.#seen.has(filed.disk))
        throw refuse(entry, 'image-delta-disk', `The archive has several states of disk ${filed.disk.id}.`)
      this.#seen.add(filed.disk)
      return { ...filed, part }
    }
    return undefined
  }

  async #open(entry: TarEntry, { disk, file, part }: Found): Promise<DiskAt> {
    const isWhole = file.chunkBytes === null || part === null
    if (isWhole) requireSize(entry, file, entry.size)
    const body = isWhole ? this.#files.body() : this.#pieces(entry, file, part)
    const start = file.isGzip || !isWhole ? null : entry.start
    const unpacking = unpackingOf(entry)
    const bytes = file.isGzip ? gunzipped(body, unpacking) : body
    const reader = new ByteReader(bytes, { entry: entry.name, start })
    const first: Buffer[] = []
    reader.onPulled = (bytes) => {
      first.push(bytes)
      return Promise.resolve()
    }
    const content = await openDisk(reader, disk)
    unpacking.bytesMost += content.capacity * 2
    return { disk, file, reader, content, first, size: isWhole && !file.isGzip ? entry.size : null }
  }

  /** A file in pieces: consecutive, numbered from 0, all of the same size except the last. */
  async *#pieces(entry: TarEntry, file: OvfFile, part: number): AsyncGenerator<Buffer, void> {
    if (part !== 0) throw refuse(entry, 'image-file-missing', `The archive lacks ${file.href}.000000000.`)
    let total = entry.size
    let last = entry.size
    yield* this.#files.body()
    for (let number = 1; ; number += 1) {
      const next = await this.#files.peek()
      if (!next || partOf(next.name, file.href) !== number) break
      if (last !== file.chunkBytes)
        throw refuse(next, 'image-file-size', `The piece before has ${last} bytes, not ${file.chunkBytes}.`)
      await this.#files.next()
      total += next.size
      last = next.size
      yield* this.#files.body()
    }
    requireSize(entry, file, total)
  }

  #missing(): ImageRefusal {
    const gone = this.#filed.find(({ disk }) => !this.#seen.has(disk))
    return new ImageRefusal(
      'image-file-missing',
      `The archive ends without ${gone?.file.href ?? 'a disk'}.`,
      {
        position: this.#files.position,
      },
    )
  }
}

/** 0 and up for `<href>.<number>`, null for the file itself, undefined for others. */
const partOf = (name: string, href: string): number | null | undefined => {
  if (name === href) return null
  const digits = name.startsWith(`${href}.`) ? name.slice(href.length + 1) : ''
  return /^\d{1,9}$/.test(digits) ? Number(digits) : undefined
}

const refuse = (entry: TarEntry, code: ImageRefusalCode, message: string, cause?: unknown): ImageRefusal =>
  new ImageRefusal(code, message, { entry: entry.name, position: entry.start, cause })

const requireSize = (entry: TarEntry, file: OvfFile, size: number): void => {
  if (file.size === null || file.size === size) return
  throw refuse(entry, 'image-file-size', `The file has ${size} bytes; the descriptor says ${file.size}.`)
}

/** The limit for headers and tables; twice the capacity of the disk is added. */
const unpackedMost = 256 * 1024 ** 2

const unpackingOf = (entry: TarEntry): Unpacking => ({
  bytesMost: unpackedMost,
  refuse: (why, cause) =>
    why === 'damaged'
      ? refuse(entry, 'image-disk-invalid', 'The packed file is damaged.', cause)
      : refuse(entry, 'image-disk-too-large', 'The packed file holds far more than its disk.'),
})
