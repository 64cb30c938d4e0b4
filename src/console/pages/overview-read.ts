import { countReadiness } from '../../../db/queries/assessment.ts'
import { countDebts } from '../../../db/queries/count-debts.ts'
import { countJobsByKind } from '../../../db/queries/count-jobs.ts'
import { countNeedyEntries } from '../../../db/queries/count-needy-entries.ts'
import { countWaits, oldestReadyJobs } from '../../../db/queries/count-waits.ts'
import { countRunningTwice } from '../../../db/queries/find-running-twice.ts'
import { getJob } from '../../../db/queries/get-job.ts'
import { listJobs } from '../../../db/queries/list-jobs.ts'
import {
  countBatches,
  countOpenJobsByLane,
  type LaneCount,
  listRecentBatches,
} from '../../../db/queries/list-lanes.ts'
import { listPauses } from '../../../db/queries/list-pauses.ts'
import { listWorkers } from '../../../db/queries/list-workers.ts'
import { listSites } from '../../../db/queries/site-rows.ts'
import { listWarnings } from '../../../db/queries/warning-rows.ts'
import { listWebhooks } from '../../../db/queries/webhook-rows.ts'
import { checkReadiness } from '../../api/readiness.ts'
import { readDown } from '../../api/resources/down-view.ts'
import { viewJob } from '../../api/resources/job-view.ts'
import { isAway } from '../../domain/inventory/connectivity.ts'
import { type Batch, batchesOf } from '../batches.ts'
import type { PageContext } from '../page.ts'
import type { WatchedSite } from '../warnings.ts'
import { readBatchesSeen } from './overview-batches.ts'
import { readOperationsSeen } from './overview-operations.ts'

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

/** All that the overview shows, read at one moment. */
export const readOverview = async (context: PageContext) => {
  const { deps } = context
  const { db } = deps
  const work = await readWork(context)
  const [webhooks, readiness, needy, runningTwice, down, migrations, operations, lanes, ready, inventory] =
    await Promise.all([
      listWebhooks(db, { before: undefined, limit: 200 }),
      checkReadiness(deps),
      countNeedyEntries(db),
      countRunningTwice(db),
      readDown(db, {}),
      readBatchesSeen(context),
      readOperationsSeen(context),
      readLanes(context, work.openLanes),
      explainReady(context),
      readInventory(context),
    ])
  const notReady = readiness.ready ? [] : readiness.reasons
  return {
    ...work,
    webhooks,
    notReady,
    needy,
    runningTwice,
    down,
    migrations,
    operations,
    lanes,
    ready,
    inventory,
  }
}

const readWork = async ({ deps: { db } }: PageContext) => {
  const [counts, openLanes, waits, running, processes, debts, pauses] = await Promise.all([
    countJobsByKind(db),
    countOpenJobsByLane(db),
    countWaits(db),
    listJobs(db, { state: 'running' }, { before: undefined, limit: runningShown }),
    listWorkers(db, { live: true, role: undefined }, { before: undefined, limit: processesMax }),
    countDebts(db),
    listPauses(db),
  ])
  return { counts, openLanes, waits, running, processes, debts, pauses }
}

const readInventory = async ({ deps: { db } }: PageContext) => {
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

const readLanes = async ({ deps, nowMs }: PageContext, open: readonly LaneCount[]): Promise<Batch[]> => {
  const underWay = [...new Set(open.map(({ lane }) => lane))].filter((lane) => lane.startsWith('batch/'))
  const recent = await listRecentBatches(deps.db, recentJobs, batchesShown)
  // The newest names sort last, and the newest are what a person has just started.
  const lanes = [...new Set([...underWay.sort().reverse().slice(0, batchesShown), ...recent])]
  const batches = batchesOf(await countBatches(deps.db, lanes), nowMs)
  const done = batches.filter((batch) => batch.done).slice(0, doneShown)
  return [...batches.filter((batch) => !batch.done), ...done].slice(0, batchesShown)
}

/** For each kind with ready jobs: the one that is ready for longest, and why it does not run. */
export interface ReadyKind {
  readonly kind: string
  readonly id: string
  readonly wait: NonNullable<Awaited<ReturnType<typeof viewJob>>['wait']>
}

/** For each kind with ready jobs, why the one that is ready for longest does not run: the API's own words. */
const explainReady = async ({ deps }: PageContext): Promise<ReadyKind[]> => {
  const oldest = await oldestReadyJobs(deps.db)
  const explained = await Promise.all(
    oldest.map(async ({ kind, id }) => {
      const job = await getJob(deps.db, id)
      const wait = job ? (await viewJob(deps.db, job, deps.leaseMs)).wait : null
      return wait === null ? [] : [{ kind, id, wait }]
    }),
  )
  return explained.flat()
}
