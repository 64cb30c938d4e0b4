import { isDbAway } from '../../../db/client.ts'
import { findRereads } from '../../../db/queries/sites/find-troubles.ts'
import { loadSite, lockSite } from '../../../db/queries/sites/load-site.ts'
import { beginSync, findOtherSync } from '../../../db/queries/sync/begin-sync.ts'
import { clearStage } from '../../../db/queries/sync/stage-inventory.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { crashPoint } from '../../crash-point.ts'
import type { SiteRole } from '../../domain/inventory/site-settings.ts'
import { asDroverError, FencedError } from '../../errors.ts'
import { done, type JobContext, type Outcome, ReleaseRequest, waitFor } from '../../ledger/job.ts'
import type { Sealer } from '../../seal/seal.ts'
import { keptIdentity, requireSameInstallation, requireTrusted } from '../connection/connectivity.ts'
import { endReading, knowsMachines } from './end-reading.ts'
import { recordFailure } from './fail-reading.ts'
import { readSite, type SiteReading, siteAbsent } from './read-site.ts'
import { watchForTwins } from './running-twice.ts'
import { openCursor } from './sync-cursor.ts'

export interface AskedSync {
  readonly role: SiteRole
  readonly name: string
  readonly mode: 'full' | 'delta'
  readonly force: boolean
}

/** The wait for another sync to end before the next look. */
const busyMs = 2_000
/** Deltas are trusted for this long; then everything is read again. */
const fullEveryMs = 24 * 3_600_000

/**
 * Reads a source or target and makes the reading its inventory, in one transaction. A failed reading concludes nothing
 * and leaves the inventory as it is.
 */
export const syncSite = async (ctx: JobContext, sealer: Sealer, asked: AskedSync): Promise<Outcome> => {
  const found = await loadSite(ctx.db, asked)
  if (!found) throw siteAbsent(asked.role, asked.name)
  const begun = await begin(ctx, found.id)
  if (begun.type === 'busy')
    return waitFor({
      reason: 'another-sync',
      detail: `Job ${begun.by} syncs ${asked.name} now; this one goes on after it.`,
      forMs: busyMs,
    })
  const { site, begunAt } = begun
  try {
    const reading = await read(ctx, sealer, site, asked)
    crashPoint('after-stage')
    ctx.safePoint()
    crashPoint('before-merge')
    const options = { ctx, site, begunAt, reading, force: asked.force, sealer }
    const result = await ctx.lateFencedTransaction((tx) => endReading(tx, options))
    crashPoint('after-merge')
    await clearStage(ctx.db, { jobId: ctx.job.id, epoch: ctx.job.leaseEpoch })
    await watchForTwins(ctx, site)
    return done({ ...result })
  } catch (thrown) {
    // Not the source's fault: another worker has the job, this one releases it, or our own database is unreachable.
    if (ctx.signal.aborted || thrown instanceof FencedError || isDbAway(thrown) || isRelease(thrown))
      throw thrown
    const error = asDroverError(thrown)
    await ctx.transaction((tx) => recordFailure(tx, { ctx, site, error }))
    throw error
  }
}

const isRelease = (thrown: unknown): boolean => thrown instanceof ReleaseRequest

type Begun =
  | { readonly type: 'begun'; readonly site: SiteRow; readonly begunAt: Date }
  | { readonly type: 'busy'; readonly by: string }

const begin = (ctx: JobContext, siteId: string): Promise<Begun> =>
  ctx.transaction(async (tx): Promise<Begun> => {
    const site = await lockSite(tx, siteId)
    if (!site) throw siteAbsent('site', siteId)
    const by = await findOtherSync(tx, { siteId, jobId: ctx.job.id })
    if (by !== undefined) return { type: 'busy', by }
    const begunAt = await beginSync(tx, { siteId, jobId: ctx.job.id, epoch: ctx.job.leaseEpoch })
    return { type: 'begun', site, begunAt }
  })

const read = (ctx: JobContext, sealer: Sealer, site: SiteRow, asked: AskedSync): Promise<SiteReading> => {
  requireTrusted(site)
  return ctx.usePlatform(site, async (platform) => {
    const answered = await platform.probe({
      signal: ctx.signal,
      timeoutMs: probeTimeoutMs(site),
      name: `probe-${ctx.job.id}-${ctx.job.leaseEpoch}`,
    })
    requireSameInstallation(site, keptIdentity(answered))
    const cursor = isFull(site, asked) ? null : openCursor(sealer, site)
    const reread = cursor === null ? [] : await findRereads(ctx.db, site.id)
    return readSite({ ctx, site, platform, cursor, reread })
  })
}

export const probeTimeoutMs = (site: SiteRow): number =>
  Number(site.settings.connection_timeout_seconds ?? 30) * 1_000

const isFull = (site: SiteRow, asked: AskedSync): boolean =>
  asked.mode === 'full' ||
  site.syncedAt === null ||
  // Its machines were not read yet: a delta would report only those that change.
  (site.role === 'target' && !knowsMachines(site)) ||
  site.fullSyncedAt === null ||
  site.syncedAt.getTime() - site.fullSyncedAt.getTime() > fullEveryMs
