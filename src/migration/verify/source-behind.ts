import { z } from 'zod'
import { type EntryDiskRow, listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import { isWrongState } from '../../platforms/ports/platform-error.ts'
import { sourceOf } from '../copy/copy-task.ts'
import { compareExtents } from './compare-extents.ts'
import { findStaleNow } from './look-at-source.ts'
import { requireSourceOff } from './start-target.ts'
import type { VerifyTask } from './verify-task.ts'

/** How a disk of the source is known to be unchanged since its copy. */
export interface DiskStands {
  readonly disk: string
  readonly by: 'tracking' | 'reading'
}

export type SourceStands =
  | { readonly is: 'behind'; readonly why: string }
  | { readonly is: 'same'; readonly disks: readonly DiskStands[] }

const noteEveryMs = 10_000

/**
 * Whether the copy is as new as its source. Change tracking tells; without it, a source that was started and stopped
 * again looks unchanged, so its disks are read again and compared with the copy.
 *
 * `before-start`: prevents the start of a target whose copy is behind. Continues where an earlier turn was
 * interrupted. `before-finish`: the last check, because a target takes time to start. Reads everything in one turn:
 * what an earlier turn has read proves nothing.
 */
export const compareWithSource = async (
  task: VerifyTask,
  moment: 'before-start' | 'before-finish',
): Promise<SourceStands> => {
  const { ctx, entry } = task.entryWork
  const { why, proved, untold } = await findStaleNow(task)
  if (why !== undefined) return { is: 'behind', why }
  const rows = (await listEntryDisks(ctx.db, entry.id)).filter(({ disk }) => untold.includes(disk))
  const total = rows.reduce((sum, { capacity }) => sum + capacity, 0)
  let before = 0
  for (const row of rows) {
    const tell = (done: number) => ctx.progress({ done: before + done, total, phase: 'verify-source' })
    const same = await (moment === 'before-start' ? readOnce : readNow)(task, row, tell).catch((error) =>
      whyUnread(task, error),
    )
    if (!same) return { is: 'behind', why: writtenUnseen(row.disk) }
    before += row.capacity
    tell(0)
  }
  // Disks read while the source ran would prove nothing.
  if (rows.length > 0) await requireSourceOff(task)
  const tracked = proved.map((disk) => ({ disk, by: 'tracking' as const }))
  return { is: 'same', disks: [...tracked, ...rows.map(({ disk }) => ({ disk, by: 'reading' as const }))] }
}

/** A disk outside every snapshot cannot be read while the source runs: the person is told that it runs. */
const whyUnread = async (task: VerifyTask, error: unknown): Promise<never> => {
  if (isWrongState(error)) await requireSourceOff(task)
  throw error
}

const writtenUnseen = (disk: string): string =>
  `The source was written to after it was copied: disk ${disk} is not tracked, was read again and differs.`

type Read = (task: VerifyTask, row: EntryDiskRow, tell: (done: number) => void) => Promise<boolean>

const sourceDisk = (task: VerifyTask, { disk }: EntryDiskRow) => {
  const { platform, name, ref: machine } = sourceOf(task)
  return { platform, name, ref: { machine, disk }, called: 'source' }
}

const readNow: Read = async (task, row, tell) => {
  const compared = await compareExtents(task, row, sourceDisk(task, row), { tell, firstOnly: true })
  return compared.count === 0
}

const storedRead = z.object({
  /** Disks that were read to the end. */
  done: z.array(z.string()),
  /** The disk in progress, and the extent up to which it was equal. */
  disk: z.string(),
  next: z.int(),
})

const readOnce: Read = async (task, row, tell) => {
  const { ctx } = task.entryWork
  const stored = storedRead.safeParse(ctx.checkpointed?.source_read)
  const known = stored.success ? stored.data : { done: [], disk: '', next: 0 }
  if (known.done.includes(row.disk)) return true
  const keep = (read: z.infer<typeof storedRead>) =>
    ctx.checkpoint({ ...ctx.checkpointed, source_read: read })
  let notedMs = ctx.clock.monotonicMs()
  const compared = await compareExtents(task, row, sourceDisk(task, row), {
    tell,
    firstOnly: true,
    from: known.disk === row.disk ? known.next : 0,
    reached: async (next) => {
      if (ctx.clock.monotonicMs() - notedMs < noteEveryMs) return
      await keep({ ...known, disk: row.disk, next })
      notedMs = ctx.clock.monotonicMs()
    },
  })
  if (compared.count > 0) return false
  await keep({ done: [...known.done, row.disk], disk: '', next: 0 })
  return true
}
