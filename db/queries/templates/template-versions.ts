import type { VersionCause } from '../../../src/domain/template/version.ts'
import type { RecordedError } from '../../../src/errors.ts'
import { storableJson } from '../../../src/storable.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { TemplateVersionRow } from '../../schema/template.ts'

/** Newest first. */
export const listVersions = async (
  db: Queryable,
  templateId: string,
  page: { readonly before?: number | undefined; readonly limit: number },
): Promise<TemplateVersionRow[]> => db<TemplateVersionRow[]>`
  select * from template_version
  where template_id = ${templateId}::uuid
    ${page.before === undefined ? db`` : db`and number < ${page.before}`}
  order by number desc limit ${page.limit}`

export const findVersion = async (
  db: Queryable,
  templateId: string,
  number: number,
): Promise<TemplateVersionRow | undefined> => {
  const [row] = await db<TemplateVersionRow[]>`
    select * from template_version where template_id = ${templateId}::uuid and number = ${number}`
  return row
}

/**
 * Adds a new wanted version. A version that was wanted until now is withdrawn. The caller holds the template's lock;
 * the version of the row is incremented, so an older ETag no longer matches.
 */
export const wantVersion = async (
  tx: Tx,
  templateId: string,
  wanted: {
    readonly imageId: string
    readonly cause: VersionCause
    readonly by: string
    /** Why the swap to the previously wanted version failed; null: the swap had not failed. */
    readonly error: RecordedError | null
  },
): Promise<TemplateVersionRow> => {
  await tx`
    update template_version set state = 'withdrawn', retired_at = now(),
      error = ${wanted.error === null ? null : storableJson(wanted.error)}::text::jsonb
    where template_id = ${templateId}::uuid and state = 'wanted'`
  const [row] = await tx<TemplateVersionRow[]>`
    with raised as (
      update template set image_id = ${wanted.imageId}::uuid, version = version + 1, updated_at = now(),
        version_wanted = (select max(number) from template_version where template_id = ${templateId}::uuid) + 1
      where id = ${templateId}::uuid returning id, version_wanted
    )
    insert into template_version (template_id, number, image_id, cause, by)
    select id, version_wanted, ${wanted.imageId}::uuid, ${wanted.cause}, ${wanted.by} from raised
    returning *`
  if (!row) throw new Error('A version of a template was not stored.')
  return row
}

/** The version is no longer live; its replica is kept. */
export const retireVersion = async (
  tx: Tx,
  of: { readonly templateId: string; readonly number: number },
): Promise<void> => {
  await tx`
    update template_version set state = 'kept', retired_at = now()
    where template_id = ${of.templateId}::uuid and number = ${of.number} and state = 'live'`
}

/**
 * Records that the name points at this version. At most one version is live: the caller retires the previous one
 * first.
 */
export const makeVersionLive = async (
  tx: Tx,
  of: { readonly templateId: string; readonly number: number },
  live: { readonly replicaId: string; readonly swapMs: number; readonly gapMs: number },
): Promise<void> => {
  await tx`
    update template_version set state = 'live', replica_id = ${live.replicaId}::uuid, live_at = now(),
      swap_ms = ${Math.round(live.swapMs)}, gap_ms = ${Math.round(live.gapMs)}
    where template_id = ${of.templateId}::uuid and number = ${of.number} and state = 'wanted'`
}
