import type { UndoContext } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { TemplatesPort } from '../../platforms/ports/templates.ts'
import type { SwapRows } from './swap-rows.ts'

/** Lends the templates of a target to an undo; a target that was removed has nothing to be undone by us. */
export const templatesOf = async (
  rows: Pick<SwapRows, 'loadSiteById'>,
  { db, usePlatform }: Pick<UndoContext, 'db' | 'usePlatform'>,
  targetId: string,
  work: (templates: TemplatesPort) => Promise<void>,
): Promise<void> => {
  const site = await rows.loadSiteById(db, targetId)
  if (site) await usePlatform(site, (platform) => work(portOf(platform, 'templates')))
}
