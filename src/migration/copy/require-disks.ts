import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import { whyNeverCopied } from '../../domain/inventory/copy-way.ts'
import { DroverError } from '../../errors.ts'
import type { CopyTask } from './copy-task.ts'

/**
 * Every disk of the record takes part in the copy. Entries of older versions may lack disks: that is reported before
 * their sources are switched off, not after.
 */
export const requireDisks = async ({ entryWork }: CopyTask): Promise<void> => {
  const rows = await listEntryDisks(entryWork.ctx.db, entryWork.entry.id)
  const placed = new Set(rows.map(({ disk }) => disk))
  const left = entryWork.facts.disks.filter(
    (disk) => whyNeverCopied(disk) !== undefined || !placed.has(disk.key),
  )
  if (left.length === 0) return
  const told = left.map((disk) => {
    const why = whyNeverCopied(disk)
    return `${disk.label || disk.key} ${why ?? 'has no disk on the target'}`
  })
  throw new DroverError({
    code: 'disks-left-out',
    class: 'conflict',
    message: `Disks of the source are not part of the copy: ${told.join('; ')}.`,
    remedy: 'Retry the entry: its disks are judged anew, and its machine is made with all of them.',
    detail: { disks: left.map(({ key }) => key) },
  })
}
