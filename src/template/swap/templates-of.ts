import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import type { UndoContext } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { TemplatesPort } from '../../platforms/ports/templates.ts'

/** Lends the templates of a target to an undo; a target that was removed has nothing to be undone by us. */
export const templatesOf = async (
  { db, usePlatform }: Pick<UndoContext, 'db' | 'usePlatform'>,
  targetId: string,
  work: (templates: TemplatesPort) => Promise<void>,
): Promise<void> => {
  const site = await loadSiteById(db, targetId)
  if (site) await usePlatform(site, (platform) => work(portOf(platform, 'templates')))
}
