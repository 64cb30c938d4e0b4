import { z } from '@hono/zod-openapi'
import { v7 as uuidv7 } from 'uuid'
import type { Queryable, Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import {
  findSiteByName,
  insertSite,
  listSites,
  lockSiteByName,
  type SiteLine,
} from '../../../../db/queries/sites/site-rows.ts'
import { connectivityStates } from '../../../domain/inventory/connectivity.ts'
import { readSettings, type SiteRole } from '../../../domain/inventory/site-settings.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { platformKinds } from '../../../platforms/ports/connection.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { listRoute, showRoute } from '../../http/read-routes.ts'
import { defineRoute, ifMatchHeaders, json, jsonBody, newResource } from '../../http/route.ts'
import { etagOf, requireVersion } from '../../wire/preconditions.ts'
import { notFound } from '../../wire/problem.ts'
import { confirmFinished } from '../../wire/schemas.ts'
import { changeSite, saveLimits } from './site-change.ts'
import { enqueueCheck } from './site-jobs.ts'
import { removeSite, removingSchema } from './site-removal.ts'
import { sealPassword } from './site-secret.ts'
import {
  newSiteSchema,
  readSiteDetail,
  siteChangeSchema,
  siteDetailSchema,
  siteSchema,
  viewSite,
} from './site-view.ts'

export const siteParams = z.object({ name: nameSchema })

/** `sources` or `targets`; to the types one of them, since the routes are the same. */
export const nounOf = (role: SiteRole) => `${role}s` as 'sources'
export const tagOf = (role: SiteRole) => (role === 'source' ? 'Sources' : 'Targets')

export const findSite = async (db: Queryable, role: SiteRole, name: string): Promise<SiteLine> => {
  const site = await findSiteByName(db, role, name)
  if (!site) throw notFound(role, name)
  return site
}

export const lockSite = async (tx: Tx, role: SiteRole, name: string): Promise<SiteLine> => {
  const site = await lockSiteByName(tx, role, name)
  if (!site) throw notFound(role, name)
  return site
}

const readingPart = (role: SiteRole) => {
  const [noun, tag] = [nounOf(role), tagOf(role)]
  const list = listRoute({
    path: `/${noun}`,
    tag,
    summary: `List ${noun} by name`,
    query: {
      kind: z.enum(platformKinds).optional(),
      connectivity: z.enum(connectivityStates).optional(),
    },
    item: siteSchema(role),
    page: `${tag.slice(0, -1)}Page`,
    says: `A page of ${noun}`,
    sortedBy: 'name',
    read: ({ db }, { kind, connectivity }, at) => listSites(db, { role, kind, connectivity }, at),
    view: viewSite,
  })
  const show = showRoute({
    path: `/${noun}/{name}`,
    tag,
    summary: `Show a ${role}, its connection, its last sync and how much it has`,
    description: 'The password is never shown: `has_password` says whether there is one.',
    params: siteParams,
    schema: siteDetailSchema(role),
    says: `The ${role}; its ETag is for If-Match`,
    noun: role,
    find: ({ db }, name) => findSiteByName(db, role, name),
    view: (site, { db }) => readSiteDetail(db, site),
    version: (site) => site.version,
  })
  return (deps: ApiDeps) => show(deps, list(deps))
}

const changingRoutes = (role: SiteRole) => {
  const [noun, tag] = [nounOf(role), tagOf(role)]
  return {
    create: defineRoute({
      method: 'post',
      path: `/${noun}`,
      role: 'admin',
      tag,
      summary: `Add a ${role}`,
      description:
        'It is stored and a check of the connection is enqueued with it; `connectivity` says how that went, and ' +
        'the first sync follows a good check by itself.',
      request: { body: jsonBody(newSiteSchema(role)) },
      responses: { 201: json(siteSchema(role), 'Stored, with its connectivity unknown') },
    }),
    change: defineRoute({
      method: 'patch',
      path: `/${noun}/{name}`,
      role: 'admin',
      tag,
      summary: `Change a ${role}`,
      description:
        'Another address, user name, password or certificate sets `connectivity` to unknown and enqueues a check. ' +
        'Another address needs the password with it: a stored one is never sent to a new address.',
      request: { params: siteParams, headers: ifMatchHeaders, body: jsonBody(siteChangeSchema(role)) },
      responses: { 200: json(siteSchema(role), 'Changed') },
    }),
    remove: defineRoute({
      method: 'delete',
      path: `/${noun}/{name}`,
      role: 'admin',
      tag,
      summary: `Remove a ${role} and its inventory`,
      description:
        'Refused while jobs run for it or batches hold its instances. Finished migrations are forgotten with it, which ' +
        'needs `confirm_finished`. A large inventory goes in parts: 202 says that there is more; send the same request ' +
        'again until 204.',
      request: {
        params: siteParams,
        query: z.object({ confirm_finished: confirmFinished.query }),
        headers: ifMatchHeaders,
      },
      responses: {
        202: json(removingSchema, 'A part is removed; send it again'),
        204: { description: 'Removed' },
      },
    }),
  }
}

const audit = (tx: Tx, site: SiteLine, verb: string, actor: string, detail: Record<string, unknown>) =>
  insertAuditEvent(tx, {
    type: `${site.role}.${verb}`,
    subject: { type: site.role, id: site.name },
    actor,
    detail,
  })

type NewSiteBody = z.infer<ReturnType<typeof newSiteSchema>>

const createSite = async (tx: Tx, deps: ApiDeps, asked: NewSiteBody & { role: SiteRole; by: string }) => {
  const { role, by, password, ...body } = asked
  const { check_interval_seconds: nextCheckSeconds } = readSettings(role, body.settings)
  const row = { ...body, id: uuidv7(), role, createdBy: by }
  const site = await insertSite(
    tx,
    { ...row, secret: sealPassword(deps.sealer, row, password) },
    nextCheckSeconds,
  )
  await saveLimits(tx, site, by)
  await audit(tx, site, 'created', by, { kind: body.kind, endpoint: body.endpoint, username: body.username })
  await enqueueCheck(tx, site, { by, anew: true })
  return {
    status: 201 as const,
    body: viewSite(site),
    headers: { Location: `/v1/${nounOf(role)}/${site.name}`, ETag: etagOf(site.version) },
  }
}

const changingPart = (role: SiteRole) => {
  const { create, change, remove } = changingRoutes(role)
  return (deps: ApiDeps) =>
    newResource()
      .openapi(create, async (c) => {
        const body = c.req.valid('json')
        const by = c.get('actor').name
        const answer = await once(c, deps, (tx) => createSite(tx, deps, { ...body, role, by }))
        nudge(deps.db)
        return c.json(answer.body, 201)
      })
      .openapi(change, async (c) => {
        const by = c.get('actor').name
        const site = (await deps.db.begin(async (tx) => {
          const before = await lockSite(tx, role, c.req.valid('param').name)
          requireVersion(c.req.valid('header')['if-match'], before.version)
          return await changeSite(tx, deps.sealer, before, { ...c.req.valid('json'), by })
        })) as SiteLine
        nudge(deps.db)
        c.header('ETag', etagOf(site.version))
        return c.json(viewSite(site), 200)
      })
      .openapi(remove, async (c) => {
        const left = await removeSite(deps, {
          role,
          name: c.req.valid('param').name,
          ifMatch: c.req.valid('header')['if-match'],
          by: c.get('actor').name,
          confirmedFinished: c.req.valid('query').confirm_finished,
        })
        return left === undefined ? c.body(null, 204) : c.json(left, 202)
      })
}

/** `/sources`: everything but the verbs, which are in site-verbs.ts. */
export const sources = [readingPart('source'), changingPart('source')] as const
/** `/targets`, the same way. */
export const targets = [readingPart('target'), changingPart('target')] as const
