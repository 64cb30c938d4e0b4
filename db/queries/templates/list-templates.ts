import type { JobPause } from '../../../src/domain/template/shown.ts'
import type { TemplateState } from '../../../src/domain/template/state.ts'
import type { RecordedError } from '../../../src/errors.ts'
import type { Queryable } from '../../client.ts'
import type { TemplateRow, TemplateVersionRow } from '../../schema/template.ts'

/** A template with its target, images and job. */
export type TemplateLine = TemplateRow & {
  readonly target: string
  /** The name of the wanted image. */
  readonly image: string
  /** The name of the live image. */
  readonly imageLive: string | null
  readonly jobState: string | null
  readonly jobError: RecordedError | null
  readonly jobProgress: Readonly<Record<string, unknown>> | null
  readonly jobWaitDetail: string | null
  /** The pause that holds its job. */
  readonly jobPause: JobPause | null
}

export interface TemplateFilter {
  readonly target?: string | undefined
  readonly state?: TemplateState | undefined
  /** The id or the name of the wanted image. */
  readonly image?: string | undefined
}

const lines = (db: Queryable) => db`
  select t.*, coalesce(s.name, '') as target, i.name as image, live.name as image_live, j.state as job_state,
    j.error as job_error, j.progress as job_progress,
    j.wait_detail as job_wait_detail, (
      select jsonb_build_object('by', p.paused_by, 'scope', p.scope, 'name', p.name, 'reason', p.reason) from pause p
      where j.state = 'ready' and ((p.scope = 'kind' and p.name = j.kind) or (p.scope = 'lane' and p.name = j.lane))
      order by p.paused_at limit 1) as job_pause
  from template t join image i on i.id = t.image_id left join site s on s.id = t.target_id
    left join template_version v on v.template_id = t.id and v.number = t.version_live
    left join image live on live.id = v.image_id left join job j on j.id = t.job_id`

/** Sorted by name, without forgotten templates. */
export const listTemplates = async (
  db: Queryable,
  filter: TemplateFilter,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<TemplateLine[]> => db<TemplateLine[]>`
  ${lines(db)}
  where t.deleted_at is null
    ${filter.target === undefined ? db`` : db`and s.name = ${filter.target}`}
    ${filter.state === undefined ? db`` : db`and t.state = ${filter.state}`}
    ${filter.image === undefined ? db`` : db`and (i.name = ${filter.image} or i.id::text = ${filter.image})`}
    ${page.after === undefined ? db`` : db`and t.name > ${page.after}`}
  order by t.name limit ${page.limit}`

export const readTemplate = async (db: Queryable, name: string): Promise<TemplateLine | undefined> => {
  const [row] = await db<TemplateLine[]>`${lines(db)} where t.name = ${name} and t.deleted_at is null`
  return row
}

export type VersionLine = TemplateVersionRow & {
  readonly image: string
  readonly digest: string | null
  /** The product version in the descriptor of the image. */
  readonly imageVersion: string | null
}

/** Newest first. */
export const listVersionLines = async (
  db: Queryable,
  templateId: string,
  page: { readonly before?: number | undefined; readonly limit: number },
): Promise<VersionLine[]> => db<VersionLine[]>`
  select v.*, i.name as image, i.digest, i.facts ->> 'version' as image_version
  from template_version v join image i on i.id = v.image_id
  where v.template_id = ${templateId}::uuid
    ${page.before === undefined ? db`` : db`and v.number < ${page.before}`}
  order by v.number desc limit ${page.limit}`

interface Named {
  readonly count: number
  /** The first few names. */
  readonly some: readonly string[]
}

/** Existing templates on a site, and images with a replica there. */
export const findTemplatesOn = async (
  db: Queryable,
  siteId: string,
): Promise<{ readonly templates: Named; readonly images: Named }> => {
  const templates = await db<{ name: string; count: number }[]>`
    select name, count(*) over ()::int as count from template
    where target_id = ${siteId}::uuid and deleted_at is null order by name limit 5`
  const images = await db<{ name: string; count: number }[]>`
    select i.name, count(*) over ()::int as count from image i
    where exists (select from image_replica r
      where r.image_id = i.id and r.target_id = ${siteId}::uuid and r.state <> 'gone')
    order by i.name limit 5`
  return { templates: named(templates), images: named(images) }
}

const named = (rows: readonly { readonly name: string; readonly count: number }[]): Named => ({
  count: rows[0]?.count ?? 0,
  some: rows.map(({ name }) => name),
})
