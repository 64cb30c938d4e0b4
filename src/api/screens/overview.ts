import { countDebts } from '../../../db/queries/effects/count-debts.ts'
import { listWebhooks } from '../../../db/queries/events/webhook-rows.ts'
import {
  countBatches,
  countOpenJobsByLane,
  type LaneCount,
  listRecentBatches,
} from '../../../db/queries/fleet/list-lanes.ts'
import { listPauses } from '../../../db/queries/fleet/list-pauses.ts'
import { listWorkers } from '../../../db/queries/fleet/list-workers.ts'
import { countReadiness, type ReadinessCounts } from '../../../db/queries/instances/assessment.ts'
import { countRunningTwice } from '../../../db/queries/instances/find-running-twice.ts'
import { countJobsByKind } from '../../../db/queries/jobs/count-jobs.ts'
import { findLatelyFailed } from '../../../db/queries/jobs/find-lately-failed.ts'
import { getJob } from '../../../db/queries/jobs/get-job.ts'
import { listJobs } from '../../../db/queries/jobs/list-jobs.ts'
import { listOperations } from '../../../db/queries/operations/list-operations.ts'
import { measureOpenOperations } from '../../../db/queries/operations/measure-operations.ts'
import { listSites, type SiteLine } from '../../../db/queries/sites/site-rows.ts'
import { listWarnings } from '../../../db/queries/sites/warning-rows.ts'
import { countNeedyEntries } from '../../../db/queries/waits/count-needy-entries.ts'
import { countWaits, oldestReadyJobs } from '../../../db/queries/waits/count-waits.ts'
import { isAway } from '../../domain/inventory/connectivity.ts'
import type { ApiDeps } from '../http/env.ts'
import { checkReadiness } from '../readiness.ts'
import { type DownListView, readDown } from '../resources/fleet/down-view.ts'
import { viewJob, viewJobSummary } from '../resources/jobs/job-view.ts'
import { viewOperation } from '../resources/operation/operation-view.ts'
import { type LaneBatch, lanesAsBatches } from './lane-batches.ts'

const batchesShown = 6
/** Of those that are done: enough to see how the last one ended. */
const doneShown = 2
const runningShown = 8
/** How many of the jobs that ended last are asked for the batch they belong to. */
const recentJobs = 500
const processesMax = 200
const sitesMax = 200
/** Nobody needs to know how many more than this they have not read. */
const unreadMax = 100

const operationsFailedShown = 5
const operationsFailedMs = 24 * 3_600_000

export type { ReadinessCounts }
export type Overview = Awaited<ReturnType<typeof readOverview>>
/** What of a source or target decides whether somebody must look. */
export interface WatchedSite extends Pick<SiteLine, 'role' | 'name' | 'connectivity' | 'connectivitySince'> {
  readonly connectivityError: { readonly code: string; readonly message: string } | null
  readonly syncError: { readonly message: string } | null
  /** Whose sources are off and wait for it, where it is away. */
  readonly down?: Pick<DownListView, 'count' | 'message'>
}

/** The state of the whole fleet at one moment: what a person wants to know first, counted and not listed. */
export const readOverview = async (deps: ApiDeps) => {
  const { db } = deps
  const work = await readWork(deps)
  const [webhooks, readiness, needy, runningTwice, down, operations, lanes, ready, inventory] =
    await Promise.all([
      listWebhooks(db, { before: undefined, limit: 200 }),
      checkReadiness(deps),
      countNeedyEntries(db),
      countRunningTwice(db),
      readDown(db, {}),
      readOperations(deps),
      readLanes(deps, work.openLanes),
      explainReady(deps),
      readInventory(deps),
    ])
  const notReady = readiness.ready ? [] : readiness.reasons
  const { leaseMs } = deps
  return {
    ...work,
    webhooks,
    notReady,
    needy,
    runningTwice,
    down,
    operations,
    lanes,
    ready,
    inventory,
    leaseMs,
  }
}

const readWork = async ({ db }: ApiDeps) => {
  const [counts, openLanes, waits, running, processes, debts, pauses] = await Promise.all([
    countJobsByKind(db),
    countOpenJobsByLane(db),
    countWaits(db),
    listJobs(db, { state: 'running' }, { before: undefined, limit: runningShown }),
    listWorkers(db, { live: true, role: undefined }, { before: undefined, limit: processesMax }),
    countDebts(db),
    listPauses(db),
  ])
  return { counts, openLanes, waits, running: running.map(viewJobSummary), processes, debts, pauses }
}

const readInventory = async ({ db }: ApiDeps) => {
  const page = { after: undefined, limit: sitesMax }
  const any = { kind: undefined, connectivity: undefined }
  const [sources, targets, readiness, unread] = await Promise.all([
    listSites(db, { role: 'source', ...any }, page),
    listSites(db, { role: 'target', ...any }, page),
    countReadiness(db, undefined),
    listWarnings(
      db,
      { status: 'new', type: undefined, entity: undefined },
      { before: undefined, limit: unreadMax },
    ),
  ])
  const sites: readonly WatchedSite[] = await Promise.all(
    [...sources, ...targets].map(async (site) =>
      isAway(site.connectivity) ? { ...site, down: await readDown(db, { site }) } : site,
    ),
  )
  return { sites, readiness, unread: unread.length }
}

const readLanes = async ({ db, clock }: ApiDeps, open: readonly LaneCount[]): Promise<LaneBatch[]> => {
  const underWay = [...new Set(open.map(({ lane }) => lane))].filter((lane) => lane.startsWith('batch/'))
  const recent = await listRecentBatches(db, recentJobs, batchesShown)
  // The newest names sort last, and the newest are what a person has just started.
  const lanes = [...new Set([...underWay.sort().reverse().slice(0, batchesShown), ...recent])]
  const batches = lanesAsBatches(await countBatches(db, lanes), clock.now())
  const done = batches.filter((batch) => batch.done).slice(0, doneShown)
  return [...batches.filter((batch) => !batch.done), ...done].slice(0, batchesShown)
}

/** What is at machines now, and what went wrong in the last day, the last to fail first. */
const readOperations = async ({ db, clock, leaseMs }: ApiDeps) => {
  const since = new Date(clock.now() - operationsFailedMs)
  const [open, ids] = await Promise.all([
    measureOpenOperations(db, leaseMs),
    findLatelyFailed(db, { since, limit: operationsFailedShown + 1 }),
  ])
  const page = { before: undefined, limit: ids.length, silentMs: leaseMs }
  const lines = ids.length === 0 ? [] : await listOperations(db, { ids }, page)
  const failed = ids.slice(0, operationsFailedShown).flatMap((id) => lines.filter((line) => line.id === id))
  return {
    open,
    failed: failed.map((line) => viewOperation(line)),
    moreFailed: ids.length > operationsFailedShown,
  }
}

/** For each kind with ready jobs: the one that is ready for longest, and why it does not run. */
export interface ReadyKind {
  readonly kind: string
  readonly id: string
  readonly wait: NonNullable<Awaited<ReturnType<typeof viewJob>>['wait']>
}

/** For each kind with ready jobs, why the one that is ready for longest does not run: the API's own words. */
const explainReady = async ({ db, leaseMs }: ApiDeps): Promise<ReadyKind[]> => {
  const oldest = await oldestReadyJobs(db)
  const explained = await Promise.all(
    oldest.map(async ({ kind, id }) => {
      const job = await getJob(db, id)
      const wait = job ? (await viewJob(db, job, leaseMs)).wait : null
      return wait === null ? [] : [{ kind, id, wait }]
    }),
  )
  return explained.flat()
}
