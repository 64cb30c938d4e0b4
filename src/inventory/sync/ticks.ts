import type { Db, Tx } from '../../../db/client.ts'
import { type DueSite, takeDueChecks, takeDueSyncs } from '../../../db/queries/sites/take-due-sites.ts'
import { pruneStage } from '../../../db/queries/sync/stage-inventory.ts'
import type { Clock } from '../../clock.ts'
import { type SiteRole, syncToken } from '../../domain/inventory/site-settings.ts'
import { enqueue, type NewJob } from '../../ledger/jobs/enqueue.ts'
import { nudge } from '../../ledger/jobs/nudge.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import { reassessStale } from '../judge/assess.ts'

export interface InventoryTicksOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly intervalMs?: number
  /** Sites per round; the rest is due in the next round. */
  readonly batch?: number
}

export interface Ticked {
  readonly checks: number
  readonly syncs: number
  readonly more: boolean
}

const createdBy = 'conductor'

/** Enqueues connection checks and syncs that are due, and judges instances again that older rules have judged. */
export const inventoryTicks = (options: InventoryTicksOptions): Loop =>
  new Loop({
    name: 'inventory-ticks',
    intervalMs: options.intervalMs ?? 1_000,
    clock: options.clock,
    log: options.log,
    runOnce: async () => (await tickSites(options)).more,
  })

/** One round: enqueues what is due, each exactly once, whoever else does the same. */
export const tickSites = async (options: Pick<InventoryTicksOptions, 'db' | 'batch'>): Promise<Ticked> => {
  const { db } = options
  const limit = options.batch ?? 20
  const ticked = (await db.begin(async (tx) => {
    const checks = await takeDueChecks(tx, limit)
    const syncs = await takeDueSyncs(tx, limit)
    await enqueueOnce(tx, [...checks.map(checkJob), ...syncs.map(syncJob)])
    return { checks: checks.length, syncs: syncs.length }
  })) as { checks: number; syncs: number }
  if (ticked.checks + ticked.syncs > 0) nudge(db)
  return { ...ticked, more: ticked.checks === limit || ticked.syncs === limit }
}

/** One round of outdated judgements. */
export const judgeStale = (options: InventoryTicksOptions): Loop =>
  new Loop({
    name: 'inventory-judgements',
    intervalMs: 5_000,
    clock: options.clock,
    log: options.log,
    runOnce: () => reassessStale(options.db),
  })

/** Removes stage rows that no sync will continue with. */
export const sweepStage = (options: InventoryTicksOptions): Loop =>
  new Loop({
    name: 'inventory-stage-sweep',
    intervalMs: 60_000,
    clock: options.clock,
    log: options.log,
    runOnce: async () => (await pruneStage(options.db, 1)) > 0,
  })

const enqueueOnce = async (tx: Tx, jobs: readonly NewJob[]): Promise<void> => {
  if (jobs.length > 0) await enqueue(tx, jobs)
}

const checkJob = (site: DueSite): NewJob => ({
  kind: 'check-connection',
  payload: { role: site.role, name: site.name, reason: 'periodic' },
  subject: { type: site.role, id: site.name },
  idempotencyKey: `check/${site.id}/${site.due}`,
  createdBy,
})

const syncJob = (site: DueSite): NewJob => ({
  kind: `sync-${site.role}`,
  payload: { [site.role]: site.name, mode: 'delta', reason: 'periodic' },
  subject: { type: site.role, id: site.name },
  tokens: [syncToken(site.role as SiteRole, site.name)],
  idempotencyKey: `sync/${site.id}/${site.due}`,
  createdBy,
})
