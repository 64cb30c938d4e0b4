import type { ImageState } from '../../../src/domain/template/image.ts'
import type { RecordedError } from '../../../src/errors.ts'
import type { Queryable } from '../../client.ts'
import type { ImageReplicaRow, ImageRow } from '../../schema/template.ts'
import { findImage, imageCalled } from './image-rows.ts'

/** An image with its job, targets and templates. The descriptor is left out: only workers need it. */
export type ImageLine = Omit<ImageRow, 'ovf'> & {
  /** `failed` also when the job ended and the image is not ready. */
  readonly shownState: ImageState
  readonly jobState: string | null
  readonly jobError: RecordedError | null
  readonly jobProgress: Readonly<Record<string, unknown>> | null
  /** Targets with a replica of the image. */
  readonly targets: readonly string[]
  /** Templates that want the image. */
  readonly templates: readonly string[]
}

export interface ImageFilter {
  readonly state?: ImageState | undefined
  readonly target?: string | undefined
  /** A part of the name, in any case. */
  readonly name?: string | undefined
}

/** A column: the state of image `i` with job `j`. */
const shownState = (db: Queryable) => db`
  case when i.state = 'importing' and (j.id is null or j.finished_at is not null) then 'failed' else i.state end`

const columns = (db: Queryable) => db`
  i.id, i.name, i.source, i.expected_digest, i.digest, i.size_bytes, i.verified, i.require_manifest, i.state, i.facts,
  i.error, i.job_id, i.version, i.created_by, i.created_at, i.deleted_at, ${shownState(db)} as shown_state,
  j.state as job_state, j.error as job_error, j.progress as job_progress,
  array(select distinct s.name from image_replica r join site s on s.id = r.target_id
    where r.image_id = i.id and r.state <> 'gone' order by s.name) as targets,
  array(select t.name from template t where t.image_id = i.id and t.deleted_at is null order by t.name) as templates`

/** Newest first. Deleted images are listed only with the filter on their state. */
export const listImages = async (
  db: Queryable,
  filter: ImageFilter,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<ImageLine[]> => db<ImageLine[]>`
  select ${columns(db)} from image i left join job j on j.id = i.job_id
  where ${filter.state === undefined ? db`i.deleted_at is null` : db`${shownState(db)} = ${filter.state}`}
    ${filter.name === undefined ? db`` : db`and strpos(lower(i.name), lower(${filter.name})) > 0`}
    ${
      filter.target === undefined
        ? db``
        : db`and exists (select from image_replica r join site s on s.id = r.target_id
            where r.image_id = i.id and r.state <> 'gone' and s.name = ${filter.target})`
    }
    ${page.before === undefined ? db`` : db`and i.id < ${page.before}::uuid`}
  order by i.id desc limit ${page.limit}`

export const readImage = async (db: Queryable, idOrName: string): Promise<ImageLine | undefined> => {
  const [row] = await db<ImageLine[]>`
    select ${columns(db)} from image i left join job j on j.id = i.job_id where ${imageCalled(db, idOrName)}`
  return row
}

/** The whole row, in the state that is shown: an import whose job has ended without it is waited for by nobody. */
export const findShownImage = async (db: Queryable, idOrName: string): Promise<ImageRow | undefined> => {
  const image = await findImage(db, idOrName)
  const line = image && (await readImage(db, image.id))
  return line && { ...image, state: line.shownState }
}

export type ReplicaLine = ImageReplicaRow & {
  readonly image: string
  readonly target: string
  /** The template that uses the replica; null: on the shelf. */
  readonly template: string | null
}

/** Existing replicas of an image or of a template, oldest first. */
export const listReplicaLines = async (
  db: Queryable,
  of: { readonly imageId: string } | { readonly templateId: string },
): Promise<ReplicaLine[]> => db<ReplicaLine[]>`
  select r.*, i.name as image, coalesce(s.name, '') as target, t.name as template
  from image_replica r join image i on i.id = r.image_id left join site s on s.id = r.target_id left join template t on t.id = r.template_id
  where ${'imageId' in of ? db`r.image_id = ${of.imageId}::uuid` : db`r.template_id = ${of.templateId}::uuid`}
    and r.state <> 'gone'
  order by r.id`
