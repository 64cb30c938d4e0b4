import type { UndoContext } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { TemplatesPort } from '../../platforms/ports/templates.ts'
import type { SwapRows } from './swap-rows.ts'

/** Opens the templates port of a target for an undo. For a removed target nothing is left to undo. */
export const templatesOf = async (
  rows: Pick<SwapRows, 'loadSiteById'>,
  { db, usePlatform }: Pick<UndoContext, 'db' | 'usePlatform'>,
  targetId: string,
  work: (templates: TemplatesPort) => Promise<void>,
): Promise<void> => {
  const site = await rows.loadSiteById(db, targetId)
  if (site) await usePlatform(site, (platform) => work(portOf(platform, 'templates')))
}
