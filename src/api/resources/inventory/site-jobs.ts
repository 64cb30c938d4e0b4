import type { Tx } from '../../../../db/client.ts'
import { findLiveSiteJobs, type SiteJob, type SiteLine } from '../../../../db/queries/sites/site-rows.ts'
import { type SiteRole, syncToken } from '../../../domain/inventory/site-settings.ts'
import { enqueue, type NewJob } from '../../../ledger/jobs/enqueue.ts'
import { currentTraceparent } from '../../../process/telemetry.ts'

export type SyncMode = 'full' | 'delta'

/** What a verb that takes time answers with. */
export interface Accepted {
  readonly id: string
  readonly kind: string
  readonly state: string
  /** True when such a job was under way already. */
  readonly existing: boolean
}

/** What a person asks for goes before what the clock asks for. */
const personPriority = 10

export const enqueueOne = async (tx: Tx, job: Omit<NewJob, 'priority' | 'trace'>): Promise<Accepted> => {
  const trace = currentTraceparent()
  const [made] = await enqueue(tx, [
    { ...job, priority: personPriority, ...(trace === undefined ? {} : { trace }) },
  ])
  if (!made) throw new Error('One job was enqueued and none came back.')
  return { id: made.id, kind: made.kind, state: made.state, existing: made.existing }
}

const underWay = (job: SiteJob): Accepted => ({
  id: job.id,
  kind: job.kind,
  state: job.state,
  existing: true,
})

const roleOf = (site: SiteLine): SiteRole => site.role as SiteRole

/** The caller holds the site's lock, so that two who ask at once get one job. */
export const enqueueSync = async (
  tx: Tx,
  site: SiteLine,
  asked: { mode: SyncMode; force: boolean; by: string },
): Promise<Accepted> => {
  const role = roleOf(site)
  const kind = `sync-${role}`
  const live = await findLiveSiteJobs(tx, { role, name: site.name })
  // A full sync sees all that a delta would, not the other way round.
  const covers = live.find(
    (job) =>
      job.kind === kind &&
      (job.payload.mode === 'full' || job.payload.mode === asked.mode) &&
      (job.payload.force === true || !asked.force),
  )
  if (covers) return underWay(covers)
  return await enqueueOne(tx, {
    kind,
    payload: { [role]: site.name, mode: asked.mode, reason: 'manual', force: asked.force },
    subject: { type: role, id: site.name },
    tokens: [syncToken(role, site.name)],
    createdBy: asked.by,
  })
}

export const enqueueCheck = async (
  tx: Tx,
  site: SiteLine,
  asked: {
    by: string
    /** The site was just changed: a check that runs now may have read what it was before. */
    anew: boolean
  },
): Promise<Accepted> => {
  const role = roleOf(site)
  if (!asked.anew) {
    const live = await findLiveSiteJobs(tx, { role, name: site.name })
    const check = live.find((job) => job.kind === 'check-connection')
    if (check) return underWay(check)
  }
  return await enqueueOne(tx, {
    kind: 'check-connection',
    payload: { role, name: site.name, reason: asked.anew ? 'changed' : 'manual' },
    subject: { type: role, id: site.name },
    createdBy: asked.by,
  })
}
