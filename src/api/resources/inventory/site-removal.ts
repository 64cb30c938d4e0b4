import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import {
  findDebtsOn,
  findEntriesUsing,
  findOperationsOn,
  type UsedBy,
} from '../../../../db/queries/entries/entries-using-site.ts'
import { findFinishedOf } from '../../../../db/queries/entries/finished-entries.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import {
  countForgotten,
  deleteSiteInventory,
  deleteSiteWarnings,
  holdMachines,
  wakeTwinSources,
} from '../../../../db/queries/sites/delete-site-inventory.ts'
import {
  deleteSiteRow,
  findFrozen,
  findLiveInstanceJobs,
  findLiveSiteJobs,
  lockSiteForRemoval,
  postponeSite,
  type SiteLine,
} from '../../../../db/queries/sites/site-rows.ts'
import { findTemplatesOn } from '../../../../db/queries/templates/list-templates.ts'
import { deleteLimit } from '../../../../db/queries/tokens/limits.ts'
import { whatIsForgotten } from '../../../domain/inventory/site-removal.ts'
import { type SiteRole, siteLimits } from '../../../domain/inventory/site-settings.ts'
import { many } from '../../../domain/text/sentence.ts'
import { cancelInTransaction } from '../../../ledger/jobs/cancel.ts'
import { requireForgettingConfirmed } from '../../../migration/entry/forget-finished.ts'
import type { ApiDeps } from '../../http/env.ts'
import { requireVersion } from '../../wire/preconditions.ts'
import { notFound, problem } from '../../wire/problem.ts'

export const removingSchema = z
  .object({
    removing: z.literal(true),
    instances_left: z.int().openapi({ description: 'Of a target: its machines.' }),
    finished_left: z.int().openapi({ description: 'To be confirmed by the request that goes on.' }),
  })
  .openapi('RemovingSite')

type Removing = z.infer<typeof removingSchema>

interface Asked {
  readonly role: SiteRole
  readonly name: string
  readonly ifMatch: string | undefined
  readonly by: string
  readonly confirmedFinished: number | undefined
}

/** So much in one transaction: it holds locks for a moment, and a request stays within its deadline. */
const batchSize = 1_000
const budgetPart = 0.6

/**
 * Removes a site with all that it has. Undefined: it is gone. Otherwise the time of one request is over and there
 * is more; what was removed stays removed, and the next request goes on.
 */
export const removeSite = async (deps: ApiDeps, asked: Asked): Promise<Removing | undefined> => {
  const startMs = deps.clock.monotonicMs()
  const spent = () => deps.clock.monotonicMs() - startMs > deps.limits.requestMs * budgetPart
  for (;;) {
    const last = spent()
    const left = (await deps.db.begin((tx) => removePart(tx, asked, last))) as Removing | 'more' | 'gone'
    if (left === 'gone') return undefined
    if (left !== 'more') return left
  }
}

const removePart = async (tx: Tx, asked: Asked, last: boolean): Promise<Removing | 'more' | 'gone'> => {
  const { role, name, by } = asked
  const site = await lockSiteForRemoval(tx, role, name)
  if (!site) throw notFound(role, name)
  requireVersion(asked.ifMatch, site.version)
  await requireUnused(tx, site, by)
  // After it: an entry that has not finished refuses by itself, and each that has is counted here.
  const finished = await findFinishedOf(tx, { ...site, role })
  const forgotten = await countForgotten(tx, site.id)
  requireForgettingConfirmed(finished, asked.confirmedFinished, whatIsForgotten(name, forgotten))
  const removed = await deleteSiteInventory(tx, site.id, batchSize)
  const subject = { type: role, id: name }
  if (removed > 0) {
    await postponeSite(tx, site.id)
    if (!last) return 'more'
    const { machines: left } = await countForgotten(tx, site.id)
    await insertAuditEvent(tx, {
      type: `${role}.removal-begun`,
      subject,
      actor: by,
      detail: { instances_left: left },
    })
    return { removing: true, instances_left: left, finished_left: finished.count }
  }
  for (const { token } of siteLimits({ role, name, settings: site.settings })) await deleteLimit(tx, token)
  await deleteSiteWarnings(tx, site)
  if (role === 'source') await wakeTwinSources(tx)
  await deleteSiteRow(tx, site.id)
  await insertAuditEvent(tx, {
    type: `${role}.deleted`,
    subject,
    actor: by,
    detail: { kind: site.kind, endpoint: site.endpoint, revision: site.revision },
  })
  return 'gone'
}

