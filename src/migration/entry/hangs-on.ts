import type { Tx } from '../../../db/client.ts'
import type { EntryAtWork } from '../../../db/queries/entries/entry-rows.ts'
import { findSiteName } from '../../../db/queries/sites/load-site.ts'
import { dependOn } from '../../domain/job/token.ts'

/** What the work on an entry depends on besides its copies, as tokens. */
export const entryDependsOn = async (tx: Tx, entry: EntryAtWork): Promise<string[]> => {
  const source = await findSiteName(tx, entry.sourceId)
  const target = entry.targetId === null ? undefined : await findSiteName(tx, entry.targetId)
  const placed = entry.placement?.target
  return dependOn({
    source: source ?? null,
    target: target ?? (typeof placed === 'string' ? placed : null),
  })
}
