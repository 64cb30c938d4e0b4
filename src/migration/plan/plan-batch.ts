import { createHash } from 'node:crypto'
import type { Db } from '../../../db/client.ts'
import { listCandidates } from '../../../db/queries/batches/batch-instances.ts'
import { findApprovedPlan } from '../../../db/queries/batches/batch-plan-rows.ts'
import { readTracking } from '../../../db/queries/batches/read-plan-facts.ts'
import { countHeldWindows } from '../../../db/queries/entries/entry-rows.ts'
import { readClock } from '../../../db/queries/fleet/read-clock.ts'
import { readLimitRows } from '../../../db/queries/tokens/limits.ts'
import { compileFilter } from '../../domain/filter/compile-filter.ts'
import { instanceView } from '../../domain/filter/view.ts'
import { copiedBytes } from '../../domain/inventory/copy-way.ts'
import { canonicalJson } from '../../domain/inventory/facts-hash.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import { type TrackingRecord, trackingState } from '../../domain/inventory/tracking.ts'
import { tokenLimit } from '../../domain/job/token.ts'
import { firstCopyToken } from '../../domain/migration/batch/batch-settings.ts'
import {
  decidedOf,
  diffPlans,
  forecastFields,
  type PlanDiff,
  type PlanItem,
  PlanSums,
  type PlanTotals,
} from '../../domain/migration/batch/plan-document.ts'
import type { Placement } from '../../domain/migration/place/placement.ts'
import { tokensOfSource } from '../../domain/migration/schedule/copy-tokens.ts'
import { forecast } from '../../domain/migration/schedule/plan-forecast.ts'
import type { JobContext } from '../../ledger/job.ts'
import { judgeCandidate } from '../batch/make-entries.ts'
import type { BatchView } from '../entry/batch-view.ts'
import type { ScriptThreads } from '../place/script-runner.ts'
import { TargetLooks } from '../place/target-view.ts'
import { type Decided, isOpen, PagePlanner } from './plan-page.ts'
import { PlanTargets } from './plan-target.ts'
import { PlanWindows } from './plan-windows.ts'

export interface PlanDocument {
  /** The version of the batch when it was planned. */
  readonly version: number
  /** Digest of the settings that the plan was made from. */
  readonly settings: string
  readonly planned_at: string
  readonly totals: PlanTotals
  readonly diff: PlanDiff | null
  readonly items: readonly PlanItem[]
  /** Counted and digested, but not listed. */
  readonly items_left_out: number
}

/** Few enough for a short transaction, many enough for one call of the script. */
const pageSize = 200
/** The most items listed one by one, so that a plan stays readable. */
export const planItemsMost = 10_000

/** A digest of the settings that a plan is made from: another digest means that the plan is outdated. */
export const settingsDigest = ({ row, windows }: Pick<BatchView, 'row' | 'windows'>): string =>
  createHash('sha256')
    .update(
      canonicalJson({
        include_expression: row.includeExpression,
        defaults: row.defaults,
        config: row.config,
        constraints: row.constraints,
        windows: windows.map(({ id: _id, ...window }) => window),
      }),
    )
    .digest('hex')

/** What a start of this batch would do with every instance of the fleet. Changes nothing. */
export const planBatch = async (
  ctx: JobContext,
  batch: BatchView,
  threads: ScriptThreads,
): Promise<{ readonly document: PlanDocument; readonly digest: string }> => {
  const { db, signal } = ctx
  const targets = new PlanTargets(ctx, new TargetLooks())
  const pages = new PagePlanner({ db, batch, threads, targets, signal })
  const now = await readClock(db)
  const windows = new PlanWindows(batch, now.getTime(), await countHeldWindows(db, batch.row.id))
  const limits = new Map((await readLimitRows(db)).map(({ name, capacity }) => [name, capacity]))
  const sums = new PlanSums((token) => tokenLimit(token, limits))
  const filter = compileFilter(batch.row.includeExpression, 'instance')
  const digest = createHash('sha256')
  const items: PlanItem[] = []
  let planned = 0
  let after: string | null = null
  for (;;) {
    ctx.safePoint()
    const page = await listCandidates(db, batch.row.id, { after, limit: pageSize })
    const decided = await pages.plan(page.map((line) => judgeCandidate(line, filter)))
    for (const item of await describe(decided, { db, batch, targets, windows })) {
      sums.add(item)
      digest.update(canonicalJson(decidedOf(item)))
      if (items.length < planItemsMost) items.push(item)
      planned += 1
    }
    ctx.progress({ done: planned, total: 0, phase: 'plan' })
    after = page.at(-1)?.id ?? null
    if (page.length < pageSize) break
  }
  const approved = await findApprovedPlan(db, batch.row.id)
  const document: PlanDocument = {
    version: batch.row.version,
    settings: settingsDigest(batch),
    planned_at: now.toISOString(),
    totals: sums.totals(),
    diff: approved ? diffPlans(approved.id, approved.document.items as readonly PlanItem[], items) : null,
    items,
    items_left_out: planned - items.length,
  }
  return { document, digest: digest.digest('hex') }
}

