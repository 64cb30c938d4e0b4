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

/** With more hidden machines than this, asking for the others one by one tells nothing new. */
const manyHidden = 200

/**
 * Asks for each known machine that the reading does not show. Platforms silently omit machines that an account may no
 * longer see, and a view may lose machines: only the platform's answer that there is no such machine counts.
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
    // A machine that exists but was moved out of the scopes is not part of the inventory any more.
    const shown = scopes.length === 0 ? items.filter(({ type }) => type === 'instance') : []
    await stageItems([...problems, ...shown], stage)
    hidden += problems.length
    if (hidden >= manyHidden) return 'many'
  }
  return hidden === 0 ? 'none' : 'some'
}
