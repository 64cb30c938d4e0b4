import { createHash } from 'node:crypto'
import {
  type DiskProof,
  type EntryDiskRow,
  listEntryDisks,
  setBackDisk,
  writeDiskCycle,
} from '../../../db/queries/entry-disks.ts'
import { recordedDigests } from '../../../db/queries/extent-digests.ts'
import { readClock } from '../../../db/queries/read-clock.ts'
import { DroverError } from '../../errors.ts'
import type { DiskRef } from '../../platforms/ports/disks.ts'
import { portOf } from '../../platforms/ports.ts'
import { again } from '../copy/again.ts'
import { callOf, targetOf, taskMs } from '../copy/copy-task.ts'
import { ExtentMap } from '../copy/extent-map.ts'
import type { VerifyTask } from './verify-task.ts'

/** Where a disk of the target is not what was copied. */
export interface DiskDifference {
  readonly disk: string
  readonly count: number
  /** Numbers of the extents. */
  readonly at: readonly number[]
}

export type DisksProved =
  | { readonly is: 'same'; readonly disks: readonly ProvedDisk[] }
  | { readonly is: 'different'; readonly differences: readonly DiskDifference[] }

export interface ProvedDisk {
  readonly row: EntryDiskRow
  readonly proof: DiskProof
}

const lanesMax = 4
/** Extents that are zeros on both sides cost nothing but their digest: so many between two safe points. */
const holesAtOnce = 4_096
/** So many are copied again one by one; beyond, the whole disk is. */
const namedMax = 1_000

/**
 * Reads the target's disks back and compares them with what was read from the source, extent by extent. Once the
 * target has run it is its own: what was proved before its first start counts, as long as nothing is copied anew.
 */
export const proveDisks = async (task: VerifyTask): Promise<DisksProved> => {
  const { turn, entry, facts } = task.journey
  const rows = await listEntryDisks(turn.db, entry.id)
  for (const { key } of facts.disks) if (!rows.some(({ disk }) => disk === key)) throw notCopied(key)
  const total = rows.reduce((sum, { capacity }) => sum + capacity, 0)
  let before = 0
  const disks: ProvedDisk[] = []
  const differences: DiskDifference[] = []
  for (const row of rows) {
    const known = row.cycle?.proof
    const counts = known && (known.started || known.job === turn.job.id)
    const tell = (done: number) => turn.progress({ done: before + done, total, phase: 'verify' })
    const read = counts ? undefined : await readBack(task, row, tell)
    if (read?.different.count) differences.push(read.different)
    else disks.push({ row, proof: known && counts ? known : await keepProof(task, row, read) })
    before += row.capacity
    tell(0)
  }
  return differences.length > 0 ? { is: 'different', differences } : { is: 'same', disks }
}

/**
 * What a target has written for itself since it was started is not of its source: the next copy writes over it. The
 * caller has proved it off.
 */
export const doubtWhatRan = async (task: VerifyTask): Promise<void> => {
  const { turn, entry } = task.journey
  const rows = await listEntryDisks(turn.db, entry.id)
  for (const row of rows) {
    if (!row.cycle?.proof?.started) continue
    const { different } = await readBack(task, row, () => {})
    await turn.transaction(async (tx) => {
      const now = (await listEntryDisks(tx, entry.id)).find(({ disk }) => disk === row.disk)
      if (now?.cycle?.n === row.cycle?.n && now) await setBackDisk(tx, now, different)
    })
  }
}

interface ReadBack {
  readonly different: DiskDifference
  readonly source: string
  readonly target: string
  readonly copied: number
}

