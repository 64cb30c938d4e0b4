import type { SiteRole } from '../../../src/domain/inventory/site-settings.ts'
import type { Queryable } from '../../client.ts'

/** What a dump holds besides the site: read page by page, in the order of ids. */
export const dumpTables = ['network', 'host', 'storage', 'project', 'instance'] as const
export type DumpTable = (typeof dumpTables)[number]

type Row = Readonly<Record<string, unknown>> & { readonly id: string }

/** The rows of one table of a site as stored, tombstones too, in the API's spelling. */
export const readDumpPage = async (
  db: Queryable,
  table: DumpTable,
  page: { siteId: string; after: string | undefined; limit: number },
): Promise<Row[]> => {
  const rows = await db<{ row: Row }[]>`
    select to_jsonb(t) - 'site_id' - 'hash' ${table === 'instance' ? withFindings(db) : db``} as row
    from ${db(table as string)} t
    where t.site_id = ${page.siteId}::uuid and ${page.after === undefined ? db`true` : db`t.id > ${page.after}::uuid`}
    order by t.id limit ${page.limit}`
  return rows.map(({ row }) => row)
}

const withFindings = (db: Queryable) => db`
  || jsonb_build_object('findings', coalesce((
    select jsonb_agg(to_jsonb(f) - 'instance_id' order by f.rule) from finding f where f.instance_id = t.id), '[]'))`

export const readDumpWarnings = async (
  db: Queryable,
  site: { id: string; role: SiteRole; name: string },
): Promise<Row[]> => {
  const rows = await db<{ row: Row }[]>`
    select to_jsonb(w) as row from warning w
    where (entity_type = ${site.role} and entity_id in (${site.id}, ${site.name}))
      or (entity_type = 'instance' and exists (
        select from instance i where i.id::text = w.entity_id and i.site_id = ${site.id}::uuid))
    order by id limit 1000`
  return rows.map(({ row }) => row)
}

/** The newest jobs of the site. */
export const readDumpJobs = async (
  db: Queryable,
  site: { role: SiteRole; name: string },
  limit: number,
): Promise<Row[]> => {
  const rows = await db<{ row: Row }[]>`
    select jsonb_build_object('id', j.id, 'kind', j.kind, 'state', j.state, 'payload', j.payload,
      'attempt', j.attempt, 'generation', j.generation, 'error', j.error, 'result', j.result,
      'progress', j.progress, 'wait_reason', j.wait_reason, 'created_by', j.created_by, 'created_at', j.created_at,
      'started_at', j.started_at, 'finished_at', j.finished_at) as row
    from (select job_id from job_search where subject_type = ${site.role} and subject_id = ${site.name}
      order by job_id desc limit ${limit}) s join job j on j.id = s.job_id
    order by j.id desc`
  return rows.map(({ row }) => row)
}
