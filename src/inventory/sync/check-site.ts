import type { Tx } from '../../../db/client.ts'
import { loadSite, lockSite } from '../../../db/queries/sites/load-site.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { type SiteRole, syncToken } from '../../domain/inventory/site-settings.ts'
import { asDroverError, DroverError } from '../../errors.ts'
import { actorOf, type JobContext } from '../../ledger/job.ts'
import { enqueue } from '../../ledger/jobs/enqueue.ts'
import { nudge } from '../../ledger/jobs/nudge.ts'
import { keptIdentity, requireSameInstallation } from '../connection/connectivity.ts'
import { type ConnectionAnswer, noteConnection } from '../connection/note-connection.ts'
import { siteAbsent } from './read-site.ts'
import { probeTimeoutMs } from './sync-site.ts'

/** Checks the connection of a source or target and records the result. */
export const checkSite = async (
  ctx: JobContext,
  asked: { readonly role: SiteRole; readonly name: string },
): Promise<{ readonly connectivity: string; readonly code: string | null }> => {
  const site = await loadSite(ctx.db, asked)
  if (!site) throw siteAbsent(asked.role, asked.name)
  const answer = await look(ctx, site)
  const written = await ctx.transaction((tx) => write(tx, ctx, site, answer))
  if (written.due) nudge(ctx.db)
  return { connectivity: written.connectivity, code: answer.ok ? null : answer.error.code }
}

const look = async (ctx: JobContext, site: SiteRow): Promise<ConnectionAnswer> => {
  try {
    return await ctx.usePlatform(site, async (platform) => {
      const identity = keptIdentity(
        await platform.probe({
          signal: ctx.signal,
          timeoutMs: probeTimeoutMs(site),
          name: `check-${ctx.job.id}-${ctx.job.leaseEpoch}`,
        }),
      )
      requireSameInstallation(site, identity)
      return { ok: true, identity, capabilities: [...platform.capabilities].sort() }
    })
  } catch (thrown) {
    const error = asDroverError(thrown)
    // A defect in Drover says nothing about the site.
    if (ctx.signal.aborted || error.class === 'bug') throw thrown
    return { ok: false, error }
  }
}

/** Whether the connection is still the one that was checked: a person may have changed it meanwhile. */
const isSame = (now: SiteRow, seen: SiteRow): boolean =>
  now.version === seen.version && now.endpoint === seen.endpoint

const write = async (
  tx: Tx,
  ctx: JobContext,
  seen: SiteRow,
  answer: ConnectionAnswer,
): Promise<{ readonly connectivity: string; readonly due: boolean }> => {
  const site = await lockSite(tx, seen.id)
  if (!site) throw siteAbsent(seen.role, seen.name)
  if (!isSame(site, seen)) throw changedMeanwhile(site)
  const actor = actorOf(ctx)
  const { connectivity, isBack } = await noteConnection(tx, site, answer, actor)
  const enqueued = answer.ok && site.syncedAt === null
  if (enqueued) await enqueueFirstSync(tx, site, actor)
  return { connectivity, due: enqueued || isBack }
}

/** Once for each working connection; if that sync fails, the next one is due by the clock. */
const enqueueFirstSync = async (tx: Tx, site: SiteRow, createdBy: string): Promise<void> => {
  const role = site.role as SiteRole
  await enqueue(tx, [
    {
      kind: `sync-${role}`,
      payload: { [role]: site.name, mode: 'full', reason: 'first' },
      subject: { type: role, id: site.name },
      tokens: [syncToken(role, site.name)],
      idempotencyKey: `first-sync/${site.id}/${site.version}`,
      createdBy,
    },
  ])
}

const changedMeanwhile = (site: SiteRow): DroverError =>
  new DroverError({
    code: 'site-changed',
    class: 'transient',
    message: `The connection of ${site.name} was changed while it was looked at.`,
    remedy: 'Nothing to do: it is looked at once more.',
  })