/** In order and bounded: a few extents at a time, whatever the disk holds. */
const readBack = async (
  task: VerifyTask,
  row: EntryDiskRow,
  tell: (done: number) => void,
): Promise<ReadBack> => {
  const { turn, entry } = task.journey
  const { ref: machine } = targetOf(task)
  const ref: DiskRef = { machine, disk: row.targetDisk }
  const data = await dataOf(task, ref, row.capacity)
  const source = createHash('sha256')
  const target = createHash('sha256')
  const different: number[] = []
  let count = 0
  let copied = 0
  let next = 0
  const zeros = zeroDigests()
  const isHole = (expected: ReadonlyMap<number, Buffer>, at: number) => !expected.has(at) && !data.has(at)
  const compare = async (expected: ReadonlyMap<number, Buffer>, to: number) => {
    while (next < to) {
      await task.pace()
      for (const end = Math.min(to, next + holesAtOnce); next < end && isHole(expected, next); next += 1) {
        const hole = zeros(data.rangeOf(next).length)
        source.update(hole)
        target.update(hole)
      }
      const many = Math.min(lanesMax, to - next)
      const ats = Array.from({ length: many }, (_, index) => next + index)
      const found = await Promise.all(
        ats.map((at) => {
          const { length } = data.rangeOf(at)
          return isHole(expected, at) ? Promise.resolve(zeros(length)) : digestAt(task, ref, data, at)
        }),
      )
      for (const [index, at] of ats.entries()) {
        const wanted = expected.get(at) ?? zeros(data.rangeOf(at).length)
        const seen = found[index] ?? Buffer.alloc(0)
        source.update(wanted)
        target.update(seen)
        if (wanted.equals(seen)) continue
        count += 1
        if (different.length < namedMax) different.push(at)
      }
      next += many
      tell(Math.min(next * data.rangeOf(0).length, row.capacity))
    }
  }
  for await (const page of recordedDigests(turn.db, { entryId: entry.id, disk: row.disk })) {
    copied += page.length
    await compare(new Map(page.map(({ at, digest }) => [at, digest])), 1 + (page.at(-1)?.at ?? -1))
  }
  await compare(new Map(), data.length)
  return {
    different: { disk: row.disk, count, at: different },
    source: source.digest('hex'),
    target: target.digest('hex'),
    copied,
  }
}

/** Where the target says that it holds anything: the rest of a thin disk need not be read to be zeros. */
const dataOf = async (task: VerifyTask, ref: DiskRef, capacity: number): Promise<ExtentMap> => {
  const map = new ExtentMap(capacity)
  const disks = portOf(task.ends.target, 'disks')
  await again(task.journey.turn.signal, async () => {
    for await (const page of disks.extents(callOf(task, `data-${ref.disk}`, taskMs), ref))
      for (const extent of page) map.addBytes(extent)
  })
  return map
}

const digestAt = (task: VerifyTask, ref: DiskRef, map: ExtentMap, at: number): Promise<Buffer> => {
  const range = map.rangeOf(at)
  const { signal } = task.journey.turn
  return task.budget.spend(range.length, signal, async () => {
    const disks = portOf(task.ends.target, 'disks')
    const bytes = await again(signal, () => disks.read(callOf(task, `back-${at}`), ref, range))
    return createHash('sha256').update(bytes).digest()
  })
}

const zeroDigests = () => {
  const known = new Map<number, Buffer>()
  return (length: number): Buffer => {
    const digest = known.get(length) ?? createHash('sha256').update(Buffer.alloc(length)).digest()
    known.set(length, digest)
    return digest
  }
}

const keepProof = (task: VerifyTask, row: EntryDiskRow, read: ReadBack | undefined): Promise<DiskProof> => {
  const { turn, entry } = task.journey
  return turn.transaction(async (tx) => {
    const now = (await listEntryDisks(tx, entry.id)).find(({ disk }) => disk === row.disk)
    if (!now?.cycle || !read || now.cycle.n !== row.cycle?.n) throw notCopied(row.disk)
    const proof: DiskProof = {
      job: turn.job.id,
      source: read.source,
      target: read.target,
      copied: read.copied,
      read_at: (await readClock(tx)).toISOString(),
      started: false,
    }
    await writeDiskCycle(tx, { entryId: entry.id, disk: row.disk, cycle: { ...now.cycle, proof } })
    return proof
  })
}

const notCopied = (disk: string): DroverError =>
  new DroverError({
    code: 'disk-not-copied',
    class: 'conflict',
    message: `Disk ${disk} has no whole copy.`,
    remedy: 'Cancel the entry with force, then retry it: all of it is copied anew.',
    detail: { disk },
  })
