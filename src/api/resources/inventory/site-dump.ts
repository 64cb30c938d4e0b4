import { z } from '@hono/zod-openapi'
import {
  dumpTables,
  readDumpJobs,
  readDumpPage,
  readDumpWarnings,
} from '../../../../db/queries/sites/read-site-dump.ts'
import type { SiteLine } from '../../../../db/queries/sites/site-rows.ts'
import { version } from '../../../config/config.ts'
import { rulesVersion } from '../../../domain/inventory/rules/catalogue.ts'
import type { SiteRole } from '../../../domain/inventory/site-settings.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, newResource } from '../../http/route.ts'
import { scrub } from '../../lists/scrub.ts'
import { streamText } from '../../lists/text-stream.ts'
import { readSiteDetail } from './site-view.ts'
import { findSite, nounOf, siteParams, tagOf } from './sites.ts'

const pageRows = 200
const jobsMax = 50

const dumpRoute = (role: SiteRole) =>
  defineRoute({
    method: 'get',
    path: `/${nounOf(role)}/{name}/:verb{:dump}`,
    role: 'operator',
    tag: tagOf(role),
    summary: `Everything known about a ${role}, for support, without secrets`,
    description:
      'A line of JSON each: the site, networks, hosts, storage, projects, instances with their findings, warnings ' +
      'and the last 50 jobs. What looks like a password in names, notes and attributes is taken out. The last ' +
      'line has `type` `end`: without it the dump was cut off.',
    request: { params: siteParams },
    responses: {
      200: { description: 'A stream', content: { 'application/x-ndjson': { schema: z.string() } } },
    },
  })

const lineOf = (type: string, value: unknown): string =>
  `${JSON.stringify({ ...(scrub(value) as object), type })}\n`

async function* linesOf(deps: ApiDeps, site: SiteLine, signal: AbortSignal): AsyncGenerator<string> {
  const { db } = deps
  const role = site.role as SiteRole
  const detail = await readSiteDetail(db, site)
  yield lineOf('dump', { drover: version, rules: rulesVersion, at: new Date() })
  yield lineOf(role, detail)
  let lines = 2
  for (const table of dumpTables) {
    for (let after: string | undefined; ; ) {
      signal.throwIfAborted()
      const rows = await readDumpPage(db, table, { siteId: site.id, after, limit: pageRows })
      if (rows.length > 0) yield rows.map((row) => lineOf(table, row)).join('')
      lines += rows.length
      after = rows.at(-1)?.id
      if (rows.length < pageRows) break
    }
  }
  const place = { id: site.id, role, name: site.name }
  const warnings = await readDumpWarnings(db, place)
  const jobs = await readDumpJobs(db, place, jobsMax)
  yield warnings.map((row) => lineOf('warning', { ...row, warning: row.type })).join('') +
    jobs.map((row) => lineOf('job', row)).join('')
  yield lineOf('end', { lines: lines + warnings.length + jobs.length + 1 })
}

const dump = (role: SiteRole) => {
  const route = dumpRoute(role)
  return (deps: ApiDeps) =>
    newResource().openapi(route, async (c) => {
      const site = await findSite(deps.db, role, c.req.valid('param').name)
      const answer = streamText(c, deps, {
        type: 'application/x-ndjson',
        fileName: `${role}-${site.name}.ndjson`,
        pieces: (signal) => linesOf(deps, site, signal),
      })
      // The library knows the types of JSON and plain text alone.
      return answer as never
    })
}

/** `/sources/{name}/:dump`, and the same for targets. */
export const sourceDump = dump('source')
export const targetDump = dump('target')