/** Refuses by name while somebody works with it. Checks and syncs that only wait for their turn are canceled. */
const requireUnused = async (tx: Tx, site: SiteLine, by: string): Promise<void> => {
  const role = site.role as SiteRole
  const frozen = await findFrozen(tx, site.id)
  if (frozen.count > 0)
    throw problem(
      'site-in-use',
      `${many(frozen.count, 'of its instances is', 'of its instances are')} held by a running batch: ${frozen.by.join(', ')}.`,
    )
  await requireNoEntries(tx, site)
  await requireNoOperations(tx, site)
  await requireNoTemplates(tx, site)
  const jobs = await findLiveSiteJobs(tx, { role, name: site.name })
  const own = new Set([`sync-${role}`, 'check-connection'])
  const holding = [
    ...jobs.filter((job) => job.state === 'running' || !own.has(job.kind)),
    ...(await findLiveInstanceJobs(tx, site.id)),
  ]
  if (holding.length > 0) throw inUse(holding)
  for (const job of jobs) {
    const { outcome } = await cancelInTransaction(tx, job.id, {
      by,
      reason: `${role} ${site.name} is removed`,
    })
    if (outcome === 'requested') throw inUse([job])
  }
}

/** An entry that is not finished may still owe its source a start, or have its only copy here. */
const requireNoEntries = async (tx: Tx, site: SiteLine): Promise<void> => {
  const role = site.role as SiteRole
  const entries = await findEntriesUsing(tx, { id: site.id, role, name: site.name })
  if (entries.count > 0)
    throw problem(
      'site-in-use',
      `${many(entries.count, 'entry that is not finished needs', 'entries that are not finished need')} it: ${listed(entries)}.`,
      {
        remedy:
          'Let them finish, or remove them from the queue, each with its copy. The reset of a batch removes all of its entries.',
      },
    )
  const debts = await findDebtsOn(tx, { role, name: site.name })
  if (debts.count > 0)
    throw problem(
      'site-in-use',
      `${many(debts.count, 'effect is', 'effects are')} still to be undone there: ${listed(debts)}.`,
    )
}

/** The look comes after the locks: nothing can be asked of what is removed in between. */
const requireNoOperations = async (tx: Tx, site: SiteLine): Promise<void> => {
  await holdMachines(tx, site.id, batchSize)
  const operations = await findOperationsOn(tx, site.id)
  if (operations.count > 0)
    throw problem(
      'site-in-use',
      `${many(operations.count, 'operation on its machines has', 'operations on its machines have')} not ended: ${listed(operations)}.`,
    )
}

/** Whoever stores one on it holds the site: none comes in between. */
const requireNoTemplates = async (tx: Tx, site: SiteLine): Promise<void> => {
  const { templates, images } = await findTemplatesOn(tx, site.id)
  if (templates.count > 0)
    throw problem(
      'site-in-use',
      `${many(templates.count, 'template is', 'templates are')} on it: ${listed(templates)}.`,
      { remedy: 'Forget the templates, with or without what they have there; then remove it.' },
    )
  if (images.count > 0)
    throw problem(
      'site-in-use',
      `${many(images.count, 'image has', 'images have')} copies on it: ${listed(images)}.`,
      { remedy: 'Delete the images, with or without their copies; then remove it.' },
    )
}

const listed = ({ count, some }: UsedBy): string =>
  `${some.join(', ')}${count > some.length ? ` and ${count - some.length} more` : ''}`

const inUse = (jobs: readonly { id: string; kind: string; state: string }[]) =>
  problem(
    'site-in-use',
    `Jobs are under way for it: ${jobs
      .slice(0, 5)
      .map((job) => `${job.kind} ${job.id} (${job.state})`)
      .join(', ')}${jobs.length > 5 ? ` and ${jobs.length - 5} more` : ''}.`,
  )
