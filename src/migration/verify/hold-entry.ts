import { type EntryAtWork, lockEntryOfJob } from '../../../db/queries/entry-rows.ts'
import { type Journey, movedOn } from '../journey.ts'

/** The entry as it is now, while this job is the one at it; throws when it is not any more. */
export const holdEntry = ({ turn, entry }: Pick<Journey, 'turn' | 'entry'>): Promise<EntryAtWork> =>
  turn.transaction(async (tx) => {
    const now = await lockEntryOfJob(tx, { entryId: entry.id, jobId: turn.job.id })
    if (!now) throw movedOn(entry.id)
    return now
  })
