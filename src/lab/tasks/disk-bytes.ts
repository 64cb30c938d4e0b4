import type { Db, Queryable, Tx } from '../../../db/client.ts'
import type { StorageFacts } from '../../domain/inventory/facts.ts'
import type { WireExtent } from '../../platforms/lab/protocol.ts'
import { wireLimits } from '../../platforms/lab/wire-limits.ts'
import { blockBytes, isData, originalBlock } from '../model/disk-content.ts'
import { invalid, refuse } from '../model/refusal.ts'
import { knownBlocks, readBlocks, runsSince, writeBlocks, writtenBlocks } from '../store/blocks.ts'
import { type Disk, type DiskView, lockDisk, noteWrite, pathOf } from '../store/disks.ts'
import { findEntity, storageFacts, storageUse } from '../store/entities.ts'
import { holdPower } from '../store/machines.ts'

const checkRange = (disk: Disk, offset: number, length: number): void => {
  if (length < 1 || length > wireLimits.rangeBytes)
    throw invalid(`A range has 1 to ${wireLimits.rangeBytes} bytes, not ${length}.`)
  if (offset < 0 || offset + length > disk.capacity)
    throw invalid(`${length} bytes at ${offset} are beyond the end of the disk at ${disk.capacity}.`)
}

export const readBytes = async (db: Queryable, view: DiskView, range: WireExtent): Promise<Buffer> => {
  checkRange(view.disk, range.offset, range.length)
  const from = Math.floor(range.offset / blockBytes)
  const to = Math.ceil((range.offset + range.length) / blockBytes)
  const written = await readBlocks(db, view.path, { from, to })
  const whole = Buffer.alloc((to - from) * blockBytes)
  for (let block = from; block < to; block += 1) {
    const stored = written.get(block)
    const bytes = stored === undefined ? originalBlock(view.disk, block) : stored
    bytes?.copy(whole, (block - from) * blockBytes)
  }
  const start = range.offset - from * blockBytes
  return whole.subarray(start, start + range.length)
}

/** Writes as one change of the disk, durable when it resolves. Nobody but its guest writes to a disk that is in use. */
export const writeBytes = async (
  db: Db,
  where: { site: string; machine: string; key: string; offset: number },
  bytes: Buffer,
): Promise<void> => {
  await db.begin(async (tx) => {
    const disk = await lockDisk(tx, where.site, where.machine, where.key)
    if ((await holdPower(tx, where.site, where.machine)) === 'on')
      throw refuse(
        'platform-refused',
        `"${where.machine}" runs: its guest alone writes to its disks.`,
        'Stop it first.',
      )
    await writeLocked(tx, disk, { offset: where.offset, bytes })
  })
}

export const writeLocked = async (
  tx: Tx,
  disk: Disk,
  write: { offset: number; bytes: Buffer },
): Promise<void> => {
  const { offset, bytes } = write
  checkRange(disk, offset, bytes.length)
  const path = await pathOf(tx, disk.layer)
  const first = Math.floor(offset / blockBytes)
  const to = Math.ceil((offset + bytes.length) / blockBytes)
  const whole = await aroundBlocks(
    tx,
    { disk, path, epoch: disk.epoch, tracking: null },
    { first, to, write },
  )
  const grown = await newBytes(tx, disk, { path, first, to })
  if (grown > 0) await checkSpace(tx, disk, grown)
  const epoch = await noteWrite(tx, disk, disk.thin ? grown : 0)
  await writeBlocks(tx, { layer: disk.layer, epoch, first }, whole)
}

/** The write, filled up to whole blocks with what is there. */
const aroundBlocks = async (
  tx: Tx,
  view: DiskView,
  at: { first: number; to: number; write: { offset: number; bytes: Buffer } },
): Promise<Buffer> => {
  const { first, to, write } = at
  const start = write.offset - first * blockBytes
  const size = (to - first) * blockBytes
  if (start === 0 && write.bytes.length === size) return write.bytes
  const whole = Buffer.alloc(size)
  for (const block of new Set([first, to - 1])) {
    const offset = block * blockBytes
    const length = Math.min(blockBytes, view.disk.capacity - offset)
    const old = await readBytes(tx, view, { offset, length })
    old.copy(whole, (block - first) * blockBytes)
  }
  write.bytes.copy(whole, start)
  return whole
}

/** Bytes that this write takes in addition on thin storage. */
const newBytes = async (
  tx: Tx,
  disk: Disk,
  range: { path: readonly number[]; first: number; to: number },
): Promise<number> => {
  const known = await knownBlocks(tx, range.path, { from: range.first, to: range.to })
  let count = 0
  for (let block = range.first; block < range.to; block += 1)
    if (!known.has(block) && !isData(disk.profile, block)) count += 1
  return count * blockBytes
}

const checkSpace = async (tx: Tx, disk: Disk, bytes: number): Promise<void> => {
  const storage = await findEntity<StorageFacts>(tx, disk.site, { type: 'storage', ref: disk.storage })
  if (!storage) return
  if (storage.trouble.full) throw noSpace(storage.name, bytes)
  if (!disk.thin) return
  const used = (await storageUse(tx, disk.site)).get(disk.storage) ?? 0
  if (storageFacts(storage, used).free < bytes) throw noSpace(storage.name, bytes)
}

