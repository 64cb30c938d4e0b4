import { analyzeStage } from '../../../db/queries/instances/analyze-inventory.ts'
import { findWaivers, signFleetWaivers } from '../../../db/queries/instances/waivers-in-force.ts'
import { clearStage } from '../../../db/queries/sync/stage-inventory.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { readSettings, type SiteRole } from '../../domain/inventory/site-settings.ts'
import { DroverError } from '../../errors.ts'
import type { JobContext } from '../../ledger/job.ts'
import type { Call } from '../../platforms/ports/call.ts'
import type { ScanOptions } from '../../platforms/ports/inventory.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import { lookAtEach } from './look-at-instances.ts'
import { type Staged, type StageOptions, stageItems, stageScan } from './stage.ts'
import { type Hidden, stageHidden } from './stage-hidden.ts'

export interface SiteReading extends Staged {
  readonly reading: 'full' | 'delta'
  /** Why everything was read although a delta was requested; empty otherwise. */
  readonly fullBecause: string
  readonly hidden: Hidden
}

export interface ReadOptions {
  readonly ctx: JobContext
  readonly site: SiteRow
  readonly platform: Platform
  /** Where a delta continues; null: everything is read. */
  readonly cursor: string | null
  /** Instances whose last reading failed: a delta alone would never report them again. */
  readonly reread: readonly string[]
}

/** Even for the largest inventory: a platform that streams for longer has hung. */
const scanTimeoutMs = 3_600_000

/** Reads a site's inventory into the stage; only the changes, where possible. */
export const readSite = async (options: ReadOptions): Promise<SiteReading> => {
  const { ctx, site, platform, cursor } = options
  const inventory = portOf(platform, 'inventory')
  const settings = readSettings(site.role as SiteRole, site.settings)
  const scanOptions: ScanOptions = {
    scopes: settings.scopes,
    concurrency: 'sync_limit' in settings ? settings.sync_limit : 8,
    itemTimeoutMs: settings.sync_timeout_seconds * 1_000,
  }
  const stage = await stageOptions(ctx, site)
  const call: Call = {
    signal: ctx.signal,
    timeoutMs: scanTimeoutMs,
    name: `sync-${ctx.job.id}-${ctx.job.leaseEpoch}`,
  }
  const readAll = async (fullBecause: string): Promise<SiteReading> => {
    const staged = await stageScan(inventory.scan(call, scanOptions), stage)
    await explainStage(ctx, staged)
    return { ...staged, reading: 'full', fullBecause, hidden: await stageHidden(options, stage, 'full') }
  }
  if (cursor === null || !platform.capabilities.has('inventory-delta')) return readAll('')
  try {
    const staged = await stageScan(inventory.changes(call, { ...scanOptions, cursor }), stage)
    await explainStage(ctx, staged)
    const hidden = await stageHidden(options, stage, 'delta')
    await rereadInstances(options, stage)
    return { ...staged, reading: 'delta', fullBecause: '', hidden }
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'platform-cursor-lost') throw error
    await clearStage(ctx.db, { jobId: ctx.job.id, epoch: ctx.job.leaseEpoch })
    return readAll(error.message)
  }
}

/** From this size on, the query planner needs statistics. */
const manyItems = 1_000

const explainStage = async (ctx: JobContext, staged: Staged): Promise<void> => {
  if (staged.items >= manyItems) await analyzeStage(ctx.db)
}

export const stageOptions = async (ctx: JobContext, site: SiteRow): Promise<StageOptions> => ({
  holder: { db: ctx.db, jobId: ctx.job.id, epoch: ctx.job.leaseEpoch, signal: ctx.signal },
  site: { id: site.id, name: site.name, role: site.role },
  judgedWith: await signFleetWaivers(ctx.db),
  waivers: await findWaivers(ctx.db, []),
  onChunk: (items) => {
    ctx.progress({ done: items, total: 0, phase: 'reading' })
    ctx.safePoint()
  },
})

const rereadInstances = async (options: ReadOptions, stage: StageOptions): Promise<void> => {
  for await (const items of lookAtEach(options, options.reread)) await stageItems(items, stage)
}

export const siteAbsent = (role: string, name: string): DroverError =>
  new DroverError({
    code: 'site-absent',
    class: 'permanent',
    message: `There is no ${role} ${name} any more.`,
    remedy: 'Nothing to do when it was removed on purpose.',
  })
