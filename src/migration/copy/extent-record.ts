import { type DiskCycle, writeDiskCycle } from '../../../db/queries/copies/entry-disks.ts'
import { type ExtentDigest, recordExtents } from '../../../db/queries/copies/entry-extents.ts'
import type { JobContext } from '../../ledger/job.ts'
import type { DiskPlan } from './plan-disk.ts'

/** The most extents announced at once. */
const announceAhead = 64
const rowsMax = 512

/**
 * Records which extents are about to be written and which were written. One statement runs at a time, and requests
 * that arrive meanwhile share the next one: a fast copy is not slowed down, and an interrupted copy loses almost
 * nothing.
 */
export class ExtentRecord {
  readonly #ctx: JobContext
  readonly #plan: DiskPlan
  readonly #ahead: Generator<number>
  #pending: ExtentDigest[] = []
  #writing: Promise<void> | undefined
  #announcing: Promise<void> | undefined
  /** Handed out and not recorded yet. */
  readonly #loose: Set<number>
  #announced: number[] = []

  constructor(ctx: JobContext, plan: DiskPlan) {
    this.#ctx = ctx
    this.#plan = plan
    this.#ahead = plan.extents[Symbol.iterator]()
    this.#loose = new Set(plan.cycle.doubt)
  }

  /** The next extent to send. Its announcement is recorded first, so a half-written extent is always known. */
  async next(): Promise<number | undefined> {
    while (this.#announced.length === 0) {
      this.#announcing ??= this.#announce().finally(() => {
        this.#announcing = undefined
      })
      await this.#announcing
      if (this.#announced.length === 0) return undefined
    }
    return this.#announced.shift()
  }

  /** The extent is on the target. Returns when there is room for more: at once, unless Postgres is slow. */
  async add(extent: ExtentDigest): Promise<void> {
    this.#pending.push(extent)
    const writing = this.#write()
    if (this.#pending.length >= rowsMax) await writing
    else writing.catch(() => {})
  }

  /** Waits until everything that was added is recorded. */
  async flush(): Promise<void> {
    while (this.#pending.length > 0 || this.#writing) await this.#write()
  }

  async #announce(): Promise<void> {
    const coming: number[] = []
    while (coming.length < announceAhead) {
      const { value, done } = this.#ahead.next()
      if (done) break
      coming.push(value as number)
    }
    if (coming.length === 0) return
    for (const at of coming) this.#loose.add(at)
    const cycle: DiskCycle = { ...this.#plan.cycle, doubt: [...this.#loose] }
    const { entryId, disk } = this.#plan.row
    await this.#ctx.transaction((tx) => writeDiskCycle(tx, { entryId, disk, cycle }))
    this.#announced.push(...coming)
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeOnce().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeOnce(): Promise<void> {
    // Requests of the same moment share the statement.
    await Promise.resolve()
    while (this.#pending.length > 0) {
      const extents = this.#pending
      this.#pending = []
      const { row, cycle } = this.#plan
      try {
        await this.#ctx.transaction((tx) =>
          recordExtents(tx, { entryId: row.entryId, disk: row.disk, cycle: cycle.n, extents }),
        )
      } catch (error) {
        this.#pending.unshift(...extents)
        throw error
      }
      for (const { at } of extents) this.#loose.delete(at)
    }
  }
}
