import type { Tx } from '../../../db/client.ts'
import { wakeBlocked } from '../../../db/queries/entries/wake-blocked.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { countLiving, findStagedProblems, findTroubles } from '../../../db/queries/sites/find-troubles.ts'
import { lockSite } from '../../../db/queries/sites/load-site.ts'
import { endSync } from '../../../db/queries/sync/end-sync.ts'
import { findUnread, type MergeAt } from '../../../db/queries/sync/merge-instances.ts'
import { countStage, type StageCounts } from '../../../db/queries/sync/stage-inventory.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { readSettings, type SiteRole } from '../../domain/inventory/site-settings.ts'
import { DroverError } from '../../errors.ts'
import { actorOf, type JobContext } from '../../ledger/job.ts'
import type { Sealer } from '../../seal/seal.ts'
import { boundedTexts, mergeWarnings, type Said, type WarningType } from '../connection/warnings.ts'
import { type Merged, mergeStage, type Reading } from './merge-stage.ts'
import { type SiteReading, siteAbsent } from './read-site.ts'
import { sealCursor } from './sync-cursor.ts'

export interface EndReading {
  readonly ctx: JobContext
  readonly site: SiteRow
  readonly begunAt: Date
  readonly reading: SiteReading
  readonly force: boolean
  readonly sealer: Sealer
}

/** What a sync saw and changed; stored with the site and shown under these names. */
export interface SyncResult extends Record<string, unknown> {
  readonly reading: 'full' | 'delta'
  readonly full_because: string
  readonly revision: number
  readonly items: number
  readonly instances: number
  readonly ignored: number
  /** Of a target: the machines that it runs. */
  readonly machines: number
  readonly appeared: number
  readonly changed: number
  readonly returned: number
  readonly vanished: number
  readonly pending: number
  readonly problems: number
  /** Ids that were named but not read: each delta asks for them one by one. */
  readonly unread: readonly string[]
  /** Instances or machines that a suspiciously empty answer would have removed. */
  readonly held_back: number
}

/** Whether an earlier sync has read the machines of a target. */
export const knowsMachines = ({ syncResult }: Pick<SiteRow, 'syncResult'>): boolean =>
  typeof syncResult?.machines === 'number'

/** With more failed instances than this, a full reading is cheaper. */
const maxRereads = 200
/** A source that had this many and shows none is more likely faulty than empty. */
const suspiciousCount = 10

/** Makes a reading the inventory of its site. One transaction; the caller fences it. */
export const endReading = async (tx: Tx, options: EndReading): Promise<SyncResult> => {
  const { ctx, reading, sealer } = options
  const site = await lockSite(tx, options.site.id)
  if (!site) throw siteAbsent(options.site.role, options.site.name)
  if (site.syncJobId !== ctx.job.id) throw anotherSync(site)
  const at = {
    siteId: site.id,
    jobId: ctx.job.id,
    epoch: ctx.job.leaseEpoch,
    revision: site.revision + 1,
  }
  const staged = await countStage(tx, at)
  const heldBack = await countHeldBack(tx, options, site, staged)
  const namelessInstance = reading.nameless.some(({ of }) => of === 'instance')
  const isPart = heldBack > 0 || namelessInstance || reading.hidden === 'many'
  const conclude: Reading = isPart ? 'part' : reading.reading
  const quiet = site.syncedAt === null || (site.role === 'target' && !knowsMachines(site))
  const { judgedWith } = reading
  const merged = await mergeStage(tx, {
    at,
    site,
    begunAt: options.begunAt,
    reading: conclude,
    actor: actorOf(ctx),
    quiet,
    judgedWith,
  })
  const unread = await findUnread(tx, at)
  const living = await countLiving(tx, site.id)
  const troubled = await warn(tx, { ...options, site }, heldBack, at)
  const result: SyncResult = {
    reading: reading.reading,
    full_because: reading.fullBecause,
    revision: merged.isChange ? at.revision : site.revision,
    items: reading.items,
    ...living,
    ...counts(merged),
    problems: sumOf(staged, 'problem') + reading.nameless.length,
    unread: unread.slice(0, maxRereads),
    held_back: heldBack,
  }
  const isWhole = conclude !== 'part' && unread.length + troubled <= maxRereads
  await endSync(tx, {
    siteId: site.id,
    full: reading.reading === 'full' && conclude !== 'part',
    changed: merged.isChange,
    cursor: isWhole ? sealCursor(sealer, options.site, reading.cursor) : null,
    result,
    intervalSeconds: readSettings(site.role as SiteRole, site.settings).sync_interval_seconds,
  })
  if (merged.isChange && site.role === 'target') await wakeBlocked(tx, { target: site.name })
  await insertAuditEvent(tx, {
    type: `${site.role}.synced`,
    subject: { type: site.role, id: site.name },
    actor: actorOf(ctx),
    detail: result,
  })
  return result
}

