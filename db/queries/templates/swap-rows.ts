import type { RecordedError } from '../../../src/errors.ts'
import { storableJson, storableText } from '../../../src/storable.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { ImageReplicaRow } from '../../schema/template.ts'

/** The recorded replicas of objects on a target. */
export const findReplicasByRef = async (
  db: Queryable,
  at: { readonly targetId: string; readonly refs: readonly string[] },
): Promise<ImageReplicaRow[]> => db<ImageReplicaRow[]>`
  select * from image_replica
  where target_id = ${at.targetId}::uuid and ref = any(${at.refs as string[]}::text[]) and state <> 'gone'`

/** The replica of a template that an import has begun to fill. */
export const findBegunReplica = async (
  db: Queryable,
  of: { readonly id: string; readonly templateId: string },
): Promise<ImageReplicaRow | undefined> => {
  const [row] = await db<ImageReplicaRow[]>`
    select * from image_replica
    where id = ${of.id}::uuid and template_id = ${of.templateId}::uuid and state = 'importing'`
  return row
}

/** Takes a replica from the shelf for a template; false: another template has taken it, or it is being removed. */
export const claimShelfReplica = async (
  tx: Tx,
  of: { readonly id: string; readonly templateId: string },
): Promise<boolean> => {
  const rows = await tx`
    update image_replica set template_id = ${of.templateId}::uuid
    where id = ${of.id}::uuid and state = 'ready' and (template_id is null or template_id = ${of.templateId}::uuid)
    returning 1`
  return rows.length === 1
}

/** Records an object that was found on the platform and has no row. */
export const recordFoundReplica = async (
  tx: Tx,
  found: {
    readonly id: string
    readonly imageId: string
    readonly targetId: string
    readonly folder: string
    readonly ref: string
    readonly templateId: string | null
  },
): Promise<void> => {
  await tx`
    insert into image_replica (id, image_id, target_id, folder, ref, state, template_id)
    values (${found.id}::uuid, ${found.imageId}::uuid, ${found.targetId}::uuid, ${found.folder}, ${found.ref},
      'ready', ${found.templateId}::uuid)
    on conflict do nothing`
}

/** Puts a replica back on the shelf; false: the shelf already has a complete replica of the same image. */
export const shelveReplica = async (tx: Tx, id: string): Promise<boolean> => {
  const rows = await tx`
    update image_replica r set template_id = null
    where r.id = ${id}::uuid and r.state = 'ready' and not exists (
      select from image_replica o where o.image_id = r.image_id and o.target_id = r.target_id and o.folder = r.folder
        and o.template_id is null and o.state = 'ready' and o.id <> r.id)
    returning 1`
  return rows.length === 1
}

/** Ends the replicas of a template whose import was begun and will not be continued. */
export const dropBegunReplicas = async (tx: Tx, templateId: string): Promise<void> => {
  await tx`
    update image_replica set state = 'gone', gone_at = now()
    where template_id = ${templateId}::uuid and state = 'importing'`
}

/**
 * Replicas on the shelf that held older versions of a template and that no template keeps: more versions than
 * `keep_versions`, and no live, wanted or kept version needs the image in that folder.
 */
export const findSurplusReplicas = async (tx: Tx, templateId: string): Promise<ImageReplicaRow[]> => tx<
  ImageReplicaRow[]
>`
  select r.* from image_replica r
  where r.state = 'ready' and r.template_id is null
    and exists (select from template_version v where v.replica_id = r.id and v.template_id = ${templateId}::uuid
      and v.state = 'kept')
    and not ${isNeeded(tx)}
  order by r.id`

/** A condition: a version that counts, of any template, points at the image of replica `r` in its folder. */
const isNeeded = (tx: Tx) => tx`exists (
  select from (
    select v.image_id, v.state, t.target_id, t.folder, t.keep_versions,
      dense_rank() over (partition by v.template_id, v.state = 'kept' order by v.number desc) as place
    from template_version v join template t on t.id = v.template_id
    where t.deleted_at is null
  ) n
  where n.image_id = r.image_id and n.target_id = r.target_id and n.folder = r.folder
    and (n.state in ('live', 'wanted') or n.state = 'kept' and n.place <= n.keep_versions))`

