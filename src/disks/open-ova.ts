import { Readable } from 'node:stream'
import { type ArchiveEnd, ArchiveFiles, type ArchiveOptions } from './archive-files.ts'
import { type DiskAt, DiskFiles, type FiledDisk } from './disk-files.ts'
import { descriptorBytesMost, type OvfDescriptor, readOvf } from './ovf/ovf-descriptor.ts'
import type { OvfDisk } from './ovf/ovf-disks.ts'
import { OvfRefusal } from './ovf/ovf-refusal.ts'
import { ownBytes } from './own-bytes.ts'
import type { ByteReader } from './stream/byte-reader.ts'
import { type DiskFormat, wholeDisk } from './stream/disk-content.ts'
import { ImageRefusal } from './stream/image-refusal.ts'
import { endingAfter, pieceBytes } from './stream/pieces.ts'
import type { TarEntry } from './tar/tar-reader.ts'

export interface OvaOptions extends ArchiveOptions {
  /** Capacities by disk id from an earlier reading; they replace the capacities of the descriptor. */
  readonly capacities?: Readonly<Record<string, number>>
}

/** The formats in which a platform can take a disk. */
export type DiskPassage = 'raw' | 'vmdk-stream'

export interface OvaDisk {
  readonly id: string
  /** Empty: the disk has no file and no data. */
  readonly href: string
  readonly capacity: number
  /** The size of the file; null: unknown until the file is read. */
  readonly size: number | null
  /** From the descriptor; of the first disk from its header. */
  readonly format: DiskFormat
  /** Call it once, in the order of the disks. A disk that the platform already has may be skipped. */
  open(as: DiskPassage): Promise<Readable>
}

/**
 * Reads an OVA once, from start to end, at the speed at which the disks are consumed: the source is pulled, and only
 * a few pieces are held in memory. The last piece of each disk is released after the hash of its file was verified,
 * and the last piece of the last disk after the whole archive was verified: a truncated or manipulated archive never
 * looks complete to a platform.
 */
export const openOva = async (source: AsyncIterable<Buffer>, options: OvaOptions = {}): Promise<Ova> => {
  const files = new ArchiveFiles(source, options)
  const entry = await files.next()
  if (!entry || !/\.ovf$/i.test(entry.name))
    throw new ImageRefusal(
      'image-descriptor-missing',
      `The archive begins with ${entry?.name ?? 'nothing'}, not with an OVF descriptor.`,
      { position: entry?.start ?? 0 },
    )
  const bytes = await files.text(entry, descriptorBytesMost)
  const descriptor = parse(bytes, entry)
  const disks = new DiskFiles(files, descriptor)
  // The header of the first disk is read before a platform is asked: its capacity replaces that of the descriptor.
  const first = disks.filed.length > 0 ? await disks.next() : undefined
  return new Ova({ descriptor, disks, first, ovfText: bytes.toString('utf8'), options })
}

const parse = (bytes: Buffer, entry: TarEntry): OvfDescriptor => {
  try {
    return readOvf(bytes)
  } catch (cause) {
    if (!(cause instanceof OvfRefusal)) throw cause
    throw new ImageRefusal(cause.code, cause.message, { entry: entry.name, position: entry.start, cause })
  }
}

interface Opened {
  readonly descriptor: OvfDescriptor
  readonly disks: DiskFiles
  readonly first: DiskAt | undefined
  readonly ovfText: string
  readonly options: OvaOptions
}

export class Ova {
  readonly descriptor: OvfDescriptor
  readonly ovfText: string
  readonly disks: readonly OvaDisk[]
  readonly #diskFiles: DiskFiles
  #at: DiskAt | undefined
  #ended: Promise<ArchiveEnd> | undefined

  constructor({ descriptor, disks, first, ovfText, options }: Opened) {
    this.descriptor = descriptor
    this.ovfText = ovfText
    this.#diskFiles = disks
    this.#at = first
    const empty = descriptor.disks.filter(({ file }) => file === null)
    this.disks = [
      ...disks.filed.map((filed) => this.#diskOf(filed, options.capacities ?? {})),
      ...empty.map((disk) => emptyDisk(disk)),
    ]
  }

  /** Reads to the end and verifies the archive. */
  finish(): Promise<ArchiveEnd> {
    this.#ended ??= this.#diskFiles.end()
    return this.#ended
  }

  #diskOf({ disk, file }: FiledDisk, capacities: Readonly<Record<string, number>>): OvaDisk {
    const at = this.#at?.disk === disk ? this.#at : undefined
    const capacity = at?.content.capacity ?? capacities[disk.id] ?? disk.capacity
    if (capacity === null)
      throw new ImageRefusal('image-descriptor-invalid', `The capacity of disk ${disk.id} is not told.`, {})
    return {
      ...{ id: disk.id, href: file.href, capacity },
      size: at?.size ?? file.size,
      format: at?.content.format ?? (disk.format === 'vmdk' ? 'vmdk-stream' : disk.format),
      open: (as) => this.#open(disk, capacity, as),
    }
  }

  async #open(disk: OvfDisk, capacity: number, as: DiskPassage): Promise<Readable> {
    const { content, reader, first, file } = await this.#goTo(disk)
    if (content.capacity !== capacity)
      throw reader.refuse(
        'image-capacity-differs',
        `Disk ${disk.id} has ${content.capacity} bytes; its descriptor says ${capacity}.`,
        { detail: { disk: disk.id, capacity: content.capacity } },
      )
    if (as === 'vmdk-stream' && (content.format !== 'vmdk-stream' || file.isGzip))
      throw reader.refuse('image-disk-unsupported', 'The platform takes streamOptimized VMDKs alone.')
    reader.onPulled = undefined
    const bytes = as === 'raw' ? wholeDisk(content, reader) : ownBytes(content, reader, first)
    const ending = endingAfter(bytes, () => this.#endDisk(reader))
    return Readable.from(ending, { objectMode: false, highWaterMark: 2 * pieceBytes })
  }

  async #goTo(disk: OvfDisk): Promise<DiskAt> {
    const order = this.#diskFiles.orderOf(disk)
    while (this.#at?.disk !== disk) {
      if (this.#at && this.#diskFiles.orderOf(this.#at.disk) > order)
        throw this.#at.reader.refuse('image-disk-order', `Disk ${disk.id} does not come when it is needed.`)
      this.#at = await this.#diskFiles.next()
    }
    return this.#at
  }

  async #endDisk(reader: ByteReader): Promise<void> {
    if (!(await reader.hasEnded()))
      throw reader.refuse('image-trailing-data', 'The file goes on behind its disk.')
    if (this.#diskFiles.allSeen) await this.finish()
  }
}

const emptyDisk = ({ id, capacity }: OvfDisk): OvaDisk => ({
  ...{ id, href: '', capacity: capacity ?? 0, size: 0, format: 'raw' },
  open: () => Promise.resolve(Readable.from([])),
})
