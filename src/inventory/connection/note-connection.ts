import type { Tx } from '../../../db/client.ts'
import { wakeBlocked } from '../../../db/queries/entries/wake-blocked.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { hurryDownJobs } from '../../../db/queries/sites/hurry-down-jobs.ts'
import { lookAtDown } from '../../../db/queries/sites/look-at-down.ts'
import { recordConnectivity } from '../../../db/queries/sites/record-connectivity.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import {
  type ConnectivityState,
  checkSecondsAfter,
  connectivityAfter,
} from '../../domain/inventory/connectivity.ts'
import { readSettings, type SiteRole } from '../../domain/inventory/site-settings.ts'
import { type DroverError, recordError } from '../../errors.ts'
import type { PlatformIdentity } from '../../platforms/ports/ports.ts'
import { storableJson } from '../../storable.ts'
import { seenCertificateOf } from './connectivity.ts'
import { boundedTexts, mergeWarnings } from './warnings.ts'

export type ConnectionAnswer =
  | { readonly ok: true; readonly identity: PlatformIdentity; readonly capabilities: readonly string[] }
  | { readonly ok: false; readonly error: DroverError }

/**
 * Records the result of a connection to a site, with an event, a warning, and the entries whose sources are off
 * because of it. The caller holds the site's lock.
 */
export const noteConnection = async (
  tx: Tx,
  site: SiteRow,
  answer: ConnectionAnswer,
  actor: string,
): Promise<{ readonly connectivity: ConnectivityState; readonly isBack: boolean }> => {
  const code = answer.ok ? null : answer.error.code
  const connectivity = connectivityAfter(code, site.connectivity as ConnectivityState)
  const certificate = answer.ok ? null : seenCertificateOf(answer.error)
  const { check_interval_seconds: usual } = readSettings(site.role as SiteRole, site.settings)
  const isBack = answer.ok && site.connectivity !== 'ok'
  await recordConnectivity(tx, {
    siteId: site.id,
    connectivity,
    error: answer.ok ? null : storableJson(recordError(answer.error)),
    seenCertificate: certificate ? storableJson(certificate) : null,
    identity: answer.ok ? storableJson(answer.identity) : null,
    capabilities: answer.ok ? answer.capabilities : null,
    intervalSeconds: checkSecondsAfter(connectivity, code, usual),
    syncNow: isBack,
  })
  if (isBack) {
    await wakeBlocked(tx, site.role === 'target' ? { target: site.name } : { source: site.name })
    await hurryDownJobs(tx, site.id)
  }
  const place = { entityType: site.role, entityId: site.name, entityName: site.name }
  const said = answer.ok ? {} : { 'connection-failed': boundedTexts([answer.error.message]) }
  await mergeWarnings(tx, place, { types: ['connection-failed'], said, actor })
  if (connectivity !== site.connectivity) await lookAtDown(tx, site.id)
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
  return { connectivity, isBack }
}