interface Describing {
  readonly db: Db
  readonly batch: BatchView
  readonly targets: PlanTargets
  readonly windows: PlanWindows
}

const describe = async (decided: readonly Decided[], around: Describing): Promise<PlanItem[]> => {
  const ids = decided.map(({ subject }) => subject.judged.line.id)
  const tracking = await readTracking(around.db, ids)
  const items: PlanItem[] = []
  for (const one of decided)
    items.push(await describeOne(one, tracking.get(one.subject.judged.line.id) ?? {}, around))
  return items
}

const describeOne = async (
  { subject, placement, reasons }: Decided,
  tracking: Record<string, string>,
  { batch, targets, windows }: Describing,
): Promise<PlanItem> => {
  const { facts, existing, judged } = subject
  const { line } = judged
  const standing = standingOf({ subject, placement, reasons })
  const tracked = trackingState(facts, tracking as TrackingRecord) === 'verified'
  const { all: bytes, whileOff: bytesWhileOff } = copiedBytes(facts.disks, tracked)
  const target = placement ? (await targets.find(placement.target)).site : undefined
  const pace = target && (await targets.pace(line.siteId, target.id))
  const view = instanceView({
    facts,
    source: line.source,
    source_kind: line.sourceKind,
    readiness: line.readiness,
    findings: line.findings.map(({ rule }) => rule),
  })
  const window =
    standing === 'goes'
      ? windows.take(view)
      : { window: windows.nameOf(existing?.windowId ?? null), note: '' }
  return {
    instance_id: line.id,
    name: facts.name,
    source: line.source,
    standing,
    state: existing?.state ?? null,
    reasons,
    placement: placement && placeAlone(placement),
    bytes,
    bytes_while_off: bytesWhileOff,
    tracked,
    tokens: placement ? tokensOf(batch, { source: line.source, facts, target: placement.target }) : [],
    window: window.window,
    window_note: window.note,
    ...(pace
      ? forecastFields(forecast({ bytes, bytesWhileOff, tracked, pace }))
      : { copy_ms: null, downtime_ms: null, forecast_note: 'no history yet' }),
  }
}

const standingOf = ({
  subject,
  reasons,
}: Pick<Decided, 'subject' | 'placement' | 'reasons'>): PlanItem['standing'] => {
  if (subject.elsewhere !== null) return 'in-other-batch'
  if (!isOpen(subject)) return subject.existing?.state === 'conflict' ? 'conflict' : 'on-its-way'
  if ((subject.existing ?? subject.fresh)?.state === 'conflict') return 'conflict'
  return reasons.length > 0 ? 'blocked' : 'goes'
}

const placeAlone = ({ target, project, host, pools, networks }: Placement): Placement => ({
  target,
  project,
  host,
  pools,
  networks,
})

/** The tokens that its jobs will need at some time. */
const tokensOf = (
  { row, config }: BatchView,
  entryWork: { readonly source: string; readonly facts: EffectiveFacts; readonly target: string },
): string[] => [
  `target-creates/${entryWork.target}`,
  `source-imports/${entryWork.source}`,
  `target-imports/${entryWork.target}`,
  ...tokensOfSource(entryWork.source, entryWork.facts),
  ...(config.sync_limit > 0 ? [firstCopyToken(row.name)] : []),
]
