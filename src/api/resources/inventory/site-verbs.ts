import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { type SiteLine, updateSite } from '../../../../db/queries/sites/site-rows.ts'
import type { SiteRole } from '../../../domain/inventory/site-settings.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import type { Sealer } from '../../../seal/seal.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, json, jsonBody, newResource } from '../../http/route.ts'
import { problem } from '../../wire/problem.ts'
import { type AcceptedView, acceptedSchema } from '../../wire/schemas.ts'
import { type Accepted, enqueueCheck, enqueueSync, type SyncMode } from './site-jobs.ts'
import { sealedFor } from './site-secret.ts'
import { explainConnectivity, fingerprintSchema } from './site-view.ts'
import { lockSite, nounOf, siteParams, tagOf } from './sites.ts'

const verbRoutes = (role: SiteRole) => {
  const [noun, tag] = [nounOf(role), tagOf(role)]
  return {
    sync: defineRoute({
      method: 'post',
      path: `/${noun}/{name}/:verb{:sync}`,
      role: 'operator',
      tag,
      summary: `Read the inventory of a ${role} now`,
      description:
        `A sync that is under way and sees as much is answered with instead. A ${role} that ` +
        'suddenly shows nothing at all is not believed, unless `force` says so.',
      request: {
        params: siteParams,
        body: {
          required: false,
          content: {
            'application/json': {
              schema: z
                .strictObject({
                  mode: z.enum(['full', 'delta']).default('delta'),
                  force: z.boolean().default(false),
                })
                .openapi('SyncRequest', { example: { mode: 'full' } }),
            },
          },
        },
      },
      responses: { 202: json(acceptedSchema, 'A job does it; `Location` is where to look') },
    }),
    check: defineRoute({
      method: 'post',
      path: `/${noun}/{name}/:verb{:check}`,
      role: 'operator',
      tag,
      summary: `Check the connection to a ${role} now`,
      request: { params: siteParams },
      responses: { 202: json(acceptedSchema, 'A job does it; `Location` is where to look') },
    }),
    confirm: defineRoute({
      method: 'post',
      path: `/${noun}/{name}/:verb{:confirm-fingerprint}`,
      role: 'admin',
      tag,
      summary: `Trust the certificate that a ${role} answered with`,
      description:
        'Pins exactly the certificate in `connectivity.seen_certificate`, by its SHA-256 fingerprint. Compare it ' +
        'with what the server itself shows first.',
      request: {
        params: siteParams,
        body: jsonBody(
          z
            .strictObject({ fingerprint: fingerprintSchema })
            .openapi('FingerprintConfirmation', { example: { fingerprint: 'ab'.repeat(32) } }),
        ),
      },
      responses: { 202: json(acceptedSchema, 'Pinned; a job checks the connection with it') },
    }),
  }
}

const accepted = (job: Accepted) => ({
  status: 202 as const,
  body: job as AcceptedView,
  headers: { Location: `/v1/jobs/${job.id}` },
})

const sync = async (
  tx: Tx,
  site: SiteLine,
  asked: { mode?: SyncMode | undefined; force?: boolean | undefined; by: string },
) => {
  // Unknown without a reason: nobody has looked yet, and the sync itself will find out.
  const passable =
    site.connectivity === 'ok' || (site.connectivity === 'unknown' && site.connectivityError === null)
  const { message, remedy } = explainConnectivity(site)
  if (!passable)
    throw problem(
      'site-not-connected',
      `Its connectivity is ${site.connectivity}: ${message}`,
      remedy === null ? {} : { remedy },
    )
  return accepted(
    await enqueueSync(tx, site, { mode: asked.mode ?? 'delta', force: asked.force ?? false, by: asked.by }),
  )
}

const confirm = async (
  tx: Tx,
  sealer: Sealer,
  site: SiteLine,
  asked: { fingerprint: string; by: string },
) => {
  const seen = site.seenCertificate?.fingerprint?.replaceAll(':', '').toLowerCase()
  if (seen === undefined) throw problem('nothing-to-confirm', 'No certificate waits for a confirmation.')
  if (asked.fingerprint !== seen)
    throw problem('fingerprint-differs', 'That is not the fingerprint of the certificate that was seen last.')
  const secret = await sealedFor(tx, sealer, site, { fingerprint: seen })
  const changed = await updateSite(tx, site.id, { fingerprint: seen, secret, forgetConnection: true })
  await insertAuditEvent(tx, {
    type: `${site.role}.fingerprint-confirmed`,
    subject: { type: site.role, id: site.name },
    actor: asked.by,
    detail: { fingerprint: seen, before: site.fingerprint, certificate: site.seenCertificate },
  })
  return accepted(await enqueueCheck(tx, changed, { by: asked.by, anew: true }))
}

const verbs = (role: SiteRole) => {
  const routes = verbRoutes(role)
  return (deps: ApiDeps) =>
    newResource()
      .openapi(routes.sync, async (c) => {
        const { name } = c.req.valid('param')
        const by = c.get('actor').name
        const { mode, force } = c.req.valid('json')
        const answer = await once(c, deps, async (tx) =>
          sync(tx, await lockSite(tx, role, name), { mode, force, by }),
        )
        nudge(deps.db)
        return c.json(answer.body, 202)
      })
      .openapi(routes.check, async (c) => {
        const { name } = c.req.valid('param')
        const by = c.get('actor').name
        const answer = await once(c, deps, async (tx) =>
          accepted(await enqueueCheck(tx, await lockSite(tx, role, name), { by, anew: false })),
        )
        nudge(deps.db)
        return c.json(answer.body, 202)
      })
      .openapi(routes.confirm, async (c) => {
        const { name } = c.req.valid('param')
        const by = c.get('actor').name
        const { fingerprint } = c.req.valid('json')
        const answer = await once(c, deps, async (tx) =>
          confirm(tx, deps.sealer, await lockSite(tx, role, name), { fingerprint, by }),
        )
        nudge(deps.db)
        return c.json(answer.body, 202)
      })
}

/** `/sources/{name}/:sync`, `:check` and `:confirm-fingerprint`; the same for targets. */
export const sourceVerbs = verbs('source')
export const targetVerbs = verbs('target')
