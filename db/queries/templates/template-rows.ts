import { requireStart, requireTransition } from '../../../src/domain/table/state-table.ts'
import type { TemplatePlace } from '../../../src/domain/template/image.ts'
import { type TemplateEvent, templateTable } from '../../../src/domain/template/state.ts'
import { removalKind } from '../../../src/domain/template/version.ts'
import type { RecordedError } from '../../../src/errors.ts'
import { storableJson, storableText } from '../../../src/storable.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { TemplateRow } from '../../schema/template.ts'

/** Also a forgotten template. */
export const findTemplateById = async (db: Queryable, id: string): Promise<TemplateRow | undefined> => {
  const [row] = await db<TemplateRow[]>`select * from template where id = ${id}::uuid`
  return row
}

/** Locks the template until the transaction ends: requests and the records of its job exclude each other. */
export const lockTemplate = async (tx: Tx, name: string): Promise<TemplateRow | undefined> => {
  const [row] = await tx<TemplateRow[]>`
    select * from template where name = ${name} and deleted_at is null for no key update`
  return row
}

export const lockTemplateById = async (tx: Tx, id: string): Promise<TemplateRow | undefined> => {
  const [row] = await tx<TemplateRow[]>`select * from template where id = ${id}::uuid for no key update`
  return row
}

export interface NewTemplate extends TemplatePlace {
  readonly id: string
  readonly name: string
  readonly targetId: string
  readonly folder: string
  readonly production: string
  readonly imageId: string
  readonly keepVersions: number
  readonly graceSeconds: number
  readonly allowDowngrade: boolean
  readonly reason: string
  readonly message: string
  readonly by: string
}

/** Inserts a template with its first version, which is wanted. */
export const insertTemplate = async (tx: Tx, made: NewTemplate): Promise<TemplateRow> => {
  const [row] = await tx<TemplateRow[]>`
    with made as (
      insert into template (id, name, target_id, folder, production, project, pool, host, network, image_id,
        version_wanted, keep_versions, grace_seconds, allow_downgrade, state, reason, message, created_by)
      values (${made.id}::uuid, ${made.name}, ${made.targetId}::uuid, ${made.folder}, ${made.production},
        ${made.project}, ${made.pool}, ${made.host}, ${made.network}, ${made.imageId}::uuid, 1, ${made.keepVersions},
        ${made.graceSeconds}, ${made.allowDowngrade}, ${requireStart(templateTable, 'absent')}, ${made.reason},
        ${storableText(made.message)}, ${made.by})
      returning *
    ), first as (
      insert into template_version (template_id, number, image_id, cause, by)
      select id, version_wanted, image_id, 'create', created_by from made
    ), told as (
      insert into event (type, subject_type, subject_id, actor, to_state, reason, detail)
      select 'template.created', 'template', id, created_by, state, message,
        jsonb_build_object('name', name, 'image', image_id, 'version', version_wanted) from made
    )
    select * from made`
  if (!row) throw new Error('A template was not stored.')
  return row
}

export interface TemplateMove {
  readonly event: TemplateEvent
  readonly reason: string
  readonly message: string
  readonly actor: string
  readonly error?: RecordedError | null
  readonly jobId?: string
  readonly versionLive?: number
}

/** Moves a template by its table and writes the event. The caller holds the lock. */
export const moveTemplate = async (
  tx: Tx,
  template: TemplateRow,
  move: TemplateMove,
): Promise<TemplateRow> => {
  const { to } = requireTransition(templateTable, template.state, move.event)
  const [row] = await tx<TemplateRow[]>`
    with moved as (
      update template set state = ${to}, reason = ${move.reason}, message = ${storableText(move.message)},
        error = ${move.error ? storableJson(move.error) : null}::text::jsonb,
        job_id = coalesce(${move.jobId ?? null}::uuid, job_id),
        version_live = coalesce(${move.versionLive ?? null}::int, version_live), updated_at = now()
      where id = ${template.id}::uuid and state = ${template.state} returning *
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason, detail)
      select 'template.' || state, 'template', id, ${move.actor}, ${template.state}, state, message,
        jsonb_build_object('name', name, 'reason', reason, 'image', image_id, 'version_live', version_live,
          'version_wanted', version_wanted)
      from moved
    )
    select * from moved`
  if (!row) throw new Error(`Template ${template.name} was not moved under its lock.`)
  return row
}

/** Changes the reason of the current state, without an event. */
export const noteTemplate = async (
  tx: Tx,
  id: string,
  note: { readonly reason: string; readonly message: string },
): Promise<void> => {
  await tx`
    update template set reason = ${note.reason}, message = ${storableText(note.message)}, updated_at = now()
    where id = ${id}::uuid`
}

type Place = { readonly [Part in keyof TemplatePlace]?: string | undefined }

export interface TemplateSettings extends Place {
  readonly keepVersions?: number | undefined
  readonly graceSeconds?: number | undefined
  readonly allowDowngrade?: boolean | undefined
}

/** Changes the given settings. The caller holds the lock. */
export const writeTemplateSettings = async (
  tx: Tx,
  id: string,
  said: TemplateSettings,
): Promise<TemplateRow> => {
  const [row] = await tx<TemplateRow[]>`
    update template set keep_versions = coalesce(${said.keepVersions ?? null}::int, keep_versions),
      grace_seconds = coalesce(${said.graceSeconds ?? null}::int, grace_seconds),
      allow_downgrade = coalesce(${said.allowDowngrade ?? null}::boolean, allow_downgrade),
      project = coalesce(${said.project ?? null}, project), pool = coalesce(${said.pool ?? null}, pool),
      host = coalesce(${said.host ?? null}, host), network = coalesce(${said.network ?? null}, network),
      version = version + 1, updated_at = now()
    where id = ${id}::uuid returning *`
  if (!row) throw new Error('A template vanished while its row was locked.')
  return row
}

/** Forgets a template: its name and its address can be used again. */
export const forgetTemplateRow = async (tx: Tx, template: TemplateRow, actor: string): Promise<void> => {
  await tx`
    with gone as (
      update template set deleted_at = now(), version = version + 1, updated_at = now()
      where id = ${template.id}::uuid returning *
    )
    insert into event (type, subject_type, subject_id, actor, from_state, detail)
    select 'template.deleted', 'template', id, ${actor}, state, jsonb_build_object('name', name) from gone`
}

/** Whether jobs or debts of a forgotten template still act where this one is to be. */
export const isPlaceBeingCleared = async (
  db: Queryable,
  at: Pick<TemplateRow, 'targetId' | 'folder' | 'production'>,
): Promise<boolean> => {
  const rows = await db`
    select from template t
    where t.target_id = ${at.targetId}::uuid and t.folder = ${at.folder} and t.production = ${at.production}
      and t.deleted_at is not null
      and (exists (select from image_replica r where r.template_id = t.id and r.state = 'removing')
        or exists (select from job j where j.id = t.job_id and j.finished_at is null)
        or exists (select from effect e where e.subject_type = 'template' and e.subject_id = t.id::text
          and e.state in ('intended', 'debt') and e.kind <> ${removalKind})) limit 1`
  return rows.length === 1
}
