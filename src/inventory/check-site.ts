import type { Tx } from '../../db/client.ts'
import { insertAuditEvent } from '../../db/queries/insert-audit-event.ts'
import { loadSite, lockSite } from '../../db/queries/load-site.ts'
import { recordConnectivity } from '../../db/queries/record-connectivity.ts'
import { wakeBlocked } from '../../db/queries/wake-blocked.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import { type ConnectivityState, connectivityAfter } from '../domain/inventory/connectivity.ts'
import { readSettings, type SiteRole, syncToken } from '../domain/inventory/site-settings.ts'
import { asDroverError, DroverError, recordError } from '../errors.ts'
import { enqueue } from '../ledger/enqueue.ts'
import { nudge } from '../ledger/nudge.ts'
import type { PlatformIdentity } from '../platforms/ports.ts'
import { storableJson } from '../storable.ts'
import { requireSameInstallation, seenCertificateOf } from './connectivity.ts'
import { siteAbsent } from './read-site.ts'
import { probeTimeoutMs, type UsePlatform } from './sync-site.ts'
import { actorOf, type Turn } from './turn.ts'
import { boundedTexts, mergeWarnings } from './warnings.ts'

type Answer =
  | { readonly ok: true; readonly identity: PlatformIdentity; readonly capabilities: readonly string[] }
  | { readonly ok: false; readonly error: DroverError }

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

const look = async (turn: Turn, use: UsePlatform, site: SiteRow): Promise<Answer> => {
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
  answer: Answer,
): Promise<{ readonly connectivity: string; readonly due: boolean }> => {
  const site = await lockSite(tx, seen.id)
  if (!site) throw siteAbsent(seen.role, seen.name)
  if (!isSame(site, seen)) throw changedMeanwhile(site)
  const code = answer.ok ? null : answer.error.code
  const connectivity = connectivityAfter(code, site.connectivity as ConnectivityState)
  const certificate = answer.ok ? null : seenCertificateOf(answer.error)
  const settings = readSettings(site.role as SiteRole, site.settings)
  const isBack = answer.ok && site.connectivity !== 'ok'
  await recordConnectivity(tx, {
    siteId: site.id,
    connectivity,
    error: answer.ok ? null : storableJson(recordError(answer.error)),
    seenCertificate: certificate ? storableJson(certificate) : null,
    identity: answer.ok ? storableJson(answer.identity) : null,
    capabilities: answer.ok ? answer.capabilities : null,
    intervalSeconds: settings.check_interval_seconds,
    syncNow: isBack,
  })
  if (isBack) await wakeBlocked(tx, site.role === 'target' ? { target: site.name } : { source: site.name })
  const actor = actorOf(turn)
  const place = { entityType: site.role, entityId: site.name, entityName: site.name }
  const said = answer.ok ? {} : { 'connection-failed': boundedTexts([answer.error.message]) }
  await mergeWarnings(tx, place, { types: ['connection-failed'], said, actor })
  if (connectivity !== site.connectivity || code !== (site.connectivityError?.code ?? null))
    await insertAuditEvent(tx, {
      type: `${site.role}.connectivity-changed`,
      subject: { type: site.role, id: site.name },
      actor,
      from: site.connectivity,
      to: connectivity,
      ...(answer.ok ? {} : { reason: answer.error.message }),
      detail: { code },
    })
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
