import type { Queryable } from '../../client.ts'

/**
 * How a template refers to an image. `holds`: the template has an object with the image, but no version needs the
 * image.
 */
export interface ImageUse {
  readonly template: string
  readonly use: 'live' | 'wants' | 'keeps' | 'holds'
  readonly version: number | null
}

/** Existing templates that refer to an image, each with its most important use. */
export const findImageUses = async (db: Queryable, imageId: string): Promise<ImageUse[]> => db<ImageUse[]>`
  select distinct on (template) template, use, version from (
    select t.name as template, v.number as version,
      case v.state when 'live' then 'live' when 'wanted' then 'wants' else 'keeps' end as use
    from template_version v join template t on t.id = v.template_id
    where v.image_id = ${imageId}::uuid and t.deleted_at is null and v.state in ('live', 'wanted', 'kept')
    union all
    select t.name, null, 'holds' from image_replica r join template t on t.id = r.template_id
    where r.image_id = ${imageId}::uuid and t.deleted_at is null and r.state <> 'gone'
  ) found
  order by template, array_position(array['live', 'wants', 'keeps', 'holds'], use), version desc`

/** Jobs that make or remove a replica of the image and have not ended. */
export const findImageJobs = async (db: Queryable, imageId: string): Promise<string[]> => {
  const rows = await db<{ id: string }[]>`
    select job.id from job_search s join job on job.id = s.job_id
    where s.subject_type = 'image' and s.subject_id = ${imageId} and job.finished_at is null order by job.id`
  return rows.map(({ id }) => id)
}