/** Owes the removal of an object, due after the grace: a debt that the job of a swap leaves on purpose. */
export const oweRemoval = async (
  tx: Tx,
  owed: {
    readonly id: string
    readonly jobId: string
    readonly kind: string
    readonly platform: string
    readonly name: string
    readonly undo: Record<string, unknown>
    readonly why: RecordedError
    readonly delaySeconds: number
    readonly actor: string
  },
): Promise<void> => {
  await tx`
    with made as (
      insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, undo, state, error, next_try_at)
      select ${owed.id}::uuid, j.id, j.subject_type, j.subject_id, j.lease_epoch, ${owed.kind}, ${owed.platform},
        ${owed.name}, ${storableJson(owed.undo)}::text::jsonb, 'debt', ${storableJson(owed.why)}::text::jsonb,
        now() + ${owed.delaySeconds}::float8 * interval '1 second'
      from job j where j.id = ${owed.jobId}::uuid
      on conflict (job_id, kind, name) do nothing returning *
    )
    insert into event (type, subject_type, subject_id, job_id, actor, to_state, reason, detail)
    select 'effect.debt', subject_type, subject_id, job_id, ${owed.actor}, 'debt', error ->> 'message',
      jsonb_build_object('effect', id, 'kind', kind, 'name', name, 'platform', platform)
    from made`
}

/** From here on nobody takes it from the shelf. False: a template has it or keeps it by now, or it is gone. */
export const beginRemoval = async (tx: Tx, replicaId: string): Promise<boolean> => {
  const rows = await tx`
    update image_replica r set state = 'removing'
    where id = ${replicaId}::uuid
      and (state = 'removing' or state = 'ready' and template_id is null and not ${isNeeded(tx)})
    returning 1`
  return rows.length === 1
}

/** Records that the object was destroyed; the versions that it held become `gone`. */
export const endRemoval = async (tx: Tx, replicaId: string): Promise<void> => {
  await tx`
    with gone as (
      update image_replica set state = 'gone', gone_at = now() where id = ${replicaId}::uuid and state <> 'gone'
    )
    update template_version set state = 'gone' where replica_id = ${replicaId}::uuid and state = 'kept'`
}

/** Points the live version at another replica: the old object was removed outside Drover and imported again. */
export const moveVersion = async (
  tx: Tx,
  of: { readonly templateId: string; readonly number: number },
  replicaId: string,
): Promise<void> => {
  await tx`
    update template_version set replica_id = ${replicaId}::uuid
    where template_id = ${of.templateId}::uuid and number = ${of.number} and state = 'live'`
}

/** Records the last failure of a template's job; the state does not change. */
export const noteTemplateTrouble = async (tx: Tx, id: string, error: RecordedError): Promise<void> => {
  await tx`
    update template set reason = ${error.code}, message = ${storableText(error.message)},
      error = ${storableJson(error)}::text::jsonb, updated_at = now()
    where id = ${id}::uuid`
}

/** Whether a platform task of the job may still be running. */
export const hasOpenTask = async (
  db: Queryable,
  of: { readonly jobId: string; readonly kind: string },
): Promise<boolean> => {
  const rows = await db`
    select from effect where job_id = ${of.jobId}::uuid and kind = ${of.kind} and state in ('intended', 'debt') limit 1`
  return rows.length === 1
}

/** Whether another job is working on the template. */
export const isAnotherAt = async (
  db: Queryable,
  of: { readonly templateId: string; readonly jobId: string },
): Promise<boolean> => {
  const rows = await db`
    select from template t join job j on j.id = t.job_id
    where t.id = ${of.templateId}::uuid and t.job_id <> ${of.jobId}::uuid and j.finished_at is null`
  return rows.length === 1
}
