import type { Tx } from '../../db/client.ts'
import { loadSite, lockSite } from '../../db/queries/load-site.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import { type SiteRole, syncToken } from '../domain/inventory/site-settings.ts'
import { asDroverError, DroverError } from '../errors.ts'
import { enqueue } from '../ledger/enqueue.ts'
import { nudge } from '../ledger/nudge.ts'
import { requireSameInstallation } from './connectivity.ts'
import { type ConnectionAnswer, noteConnection } from './note-connection.ts'
import { siteAbsent } from './read-site.ts'
import { probeTimeoutMs, type UsePlatform } from './sync-site.ts'
import { actorOf, type Turn } from './turn.ts'

/** Looks at the connection of a source or target and writes down what it is like. */
export const checkSite = async (
  turn: Turn,
  use: UsePlatform,
  asked: { readonly role: SiteRole; readonly name: string },
): Promise<{ readonly connectivity: string; readonly code: string | null }> => {
  const site = await loadSite(turn.db, asked)
  if (!site) throw siteAbsent(asked.role, asked.name)
  const answer = await look(turn, use, site)
  const written = await turn.transaction((tx) => write(tx, turn, site, answer))
  if (written.due) nudge(turn.db)
  return { connectivity: written.connectivity, code: answer.ok ? null : answer.error.code }
}

const look = async (turn: Turn, use: UsePlatform, site: SiteRow): Promise<ConnectionAnswer> => {
  try {
    return await use(site, async (platform) => {
      const identity = await platform.probe({
        signal: turn.signal,
        timeoutMs: probeTimeoutMs(site),
        name: `check-${turn.job.id}-${turn.job.leaseEpoch}`,
      })
      requireSameInstallation(site, identity)
      return { ok: true, identity, capabilities: [...platform.capabilities].sort() }
    })
  } catch (thrown) {
    const error = asDroverError(thrown)
    // A defect of ours says nothing about the site.
    if (turn.signal.aborted || error.class === 'bug') throw thrown
    return { ok: false, error }
  }
}

/** Whether the connection is still the one that was looked at: a person may have changed it meanwhile. */
const isSame = (now: SiteRow, seen: SiteRow): boolean =>
  now.version === seen.version && now.endpoint === seen.endpoint

const write = async (
  tx: Tx,
  turn: Turn,
  seen: SiteRow,
  answer: ConnectionAnswer,
): Promise<{ readonly connectivity: string; readonly due: boolean }> => {
  const site = await lockSite(tx, seen.id)
  if (!site) throw siteAbsent(seen.role, seen.name)
  if (!isSame(site, seen)) throw changedMeanwhile(site)
  const actor = actorOf(turn)
  const { connectivity, isBack } = await noteConnection(tx, site, answer, actor)
  const enqueued = answer.ok && site.syncedAt === null
  if (enqueued) await enqueueFirstSync(tx, site, actor)
  return { connectivity, due: enqueued || isBack }
}

/** Once for each state of the connection that works: should it fail, the next one is due by the clock. */
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
