import type { Tx } from '../../../db/client.ts'
import { countBusy, countHeldWindows, type EntryAtWork } from '../../../db/queries/entries/entry-rows.ts'
import {
  type EntrySurroundings,
  readEntrySurroundings,
} from '../../../db/queries/entries/entry-surroundings.ts'
import { instanceView } from '../../domain/filter/view.ts'
import { type AwaySite, awayText, isAway } from '../../domain/inventory/connectivity.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { TrackingRecord } from '../../domain/inventory/tracking.ts'
import { trackingState } from '../../domain/inventory/tracking.ts'
import { firstCopyToken } from '../../domain/migration/batch/batch-settings.ts'
import { instanceBlocks } from '../../domain/migration/batch/start-batch.ts'
import type { EntryFacts, EntryJob, EntryJobKind, Reason } from '../../domain/migration/entry/entry-facts.ts'
import { sourceStopOf } from '../../domain/migration/entry/source-stop.ts'
import { paceOf, readProgress, topUpsOf } from '../../domain/migration/schedule/progress-pace.ts'
import { topUpForecast } from '../../domain/migration/schedule/top-up.ts'
import {
  type Constraint,
  chooseWindow,
  hasEnded,
  type WindowAnswer,
} from '../../domain/migration/schedule/windows.ts'
import { durationMs } from '../../domain/text/duration.ts'
import { placeOf } from './apply-entry.ts'
import type { BatchView } from './batch-view.ts'
import { findingsOf } from './findings-of.ts'
import { targetBeforePlacement } from './known-target.ts'

/** Everything known about one entry at one moment. */
export interface ObservedEntry {
  readonly facts: EntryFacts
  /** The facts of the instance, as they were frozen. */
  readonly record: EffectiveFacts
  readonly constraint: Constraint | null
  readonly surroundings: EntrySurroundings
}

export const observeEntry = async (
  tx: Tx,
  batch: BatchView,
  entry: EntryAtWork,
): Promise<ObservedEntry | undefined> => {
  const targetName =
    typeof entry.placement?.target === 'string' ? entry.placement.target : targetBeforePlacement(batch)
  const surroundings = await readEntrySurroundings(tx, { instanceId: entry.instanceId, targetName })
  if (!surroundings) return undefined
  const known = entry.facts as unknown as EffectiveFacts
  const constraint = batch.constraintOf(
    instanceView({
      facts: known,
      source: surroundings.sourceName,
      source_kind: surroundings.sourceKind,
      readiness: 'ready',
      findings: surroundings.findings.map(({ rule }) => rule),
    }),
  )
  const now = entry.now.getTime()
  const own = batch.windows.find((window) => window.id === entry.windowId)
  const facts: EntryFacts = {
    now,
    place: placeOf(entry),
    reason: { code: entry.reason, message: entry.message },
    job: jobOf(batch, entry),
    intent: entry.intent,
    batchState: batch.row.state === 'running' ? 'running' : batch.row.state === 'error' ? 'error' : 'stopped',
    blocks: blocksOf(batch, surroundings, targetName),
    away: endsOf(surroundings)
      .filter(({ connectivity }) => isAway(connectivity))
      .map(siteBlock),
    sourceStop: sourceStopOf(entry),
    sourceNeedsPerson: entry.state === 'error' && entry.reason.startsWith('identity-'),
    hasTarget: entry.machineRef !== null,
    tracked: trackingState(known, surroundings.tracking as TrackingRecord) === 'verified',
    syncedAt: entry.syncedAt?.getTime() ?? null,
    window: await windowOf(tx, batch, entry, constraint),
    windowOver: own !== undefined && hasEnded(own, now),
    windowEndsAt: own?.endsAt ?? null,
    intervalMs: durationMs(batch.config.background_sync_interval),
    finalLimitMs: durationMs(batch.config.final_background_sync_limit),
    forecastMs: topUpForecast(topUpsOf(entry.progress)),
    since: Math.max(entry.since.getTime(), entry.jobFinishedAt?.getTime() ?? 0),
    tries: entry.tries,
    askPersonAt: askedAt(entry),
  }
  return { facts, record: known, constraint, surroundings }
}

