import { createHash } from 'node:crypto'
import type { EntryDiskRow } from '../../../db/queries/copies/entry-disks.ts'
import { recordedDigests } from '../../../db/queries/copies/extent-digests.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { DiskRef } from '../../platforms/ports/disks.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import { callOf, spenderOf, taskMs } from '../copy/copy-task.ts'
import { ExtentMap } from '../copy/extent-map.ts'
import type { VerifyTask } from './verify-task.ts'

/** A disk of the source or the target, as it is now. */
export interface ReadDisk {
  readonly platform: Platform
  /** Of the source or target. */
  readonly name: string
  readonly ref: DiskRef
  /** Tells the names of its calls from those of the other disk. */
  readonly called: string
}

export interface ComparedDisk {
  /** Extents that differ from the record; `at` names the first of them. */
  readonly count: number
  readonly at: readonly number[]
  /** SHA-256 over the digests of the compared extents: as recorded, and as read. */
  readonly expected: string
  readonly seen: string
  /** Extents that have a record; the others are zeros. */
  readonly copied: number
}

export interface CompareOptions {
  readonly tell: (bytes: number) => void
  /** The first extent to compare; the digests cover the whole disk only from 0. */
  readonly from?: number
  /** Stops at the first difference. */
  readonly firstOnly?: boolean
  /** Called now and then with the extent up to which everything was equal. */
  readonly reached?: (next: number) => Promise<void>
}

const lanesMax = 4
/** Extents that are zeros on both sides cost only their digest: this many between two safe points. */
const holesAtOnce = 4_096
/** Up to this many extents are copied again one by one; beyond that, the whole disk is copied again. */
const namedMax = 1_000

/**
 * Reads a disk and compares it, extent by extent, with what was read from the source during the copy. In order, and
 * with a few extents in memory at a time.
 */
export const compareExtents = async (
  task: VerifyTask,
  row: EntryDiskRow,
  disk: ReadDisk,
  options: CompareOptions,
): Promise<ComparedDisk> => {
  const { ctx, entry } = task.entryWork
  const { from = 0 } = options
  const run = new Comparing(task, disk, await dataOf(task, disk, row.capacity), options)
  for await (const page of recordedDigests(ctx.db, { entryId: entry.id, disk: row.disk, from })) {
    await run.upTo(1 + (page.at(-1)?.at ?? -1), new Map(page.map(({ at, digest }) => [at, digest])))
    if (run.isOver) return run.result()
  }
  await run.upTo(run.data.length, new Map())
  return run.result()
}

type Digests = ReadonlyMap<number, Buffer>

class Comparing {
  readonly data: ExtentMap
  readonly #task: VerifyTask
  readonly #disk: ReadDisk
  readonly #options: CompareOptions
  readonly #expected = createHash('sha256')
  readonly #seen = createHash('sha256')
  readonly #zeros = zeroDigests()
  readonly #at: number[] = []
  #count = 0
  #copied = 0
  #next: number

  constructor(task: VerifyTask, disk: ReadDisk, data: ExtentMap, options: CompareOptions) {
    this.#task = task
    this.#disk = disk
    this.data = data
    this.#options = options
    this.#next = options.from ?? 0
  }

  get isOver(): boolean {
    return this.#options.firstOnly === true && this.#count > 0
  }

  /** Compares everything up to an extent, with these records and with zeros where there is none. */
  async upTo(to: number, recorded: Digests): Promise<void> {
    this.#copied += recorded.size
    while (this.#next < to && !this.isOver) {
      await this.#task.pace()
      this.#skipHoles(to, recorded)
      await this.#readSome(to, recorded)
      this.#options.tell(Math.min(this.#next * this.data.rangeOf(0).length, this.data.capacity))
      if (!this.isOver) await this.#options.reached?.(this.#next)
    }
  }

  result(): ComparedDisk {
    return {
      count: this.#count,
      at: this.#at,
      expected: this.#expected.digest('hex'),
      seen: this.#seen.digest('hex'),
      copied: this.#copied,
    }
  }

  #isHole(at: number, recorded: Digests): boolean {
    return !recorded.has(at) && !this.data.has(at)
  }

  #skipHoles(to: number, recorded: Digests): void {
    for (
      const end = Math.min(to, this.#next + holesAtOnce);
      this.#next < end && this.#isHole(this.#next, recorded);
      this.#next += 1
    ) {
      const hole = this.#zeros(this.data.rangeOf(this.#next).length)
      this.#expected.update(hole)
      this.#seen.update(hole)
    }
  }

  async #readSome(to: number, recorded: Digests): Promise<void> {
    const many = Math.min(lanesMax, to - this.#next)
    const ats = Array.from({ length: many }, (_, index) => this.#next + index)
    const found = await Promise.all(
      ats.map((at) => {
        const { length } = this.data.rangeOf(at)
        return this.#isHole(at, recorded) ? Promise.resolve(this.#zeros(length)) : this.#digestAt(at)
      }),
    )
    for (const [index, at] of ats.entries()) {
      const expected = recorded.get(at) ?? this.#zeros(this.data.rangeOf(at).length)
      const seen = found[index] ?? Buffer.alloc(0)
      this.#expected.update(expected)
      this.#seen.update(seen)
      if (expected.equals(seen)) continue
      this.#count += 1
      if (this.#at.length < namedMax) this.#at.push(at)
    }
    this.#next += many
  }

  #digestAt(at: number): Promise<Buffer> {
    const { platform, name, ref, called } = this.#disk
    const range = this.data.rangeOf(at)
    const { ctx } = this.#task.entryWork
    const spent = { bytes: range.length, by: spenderOf(this.#task) }
    return this.#task.budget.spend(spent, ctx.signal, async () => {
      const disks = portOf(platform, 'disks')
      const read = () => disks.read(callOf(this.#task, `${called}-${at}`), ref, range)
      const bytes = await again(ctx, read, { of: name })
      return createHash('sha256').update(bytes).digest()
    })
  }
}

/** The extents that hold data according to the platform: the rest of a thin disk need not be read. */
const dataOf = async (
  task: VerifyTask,
  { platform, name, ref, called }: ReadDisk,
  capacity: number,
): Promise<ExtentMap> => {
  const map = new ExtentMap(capacity)
  const disks = portOf(platform, 'disks')
  const readAll = async () => {
    for await (const page of disks.extents(callOf(task, `${called}-data-${ref.disk}`, taskMs), ref))
      for (const extent of page) map.addBytes(extent)
  }
  await again(task.entryWork.ctx, readAll, { of: name })
  return map
}

const zeroDigests = () => {
  const known = new Map<number, Buffer>()
  return (length: number): Buffer => {
    const digest = known.get(length) ?? createHash('sha256').update(Buffer.alloc(length)).digest()
    known.set(length, digest)
    return digest
  }
}
