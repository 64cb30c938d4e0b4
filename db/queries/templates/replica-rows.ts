import type { ReplicaState, TemplatePlace } from '../../../src/domain/template/image.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { ImageReplicaRow } from '../../schema/template.ts'

export interface NewReplica extends TemplatePlace {
  readonly id: string
  readonly imageId: string
  readonly targetId: string
  readonly folder: string
  /** Null: a replica for the shelf. */
  readonly templateId: string | null
}

export const insertReplica = async (tx: Tx, made: NewReplica): Promise<ImageReplicaRow> => {
  const [row] = await tx<ImageReplicaRow[]>`
    insert into image_replica (id, image_id, target_id, folder, project, pool, host, network, template_id)
    values (${made.id}::uuid, ${made.imageId}::uuid, ${made.targetId}::uuid, ${made.folder}, ${made.project},
      ${made.pool}, ${made.host}, ${made.network}, ${made.templateId}::uuid)
    returning *`
  if (!row) throw new Error('A replica was not stored.')
  return row
}

export const findReplica = async (db: Queryable, id: string): Promise<ImageReplicaRow | undefined> => {
  const [row] = await db<ImageReplicaRow[]>`select * from image_replica where id = ${id}::uuid`
  return row
}

/** The replicas that a template uses, under any of its names. */
export const listReplicasOfTemplate = async (
  db: Queryable,
  templateId: string,
): Promise<ImageReplicaRow[]> => db<ImageReplicaRow[]>`
  select * from image_replica where template_id = ${templateId}::uuid and state <> 'gone' order by id`

/** The complete replica of an image on the shelf of a folder. */
export const findShelfReplica = async (
  db: Queryable,
  at: { readonly imageId: string; readonly targetId: string; readonly folder: string },
): Promise<ImageReplicaRow | undefined> => {
  const [row] = await db<ImageReplicaRow[]>`
    select * from image_replica
    where image_id = ${at.imageId}::uuid and target_id = ${at.targetId}::uuid and folder = ${at.folder}
      and template_id is null and state = 'ready'`
  return row
}

/** Changes the given fields. `templateId` null: on the shelf. A replica that is gone never changes again. */
export const writeReplica = async (
  tx: Tx,
  id: string,
  now: {
    readonly state?: ReplicaState
    readonly ref?: string
    readonly templateId?: string | null
  },
): Promise<ImageReplicaRow | undefined> => {
  const [row] = await tx<ImageReplicaRow[]>`
    update image_replica set state = coalesce(${now.state ?? null}, state), ref = coalesce(${now.ref ?? null}, ref),
      template_id = case when ${now.templateId === undefined} then template_id else ${now.templateId ?? null}::uuid end,
      gone_at = case when ${now.state === 'gone'} then now() end
    where id = ${id}::uuid and state <> 'gone' returning *`
  return row
}

/** Records that the object of a replica was destroyed. */
export const endReplica = async (tx: Tx, replica: ImageReplicaRow, actor: string): Promise<void> => {
  await tx`
    with gone as (
      update image_replica set state = 'gone', gone_at = now() where id = ${replica.id}::uuid and state <> 'gone'
      returning *
    )
    insert into event (type, subject_type, subject_id, actor, from_state, to_state, detail)
    select 'image.copy-destroyed', 'image', image_id, ${actor}, ${replica.state}, state,
      jsonb_build_object('replica', id, 'ref', ref, 'target', (select name from site where id = target_id))
    from gone`
}