export const noSpace = (storage: string, bytes: number) =>
  refuse(
    'platform-no-capacity',
    `Storage "${storage}" has no room for ${bytes} bytes more.`,
    'Free some space.',
  )

const pageBlocks = 4_096
const pageExtents = 10_000

/** Where data may be, from `offset` on: one page. Everything else reads as zeros. */
export const listExtents = async (
  db: Queryable,
  view: DiskView,
  offset: number,
): Promise<{ extents: WireExtent[]; next_offset: number | null }> => {
  const { capacity, profile } = view.disk
  const from = Math.floor(offset / blockBytes)
  const written = await writtenBlocks(db, view.path, { from, limit: pageBlocks + 1 })
  const last = written.length > pageBlocks ? written[pageBlocks] : undefined
  const end = last ? last.block * blockBytes : capacity
  const zeros = new Set(written.filter(({ zero }) => zero).map(({ block }) => block))
  const pieces = [
    ...profile.data.flatMap((range) => withoutBlocks(range, zeros)),
    ...written
      .filter(({ block, zero }) => !zero && block * blockBytes < end)
      .map(({ block }) => ({ offset: block * blockBytes, length: blockBytes })),
  ]
  const extents = joined(clipped(pieces, { from: offset, to: end }))
  const cut = extents[pageExtents]
  const next = cut ? cut.offset : end
  return { extents: extents.slice(0, pageExtents), next_offset: next >= capacity ? null : next }
}

const withoutBlocks = (range: readonly [number, number], zeros: ReadonlySet<number>): WireExtent[] => {
  let start = range[0]
  const end = range[0] + range[1]
  const parts: WireExtent[] = []
  const holes = [...zeros].filter((block) => block * blockBytes >= start && block * blockBytes < end)
  for (const block of holes.sort((a, b) => a - b)) {
    const hole = block * blockBytes
    if (hole > start) parts.push({ offset: start, length: hole - start })
    start = hole + blockBytes
  }
  if (start < end) parts.push({ offset: start, length: end - start })
  return parts
}

const clipped = (extents: readonly WireExtent[], to: { from: number; to: number }): WireExtent[] =>
  extents.flatMap(({ offset, length }) => {
    const start = Math.max(offset, to.from)
    const end = Math.min(offset + length, to.to)
    return end > start ? [{ offset: start, length: end - start }] : []
  })

/** In order, neighbours and overlaps as one. */
export const joined = (extents: readonly WireExtent[]): WireExtent[] => {
  const result: WireExtent[] = []
  for (const extent of [...extents].sort((a, b) => a.offset - b.offset)) {
    const last = result.at(-1)
    if (last && extent.offset <= last.offset + last.length)
      result[result.length - 1] = {
        offset: last.offset,
        length: Math.max(last.length, extent.offset + extent.length - last.offset),
      }
    else result.push(extent)
  }
  return result
}

const changedMax = 100_000

/** What was written since `changeId`; `*` is everything that is in use. */
export const changedBlocks = async (
  db: Queryable,
  view: DiskView,
  changeId: string,
): Promise<{ extents: WireExtent[]; change_id: string }> => {
  if (view.tracking === null) {
    if (changeId === '*')
      throw refuse(
        'platform-refused',
        'Changed blocks of this disk are not tracked.',
        'Switch tracking on first.',
      )
    throw cursorLost()
  }
  const change_id = `${view.tracking}/${view.epoch}`
  if (changeId === '*') return { extents: await allExtents(db, view), change_id }
  const [tracking, epoch] = changeId.split('/')
  if (tracking !== view.tracking || !/^\d+$/.test(epoch ?? '') || Number(epoch) > view.epoch)
    throw cursorLost()
  const runs = await runsSince(db, view.path, Number(epoch))
  const extents = runs.map((run) => ({
    offset: run.from * blockBytes,
    length: Math.min(run.to * blockBytes, view.disk.capacity) - run.from * blockBytes,
  }))
  return { extents: fewer(extents), change_id }
}

const cursorLost = () =>
  refuse(
    'platform-cursor-lost',
    'Tracking was switched off or begun anew since that change id.',
    'Copy the whole disk, then go on from its new change id.',
  )

const allExtents = async (db: Queryable, view: DiskView): Promise<WireExtent[]> => {
  const all: WireExtent[] = []
  for (let offset: number | null = 0; offset !== null; ) {
    const page = await listExtents(db, view, offset)
    all.push(...page.extents)
    offset = page.next_offset
  }
  return fewer(joined(all))
}

/** Joins neighbours, nearest first, until the list is bounded: it then says too much, never too little. */
const fewer = (extents: WireExtent[]): WireExtent[] => {
  for (let gap = blockBytes; extents.length > changedMax; gap *= 2) {
    extents = joined(extents.map(({ offset, length }) => ({ offset, length: length + gap }))).map(
      ({ offset, length }) => ({ offset, length: length - gap }),
    )
  }
  return extents
}