const sumOf = (staged: readonly StageCounts[], action: string): number =>
  staged.filter((row) => row.action === action).reduce((sum, row) => sum + row.count, 0)

const counts = ({ appeared, changed, returned, vanished, pending }: Merged) => ({
  appeared,
  changed,
  returned,
  vanished,
  pending,
})

/** How many instances or machines an empty answer would remove before it is confirmed; 0: the answer is believed. */
const countHeldBack = async (
  tx: Tx,
  { reading, force }: EndReading,
  site: SiteRow,
  staged: readonly StageCounts[],
): Promise<number> => {
  if (reading.reading !== 'full' || force) return 0
  if (staged.some(({ kind, action }) => kind === 'instance' && action !== 'gone')) return 0
  // A second full reading with the same answer is believed.
  if (Number(site.syncResult?.held_back ?? 0) > 0) return 0
  const { instances, machines } = await countLiving(tx, site.id)
  const known = site.role === 'source' ? instances : machines
  return known >= suspiciousCount ? known : 0
}

const syncWarnings: readonly WarningType[] = [
  'sync-failed',
  'suddenly-empty',
  'instances-not-read',
  'instances-ignored',
  'facts-cut',
  'things-not-read',
]
const maxSaid = 49

/** Raises every warning that follows from this reading; returns how many instances could not be read. */
const warn = async (tx: Tx, options: EndReading, heldBack: number, at: MergeAt): Promise<number> => {
  const { ctx, reading, site } = options
  const { troubles, counts: totals } = await findTroubles(tx, site.id, maxSaid)
  const strangers = await findStagedProblems(tx, at, maxSaid)
  const of = (type: string) =>
    troubles
      .filter((trouble) => trouble.type === type)
      .map(({ name, ref, text }) => `${shortName(name)} (${ref}): ${text}`)
  const unknown = (instances: boolean) => [
    ...reading.nameless
      .filter(({ of: kind }) => (kind === 'instance') === instances)
      .map(({ of: kind, name, message }) => `${kind} ${shortName(name) || 'without a name'}: ${message}`),
    ...strangers
      .filter(({ kind }) => (kind === 'instance') === instances)
      .map(({ kind, ref, name, message }) => `${kind} ${shortName(name) || ref}: ${message}`),
  ]
  const unread = unknown(true)
  const said: Said = {
    'suddenly-empty': heldBack > 0 ? [suddenlyEmpty(site, heldBack)] : [],
    'instances-not-read': boundedTexts([...unread, ...of('problem')], unread.length + (totals.problem ?? 0)),
    'instances-ignored': boundedTexts(of('ignored'), totals.ignored),
    'facts-cut': boundedTexts(of('notes'), totals.notes),
    'things-not-read': boundedTexts(unknown(false)),
  }
  const place = { entityType: site.role, entityId: site.name, entityName: site.name }
  await mergeWarnings(tx, place, { types: syncWarnings, said, actor: actorOf(ctx) })
  return totals.problem ?? 0
}

/** Names may be as long as the platform allows and hold any text. */
const shortName = (name: string): string => (name.length > 100 ? `${name.slice(0, 100)}…` : name)

const suddenlyEmpty = (site: SiteRow, heldBack: number): string =>
  `${site.name} showed no ${site.role === 'source' ? 'instance' : 'machine'} at all, where ${heldBack} were known. They are kept until another full sync says the same, or one is asked for with force.`

const anotherSync = (site: SiteRow): DroverError =>
  new DroverError({
    code: 'sync-overtaken',
    class: 'transient',
    message: `Another sync of ${site.name} has begun since this one was read.`,
    remedy: 'Nothing to do: it is read once more.',
  })
