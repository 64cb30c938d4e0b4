import type { ImageRead, ImageSource, ImageState } from '../../../src/domain/template/image.ts'
import type { RecordedError } from '../../../src/errors.ts'
import { storableJson, storableText } from '../../../src/storable.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { ImageRow } from '../../schema/template.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** A condition on image `i`: the id matches, deleted or not; or the name matches and the image is not deleted. */
export const imageCalled = (db: Queryable, idOrName: string) =>
  uuid.test(idOrName) ? db`i.id = ${idOrName}::uuid` : db`i.name = ${idOrName} and i.deleted_at is null`

export const findImage = async (db: Queryable, idOrName: string): Promise<ImageRow | undefined> => {
  const [row] = await db<ImageRow[]>`select i.* from image i where ${imageCalled(db, idOrName)}`
  return row
}

/** Locks the image until the transaction ends: references to an image and its removal exclude each other. */
export const lockImage = async (tx: Tx, idOrName: string): Promise<ImageRow | undefined> => {
  const [row] = await tx<
    ImageRow[]
  >`select i.* from image i where ${imageCalled(tx, idOrName)} for no key update`
  return row
}

export interface NewImageRow {
  readonly id: string
  readonly name: string
  readonly source: ImageSource
  readonly expectedDigest: string | null
  readonly requireManifest: boolean
  readonly by: string
}

export const insertImage = async (tx: Tx, made: NewImageRow): Promise<ImageRow> => {
  const [row] = await tx<ImageRow[]>`
    with made as (
      insert into image (id, name, source, expected_digest, require_manifest, created_by)
      values (${made.id}::uuid, ${made.name}, ${storableJson(made.source)}::text::jsonb, ${made.expectedDigest},
        ${made.requireManifest}, ${made.by})
      returning *
    ), told as (
      insert into event (type, subject_type, subject_id, actor, to_state, detail)
      select 'image.created', 'image', id, created_by, state, jsonb_build_object('name', name) from made
    )
    select * from made`
  if (!row) throw new Error('An image was not stored.')
  return row
}

export const setImageJob = async (tx: Tx, id: string, jobId: string): Promise<void> => {
  await tx`update image set job_id = ${jobId}::uuid where id = ${id}::uuid`
}

export type ImageMove =
  | { readonly to: 'ready'; readonly read: ImageRead }
  | { readonly to: 'failed'; readonly error: RecordedError }
  /** The import is tried again. */
  | { readonly to: 'importing' }
  | { readonly to: 'deleted' }

/** The states that each state can be reached from. A tombstone stays; a ready image never changes. */
const before: Readonly<Record<ImageState, readonly ImageState[]>> = {
  importing: ['failed'],
  ready: ['importing', 'failed'],
  failed: ['importing'],
  deleted: ['importing', 'ready', 'failed'],
}

/** Moves an image and writes the event; undefined: its state does not allow the move. */
export const moveImage = async (
  tx: Tx,
  id: string,
  move: ImageMove & { readonly actor: string },
): Promise<ImageRow | undefined> => {
  const read = move.to === 'ready' ? move.read : null
  const error = move.to === 'failed' ? move.error : null
  const [row] = await tx<ImageRow[]>`
    with before as (
      select id, state from image where id = ${id}::uuid and state = any(${before[move.to] as string[]}::text[])
      for no key update
    ), moved as (
      update image i set state = ${move.to}, version = version + 1,
        digest = coalesce(${read?.digest ?? null}, digest),
        size_bytes = coalesce(${read?.sizeBytes ?? null}::bigint, size_bytes),
        verified = coalesce(${read?.verified ?? null}, verified),
        facts = coalesce(${read === null ? null : storableJson(read.facts)}::text::jsonb, facts),
        ovf = coalesce(${read === null ? null : storableText(read.ovf)}, ovf),
        error = ${error === null ? null : storableJson(error)}::text::jsonb,
        deleted_at = case when ${move.to} = 'deleted' then now() end
      from before where i.id = before.id returning i.*
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason, detail)
      select 'image.' || m.state, 'image', m.id, ${move.actor}, b.state, m.state,
        ${error === null ? null : storableText(error.message)}, jsonb_build_object('name', m.name, 'digest', m.digest)
      from moved m join before b on b.id = m.id
    )
    select * from moved`
  return row
}
