import { clearStage } from '../../db/queries/stage-inventory.ts'
import { findWaivers, signFleetWaivers } from '../../db/queries/waivers-in-force.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import { readSettings, type SiteRole } from '../domain/inventory/site-settings.ts'
import { DroverError } from '../errors.ts'
import type { Call } from '../platforms/call.ts'
import { PlatformError } from '../platforms/platform-error.ts'
import type { InventoryItem, ScanOptions } from '../platforms/ports/inventory.ts'
import { type Platform, portOf } from '../platforms/ports.ts'
import { type Staged, type StageOptions, stageItems, stageScan } from './stage.ts'
import type { Turn } from './turn.ts'

export interface SiteReading extends Staged {
  readonly reading: 'full' | 'delta'
  /** Why everything was read although a delta was asked for; empty otherwise. */
  readonly fullBecause: string
}

export interface ReadOptions {
  readonly turn: Turn
  readonly site: SiteRow
  readonly platform: Platform
  /** Where a delta goes on; null: everything is read. */
  readonly cursor: string | null
  /** Instances whose last reading failed: a delta alone would never tell of them again. */
  readonly reread: readonly string[]
}

/** However large: a platform that talks for longer than this has hung. */
const scanTimeoutMs = 3_600_000
const rereadsAtOnce = 4

/** Reads a site's inventory into the stage, only what changed where that is possible. */
export const readSite = async (options: ReadOptions): Promise<SiteReading> => {
  const { turn, site, platform, cursor } = options
  const inventory = portOf(platform, 'inventory')
  const settings = readSettings(site.role as SiteRole, site.settings)
  const scanOptions: ScanOptions = {
    scopes: settings.scopes,
    concurrency: 'sync_limit' in settings ? settings.sync_limit : 8,
    itemTimeoutMs: settings.sync_timeout_seconds * 1_000,
  }
  const stage = await stageOptions(turn, site)
  const call: Call = {
    signal: turn.signal,
    timeoutMs: scanTimeoutMs,
    name: `sync-${turn.job.id}-${turn.job.leaseEpoch}`,
  }
  if (cursor !== null && platform.capabilities.has('inventory-delta')) {
    try {
      const staged = await stageScan(inventory.changes(call, { ...scanOptions, cursor }), stage)
      await rereadInstances(options, stage)
      return { ...staged, reading: 'delta', fullBecause: '' }
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'platform-cursor-lost') throw error
      await clearStage(turn.db, { jobId: turn.job.id, epoch: turn.job.leaseEpoch })
      const staged = await stageScan(inventory.scan(call, scanOptions), stage)
      return { ...staged, reading: 'full', fullBecause: error.message }
    }
  }
  const staged = await stageScan(inventory.scan(call, scanOptions), stage)
  return { ...staged, reading: 'full', fullBecause: '' }
}

export const stageOptions = async (turn: Turn, site: SiteRow): Promise<StageOptions> => ({
  holder: { db: turn.db, jobId: turn.job.id, epoch: turn.job.leaseEpoch, signal: turn.signal },
  site: { id: site.id, name: site.name, role: site.role },
  judgedWith: await signFleetWaivers(turn.db),
  waivers: await findWaivers(turn.db, []),
  onChunk: (items) => {
    turn.progress({ done: items, total: 0, phase: 'reading' })
    turn.safePoint()
  },
})

/** Trouble of the source itself. What an account may not see is a matter of each machine. */
const isEverybodys = ({ code, class: kind }: PlatformError): boolean =>
  code !== 'platform-permission' &&
  (kind === 'config' || code === 'platform-session-lost' || code === 'platform-unreachable')

/** One instance as an item of a reading; what cannot be read is its own problem. */
export const readInstance = async (platform: Platform, call: Call, ref: string): Promise<InventoryItem> => {
  try {
    const found = await portOf(platform, 'inventory').instance(call, ref)
    return found.found ? { type: 'instance', facts: found.value } : { type: 'gone', of: 'instance', ref }
  } catch (error) {
    // Only what is this instance's own: a site that is away is no problem of each of its instances.
    if (!(error instanceof PlatformError) || isEverybodys(error) || call.signal.aborted) throw error
    return { type: 'problem', of: 'instance', ref, name: '', error }
  }
}

const rereadInstances = async (options: ReadOptions, stage: StageOptions): Promise<void> => {
  const { turn, site, platform, reread } = options
  const { sync_timeout_seconds: seconds } = readSettings(site.role as SiteRole, site.settings)
  for (let at = 0; at < reread.length; at += rereadsAtOnce) {
    const items = await Promise.all(
      reread
        .slice(at, at + rereadsAtOnce)
        .map((ref) =>
          readInstance(
            platform,
            { signal: turn.signal, timeoutMs: seconds * 1_000, name: `sync-${turn.job.id}-${ref}` },
            ref,
          ),
        ),
    )
    await stageItems(items, stage)
  }
}

export const siteAbsent = (role: string, name: string): DroverError =>
  new DroverError({
    code: 'site-absent',
    class: 'permanent',
    message: `There is no ${role} ${name} any more.`,
    remedy: 'Nothing to do when it was removed on purpose.',
  })
