import { isDbAway } from '../../db/client.ts'
import { beginSync, findOtherSync } from '../../db/queries/begin-sync.ts'
import { findRereads } from '../../db/queries/find-troubles.ts'
import { loadSite, lockSite } from '../../db/queries/load-site.ts'
import { clearStage } from '../../db/queries/stage-inventory.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import type { SiteRole } from '../domain/inventory/site-settings.ts'
import { asDroverError, FencedError } from '../errors.ts'
import { crashPoint } from '../ledger/crash-point.ts'
import type { Platform } from '../platforms/ports.ts'
import type { Sealer } from '../seal.ts'
import { requireSameInstallation, requireTrusted } from './connectivity.ts'
import { endReading, knowsMachines, type SyncResult } from './end-reading.ts'
import { recordFailure } from './fail-reading.ts'
import { readSite, type SiteReading, siteAbsent } from './read-site.ts'
import { watchForTwins } from './running-twice.ts'
import { openCursor } from './sync-cursor.ts'
import { fencedAtEnd, type Turn } from './turn.ts'

/** Lends the platform of a site to some work. */
export type UsePlatform = <Result>(
  site: SiteRow,
  work: (platform: Platform) => Promise<Result>,
) => Promise<Result>

export interface SyncParts {
  readonly use: UsePlatform
  readonly sealer: Sealer
}

export interface AskedSync {
  readonly role: SiteRole
  readonly name: string
  readonly mode: 'full' | 'delta'
  readonly force: boolean
}

export type SyncOutcome =
  | { readonly type: 'synced'; readonly result: SyncResult }
  | { readonly type: 'busy'; readonly by: string }

/** Deltas are trusted for this long; then everything is looked at once more. */
const fullEveryMs = 24 * 3_600_000

/**
 * Reads a source or target and makes what was read its inventory: all of it in one transaction, or nothing. A
 * reading that failed concludes nothing and leaves the inventory as it is.
 */
export const syncSite = async (turn: Turn, parts: SyncParts, asked: AskedSync): Promise<SyncOutcome> => {
  const found = await loadSite(turn.db, asked)
  if (!found) throw siteAbsent(asked.role, asked.name)
  const begun = await begin(turn, found.id)
  if (begun.type === 'busy') return begun
  const { site, begunAt } = begun
  try {
    const reading = await read(turn, parts, site, asked)
    crashPoint('after-stage')
    turn.safePoint()
    crashPoint('before-merge')
    const options = { turn, site, begunAt, reading, force: asked.force, sealer: parts.sealer }
    const result = await fencedAtEnd(turn, (tx) => endReading(tx, options))
    crashPoint('after-merge')
    await clearStage(turn.db, { jobId: turn.job.id, epoch: turn.job.leaseEpoch })
    await watchForTwins(turn, parts.use, site)
    return { type: 'synced', result }
  } catch (thrown) {
    // Not the source's fault: another worker has the job, it was let go of, or our own database is away.
    if (turn.signal.aborted || thrown instanceof FencedError || isDbAway(thrown) || isLettingGo(thrown))
      throw thrown
    const error = asDroverError(thrown)
    await turn.transaction((tx) => recordFailure(tx, { turn, site, error }))
    throw error
  }
}

const isLettingGo = (thrown: unknown): boolean => thrown instanceof Error && thrown.name === 'ReleaseRequest'

type Begun =
  | { readonly type: 'begun'; readonly site: SiteRow; readonly begunAt: Date }
  | { readonly type: 'busy'; readonly by: string }

const begin = (turn: Turn, siteId: string): Promise<Begun> =>
  turn.transaction(async (tx): Promise<Begun> => {
    const site = await lockSite(tx, siteId)
    if (!site) throw siteAbsent('site', siteId)
    const by = await findOtherSync(tx, { siteId, jobId: turn.job.id })
    if (by !== undefined) return { type: 'busy', by }
    const begunAt = await beginSync(tx, { siteId, jobId: turn.job.id, epoch: turn.job.leaseEpoch })
    return { type: 'begun', site, begunAt }
  })

const read = (turn: Turn, parts: SyncParts, site: SiteRow, asked: AskedSync): Promise<SiteReading> => {
  requireTrusted(site)
  return parts.use(site, async (platform) => {
    const answered = await platform.probe({
      signal: turn.signal,
      timeoutMs: probeTimeoutMs(site),
      name: `probe-${turn.job.id}-${turn.job.leaseEpoch}`,
    })
    requireSameInstallation(site, answered)
    const cursor = isFull(site, asked) ? null : openCursor(parts.sealer, site)
    const reread = cursor === null ? [] : await findRereads(turn.db, site.id)
    return readSite({ turn, site, platform, cursor, reread })
  })
}

export const probeTimeoutMs = (site: SiteRow): number =>
  Number(site.settings.connection_timeout_seconds ?? 30) * 1_000

const isFull = (site: SiteRow, asked: AskedSync): boolean =>
  asked.mode === 'full' ||
  site.syncedAt === null ||
  // Its machines were not looked at yet: a delta would only tell of those that change.
  (site.role === 'target' && !knowsMachines(site)) ||
  site.fullSyncedAt === null ||
  site.syncedAt.getTime() - site.fullSyncedAt.getTime() > fullEveryMs
