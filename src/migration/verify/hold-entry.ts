import type { Tx } from '../../../db/client.ts'
import { listWindows } from '../../../db/queries/batches/batch-rows.ts'
import { type EntryAtWork, lockEntryOfJob } from '../../../db/queries/entries/entry-rows.ts'
import { hasEnded } from '../../domain/migration/schedule/windows.ts'
import { DroverError } from '../../errors.ts'
import { viewWindow } from '../entry/batch-view.ts'
import { type EntryWork, movedOn } from '../entry/entry-work.ts'

/** The entry as it is now, while it belongs to this job; throws when it does not, or when `check` does. */
export const holdEntry = (
  { ctx, entry }: Pick<EntryWork, 'ctx' | 'entry'>,
  check?: (tx: Tx, now: EntryAtWork) => Promise<void>,
): Promise<EntryAtWork> =>
  ctx.transaction(async (tx) => {
    const now = await lockEntryOfJob(tx, { entryId: entry.id, jobId: ctx.job.id })
    if (!now) throw movedOn(entry.id)
    await check?.(tx, now)
    return now
  })

/** Throws when the window of the entry has ended by the database's clock: its job is about to be cancelled. */
export const requireWindow = async (tx: Tx, { batchId, windowId, now }: EntryAtWork): Promise<void> => {
  if (windowId === null) return
  const held = (await listWindows(tx, batchId)).find(({ id }) => id === windowId)
  if (!held || !hasEnded(viewWindow(held), now.getTime())) return
  throw new DroverError({
    code: 'window-ended',
    class: 'transient',
    message: `The window "${held.name}" is over.`,
    remedy: 'Nothing to do: the entry is let go and its source is started again.',
  })
}
