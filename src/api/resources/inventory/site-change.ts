import type { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { wakeBlocked } from '../../../../db/queries/entries/wake-blocked.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { type SiteLine, updateSite } from '../../../../db/queries/sites/site-rows.ts'
import { lockLimit, writeLimit } from '../../../../db/queries/tokens/limits.ts'
import { type SiteRole, settingsSchemaOf, siteLimits } from '../../../domain/inventory/site-settings.ts'
import type { Sealer } from '../../../seal/seal.ts'
import { fieldErrors, problem, validationProblem } from '../../wire/problem.ts'
import { enqueueCheck } from './site-jobs.ts'
import { sealedFor } from './site-secret.ts'
import type { siteChangeSchema } from './site-view.ts'

type Change = z.infer<ReturnType<typeof siteChangeSchema>>

/** Sets the admission limits that the site's settings mean, where they are not so already. */
export const saveLimits = async (tx: Tx, site: SiteLine, by: string): Promise<void> => {
  const limits = siteLimits({ role: site.role as SiteRole, name: site.name, settings: site.settings })
  for (const { token, capacity } of limits) {
    const before = await lockLimit(tx, token)
    if (before?.capacity !== capacity) await writeLimit(tx, { name: token, capacity, by })
  }
}

const mergedSettings = (site: SiteLine, given: Change['settings']) => {
  if (given === undefined) return undefined
  const merged = settingsSchemaOf(site.role as SiteRole).safeParse({ ...site.settings, ...given })
  if (merged.success) return merged.data
  throw validationProblem(fieldErrors(merged.error, 'settings'))
}

/**
 * Which of the fields that decide about the connection would be others than they are. Where another installation
 * answers, saving them as they are counts too: that is how a person says that it is the right one.
 */
const connectionChanges = (site: SiteLine, change: Change): string[] => {
  const confirms = site.connectivityError?.code === 'platform-identity-changed'
  return [
    ...(['endpoint', 'username', 'ca', 'fingerprint'] as const).filter(
      (field) => change[field] !== undefined && (confirms || change[field] !== site[field]),
    ),
    ...(change.password === undefined ? [] : ['password']),
  ]
}

/** Changes a site whose lock the caller holds, and has its connection checked anew where that is at stake. */
export const changeSite = async (
  tx: Tx,
  sealer: Sealer,
  site: SiteLine,
  asked: Change & { readonly by: string },
): Promise<SiteLine> => {
  const { by, ...change } = asked
  const connection = connectionChanges(site, change)
  const moves = change.endpoint !== undefined && change.endpoint !== site.endpoint
  if (moves && site.hasPassword && change.password === undefined)
    throw problem('password-required', 'The address changes: give the password with it.', {
      field: 'password',
      errors: [{ field: 'password', message: 'is required when the endpoint changes' }],
    })
  const settings = mergedSettings(site, change.settings)
  const changed = await updateSite(tx, site.id, {
    endpoint: change.endpoint,
    username: change.username,
    ca: change.ca,
    fingerprint: change.fingerprint,
    secret: await sealedFor(tx, sealer, site, change),
    settings,
    forgetConnection: connection.length > 0,
  })
  if (settings) await saveLimits(tx, changed, by)
  if (site.role === 'target') await wakeBlocked(tx, { target: site.name })
  await insertAuditEvent(tx, {
    type: `${site.role}.changed`,
    subject: { type: site.role, id: site.name },
    actor: by,
    detail: {
      fields: [...connection, ...Object.keys(change.settings ?? {}).map((name) => `settings.${name}`)],
      ...(connection.includes('endpoint') ? { endpoint: changed.endpoint } : {}),
    },
  })
  if (connection.length > 0) await enqueueCheck(tx, changed, { by, anew: true })
  return changed
}
