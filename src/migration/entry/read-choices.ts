import type { Queryable } from '../../../db/client.ts'
import type { EntryDetail } from '../../../db/queries/entries/list-entries.ts'
import type { BatchState } from '../../domain/migration/batch/batch-table.ts'
import { type Choice, describeChoices } from '../../domain/migration/batch/describe-choices.ts'
import { placeOf } from './apply-entry.ts'
import { readBatchView } from './batch-view.ts'
import { hasLeftovers } from './entry-verbs.ts'
import { askWindow } from './project-window.ts'

/** What each verb would do to an entry now, shown to a person before the choice. */
export const readChoices = async (db: Queryable, entry: EntryDetail): Promise<Choice[]> => {
  const batch = await readBatchView(db, entry.batchId)
  const window = batch && (await askWindow(db, batch, entry))
  return describeChoices({
    place: placeOf(entry),
    reason: entry.reason,
    batchState: entry.batchState as BatchState,
    batchForces: batch?.defaults.force_conflict_resolution ?? false,
    sourceOff: entry.sourceStoppedAt !== null && entry.state !== 'finished',
    leftovers: hasLeftovers(entry),
    blocked: entry.reasons.some(({ code }) => code !== entry.reason),
    busy: entry.jobOpen && entry.jobKind !== 'withdraw-entry',
    window: window ?? { is: 'none', why: 'over' },
  })
}
