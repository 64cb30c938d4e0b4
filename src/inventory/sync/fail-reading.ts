import type { Tx } from '../../../db/client.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { lockSite } from '../../../db/queries/sites/load-site.ts'
import { failSync } from '../../../db/queries/sync/end-sync.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { saysOfConnection } from '../../domain/inventory/connectivity.ts'
import { readSettings, type SiteRole } from '../../domain/inventory/site-settings.ts'
import { type DroverError, recordError } from '../../errors.ts'
import { actorOf, type JobContext } from '../../ledger/job.ts'
import { storableJson } from '../../storable.ts'
import { boundedTexts, mergeWarnings } from '../connection/warnings.ts'

/** Records that a reading failed. Everything known of the site stays. */
export const recordFailure = async (
  tx: Tx,
  failed: { readonly ctx: JobContext; readonly site: SiteRow; readonly error: DroverError },
): Promise<void> => {
  const { ctx, error } = failed
  const site = await lockSite(tx, failed.site.id)
  if (!site) return
  await failSync(tx, {
    siteId: site.id,
    error: storableJson(recordError(error)),
    // The cursor may have caused a repeated failure.
    forgetCursor: site.syncFailures > 0,
    intervalSeconds: readSettings(site.role as SiteRole, site.settings).sync_interval_seconds,
    checkNow: saysOfConnection(error.code) && site.connectivity === 'ok',
  })
  const actor = actorOf(ctx)
  const place = { entityType: site.role, entityId: site.name, entityName: site.name }
  const said = { 'sync-failed': boundedTexts([error.message]) }
  await mergeWarnings(tx, place, { types: ['sync-failed'], said, actor })
  // Each new reason gets one event: a source that is unreachable for a night does not fill the history.
  if (site.syncError?.code === error.code) return
  await insertAuditEvent(tx, {
    type: `${site.role}.sync-failed`,
    subject: { type: site.role, id: site.name },
    actor,
    reason: error.message,
    detail: { code: error.code, class: error.class },
  })
}