const jobOf = (batch: BatchView, entry: EntryAtWork): EntryJob | null => {
  if (entry.jobId === null || entry.jobKind === null) return null
  const state = entry.jobState
  return {
    kind: entry.jobKind as EntryJobKind,
    state: state === 'succeeded' || state === 'failed' || state === 'canceled' ? state : 'open',
    error: entry.jobError,
    limited: isLimited(batch, entry),
    remainingMs: remainingOf(entry),
  }
}

/** Only during repeated failures: the deadline of an earlier series does not count. */
const askedAt = ({ tries, reasons }: EntryAtWork): number | null => {
  const until = reasons.find((one) => typeof one.until === 'string')?.until
  return tries > 0 && typeof until === 'string' ? Date.parse(until) : null
}

/** How long its copy will still take. */
const remainingOf = ({ jobProgress, jobState, now }: EntryAtWork): number | null => {
  const at = { now: now.getTime(), runs: jobState === 'running' }
  const { etaSeconds } = paceOf(readProgress(jobProgress), at)
  return etaSeconds === null ? null : etaSeconds * 1_000
}

/** Every reason why the entry may not start. If its target is not known yet, the target gives none. */
export const blocksOf = (batch: BatchView, around: EntrySurroundings, target: string | null): Reason[] => [
  ...instanceBlocks(
    {
      gone: around.goneAt !== null,
      ignored: around.ignored,
      migrated: around.migrated,
      findings: findingsOf(around.findings),
    },
    batch.config.instance_restriction_overrides,
  ),
  // Its record would say that it is off although it is off only for a moment.
  ...(around.busy ? [{ code: 'instance-busy', message: 'A job switches it on or off right now.' }] : []),
  ...endsOf(around)
    .filter(({ role }) => role === 'source' || target !== null)
    .filter(({ connectivity }) => connectivity !== 'ok')
    .map(siteBlock),
  ...(target !== null && around.targetName === null
    ? [{ code: 'target-absent', message: `There is no target "${target}".` }]
    : []),
]

/** The source and, where it is known, the target. */
const endsOf = (around: EntrySurroundings): AwaySite[] => [
  {
    role: 'source',
    name: around.sourceName,
    connectivity: around.sourceConnectivity,
    since: around.sourceSince.getTime(),
    message: around.sourceTrouble ?? '',
  },
  ...(around.targetName === null || around.targetConnectivity === null
    ? []
    : [
        {
          role: 'target',
          name: around.targetName,
          connectivity: around.targetConnectivity,
          since: around.targetSince?.getTime() ?? 0,
          message: around.targetTrouble ?? '',
        },
      ]),
]

const siteBlock = (site: AwaySite): Reason => ({
  code: `${site.role}-not-connected`,
  message: isAway(site.connectivity)
    ? awayText(site)
    : `The ${site.role} ${site.name} is not connected: ${site.connectivity}.`,
})

/** Evaluated only when the answer matters: counting reads other entries. */
const windowOf = async (
  tx: Tx,
  batch: BatchView,
  entry: EntryAtWork,
  constraint: Constraint | null,
): Promise<WindowAnswer> => {
  const copies = entry.state === 'background-import' && (entry.stage === 'final' || isLimited(batch, entry))
  const waits = entry.state === 'idle' || copies
  if (!waits || entry.stage === 'complete') return { is: 'none', why: 'over' }
  const busy = constraint
    ? await countBusy(tx, { batchId: entry.batchId, constraint: constraint.name, but: entry.id })
    : 0
  return chooseWindow({
    now: entry.now.getTime(),
    windows: batch.windows,
    held: await countHeldWindows(tx, entry.batchId),
    own: entry.windowId,
    constraint,
    busy,
  })
}

/** Its job has not begun, and needs room under the limit on first copies. */
const isLimited = ({ row }: BatchView, { jobState, jobTokens }: EntryAtWork): boolean =>
  (jobState === 'ready' || jobState === 'waiting') && (jobTokens ?? []).includes(firstCopyToken(row.name))
