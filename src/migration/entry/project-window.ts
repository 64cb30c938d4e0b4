import type { Queryable } from '../../../db/client.ts'
import { countBusy, countHeldWindows } from '../../../db/queries/entries/entry-rows.ts'
import { readEntrySurroundings } from '../../../db/queries/entries/entry-surroundings.ts'
import type { EntryRow } from '../../../db/schema/migration.ts'
import { instanceView } from '../../domain/filter/view.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import { isBeforeWindow } from '../../domain/migration/entry/entry.ts'
import { chooseWindow, type Window, type WindowAnswer } from '../../domain/migration/schedule/windows.ts'
import { placeOf } from './apply-entry.ts'
import { type BatchView, readBatchView } from './batch-view.ts'

type AskedEntry = Pick<
  EntryRow,
  'id' | 'batchId' | 'instanceId' | 'state' | 'stage' | 'facts' | 'placement'
> & {
  readonly now: Date
}

/** The window that an entry would get now; null: none, or it needs none. Nothing is taken. */
export const projectWindow = async (db: Queryable, entry: AskedEntry): Promise<Window | null> => {
  if (!isBeforeWindow(placeOf(entry))) return null
  const batch = await readBatchView(db, entry.batchId)
  const answer = batch && batch.windows.length > 0 ? await askWindow(db, batch, entry) : null
  return answer === null || answer.is === 'none' ? null : answer.window
}

/** The window that the batch would give now, whatever the state of the entry; null: its instance is gone. */
export const askWindow = async (
  db: Queryable,
  batch: BatchView,
  entry: AskedEntry,
): Promise<WindowAnswer | null> => {
  const targetName = String(entry.placement?.target ?? batch.defaults.placement.target)
  const around = await readEntrySurroundings(db, { instanceId: entry.instanceId, targetName })
  if (!around) return null
  const constraint = batch.constraintOf(
    instanceView({
      facts: entry.facts as unknown as EffectiveFacts,
      source: around.sourceName,
      source_kind: around.sourceKind,
      readiness: 'ready',
      findings: around.findings.map(({ rule }) => rule),
    }),
  )
  const busy = constraint
    ? await countBusy(db, { batchId: entry.batchId, constraint: constraint.name, but: entry.id })
    : 0
  return chooseWindow({
    now: entry.now.getTime(),
    windows: batch.windows,
    held: await countHeldWindows(db, entry.batchId),
    own: null,
    constraint,
    busy,
  })
}
