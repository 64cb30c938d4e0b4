import { findMissing, findMissingMachines } from '../../../db/queries/sync/missing-instances.ts'
import { readSettings, type SiteRole } from '../../domain/inventory/site-settings.ts'
import { type LookOptions, lookAtEach } from './look-at-instances.ts'
import { type StageOptions, stageItems } from './stage.ts'

/**
 * - `none`: what the reading does not show is gone.
 * - `some`: what may be there all the same is staged as a problem of its own.
 * - `many`: so much that nothing may be concluded from what is not shown.
 */
export type Hidden = 'none' | 'some' | 'many'

/** With so many that are only hidden, asking for each of the others tells nothing new. */
const manyHidden = 200

/**
 * Asks for each known machine that the reading does not show. A platform leaves out without a word what an account
 * may not see any more, and a view may lose what is there: only its answer that there is no such machine says so.
 */
export const stageHidden = async (
  options: LookOptions,
  stage: StageOptions,
  reading: 'full' | 'delta',
): Promise<Hidden> => {
  const { ctx, site } = options
  const at = { siteId: site.id, jobId: ctx.job.id, epoch: ctx.job.leaseEpoch }
  const find = site.role === 'source' ? findMissing : findMissingMachines
  const missing = await find(ctx.db, at, reading === 'full')
  const { scopes } = readSettings(site.role as SiteRole, site.settings)
  let hidden = 0
  for await (const items of lookAtEach(options, missing)) {
    const problems = items.filter(({ type }) => type === 'problem')
    // One that is there, and is not shown because it was moved out of the scopes, is none of ours any more.
    const shown = scopes.length === 0 ? items.filter(({ type }) => type === 'instance') : []
    await stageItems([...problems, ...shown], stage)
    hidden += problems.length
    if (hidden >= manyHidden) return 'many'
  }
  return hidden === 0 ? 'none' : 'some'
}
