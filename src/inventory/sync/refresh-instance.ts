import { readClock } from '../../../db/queries/fleet/read-clock.ts'
import { lockSite } from '../../../db/queries/sites/load-site.ts'
import { bumpRevision } from '../../../db/queries/sync/end-sync.ts'
import { clearStage } from '../../../db/queries/sync/stage-inventory.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { actorOf, type JobContext } from '../../ledger/job.ts'
import type { Platform } from '../../platforms/ports/ports.ts'
import { readInstance } from './look-at-instances.ts'
import { mergeStage } from './merge-stage.ts'
import { siteAbsent, stageOptions } from './read-site.ts'
import { stageItems } from './stage.ts'

/** Reads one machine and records it as a sync would. A missing machine is not removed: only a sync decides that. */
export const refreshInstance = async (
  ctx: JobContext,
  site: SiteRow,
  platform: Platform,
  ref: string,
): Promise<InstanceFacts | null> => {
  const call = { signal: ctx.signal, timeoutMs: 30_000, name: `look-${ctx.job.id}-${ref}` }
  const begunAt = await readClock(ctx.db)
  const item = await readInstance(platform, call, ref)
  if (item.type === 'problem') throw item.error
  if (item.type !== 'instance') return null
  const options = await stageOptions(ctx, site)
  await stageItems([item], options)
  await ctx.lateFencedTransaction(async (tx) => {
    const now = await lockSite(tx, site.id)
    if (!now) throw siteAbsent(site.role, site.name)
    const owner = { jobId: ctx.job.id, epoch: ctx.job.leaseEpoch }
    const at = { ...owner, siteId: now.id, revision: now.revision + 1 }
    const merged = await mergeStage(tx, {
      at,
      site: now,
      begunAt,
      reading: 'part',
      actor: actorOf(ctx),
      quiet: false,
      judgedWith: options.judgedWith,
    })
    if (merged.isChange) await bumpRevision(tx, now.id)
    await clearStage(tx, owner)
  })
  return item.facts
}
