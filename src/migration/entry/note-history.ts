import type { Tx } from '../../../db/client.ts'
import { insertEntryHistory } from '../../../db/queries/entries/insert-entry-history.ts'
import type { HistoryPhase } from '../../domain/migration/schedule/plan-forecast.ts'
import type { EntryWork } from './entry-work.ts'

/** Records how long a part of an entry took; an interrupted part is left out. */
export const noteHistory = async (
  tx: Tx,
  { entry, source, target }: EntryWork,
  took: { readonly phase: HistoryPhase; readonly bytes: number; readonly tookMs: number | null },
): Promise<void> => {
  const targetId = target?.id ?? entry.targetId
  if (took.tookMs === null || targetId === null) return
  const { phase, bytes, tookMs } = took
  await insertEntryHistory(tx, { sourceId: source.id, targetId, phase, bytes, tookMs: Math.max(0, tookMs) })
}
