import type { Db } from '../../../db/client.ts'
import { moveImage } from '../../../db/queries/templates/image-rows.ts'
import { writeReplica } from '../../../db/queries/templates/replica-rows.ts'
import { lockTemplate, moveTemplate } from '../../../db/queries/templates/template-rows.ts'
import { makeVersionLive, retireVersion } from '../../../db/queries/templates/template-versions.ts'
import type { RecordedError } from '../../../src/errors.ts'
import { addSite } from '../inventory/inventory-rows.ts'
import type { Client, Reply } from '../setup.ts'

/** No image, no template, and one target that can hold them. */
export const emptyTemplates = async (db: Db): Promise<void> => {
  await db`truncate image, image_replica, template, template_version, job, job_search, event, site, effect`
  await addTarget(db, 'oslo')
}

export const addTarget = async (
  db: Db,
  name: string,
  capabilities: readonly string[] = ['templates', 'import-image'],
): Promise<void> => {
  await addSite(db, name, { role: 'target' })
  await db`update site set capabilities = ${capabilities as string[]}::text[] where name = ${name}`
}

export const factsOf = (version: string, product = 'Debian') => ({
  ...{ product, version, vendor: 'Example', os: 'debian', cpus: 2, memory: 2_147_483_648, firmware: 'efi' },
  disks: [{ id: 'disk-1', capacity: 4_294_967_296, format: 'vmdk-stream', size: 1_048_576 }],
  networks: ['VM Network'],
})

/** Ends the job of an import or a swap, as a worker would. */
export const endJob = async (
  db: Db,
  id: unknown,
  state: 'succeeded' | 'failed' | 'canceled' = 'succeeded',
  error: RecordedError | null = null,
): Promise<void> => {
  await db`
    update job set state = ${state}, finished_at = now(), started_at = now(),
      error = ${error === null ? null : JSON.stringify(error)}::text::jsonb
    where id = ${String(id)}::uuid`
}

/** An image that was asked for over the API and imported, as its job would leave it. */
export const importImage = async (db: Db, call: Client, name: string, version = '1.0'): Promise<string> => {
  const { body } = await askImage(call, { name, folder: 'golden' })
  const id = String(body.id)
  const [replica] = body.replicas as { id: string }[]
  await db.begin(async (tx) => {
    const read = {
      ...{ digest: Buffer.from(name).toString('hex').padEnd(64, '0').slice(0, 64), sizeBytes: 1_048_576 },
      ...{ verified: 'manifest' as const, facts: factsOf(version), ovf: '<Envelope/>' },
    }
    await moveImage(tx, id, { to: 'ready', read, actor: 'test' })
    await writeReplica(tx, replica?.id ?? '', { state: 'ready', ref: `ref-${name}` })
  })
  await endJob(db, body.job_id)
  return id
}

export const askImage = (call: Client, changes: Record<string, unknown> = {}): Promise<Reply> =>
  call('POST', '/v1/images', {
    json: { name: 'debian-13', target: 'oslo', url: 'https://images.example.org/debian.ova', ...changes },
  })

export const askTemplate = (call: Client, changes: Record<string, unknown> = {}): Promise<Reply> =>
  call('POST', '/v1/templates', {
    json: { name: 'debian', target: 'oslo', folder: 'golden', image: 'debian-13', ...changes },
  })

/** The job of a template has done its work: what is wanted is live, and what was live is kept. */
export const finishSwap = async (db: Db, name: string): Promise<void> => {
  const jobId = await db.begin(async (tx) => {
    const template = await lockTemplate(tx, name)
    if (!template) throw new Error(`There is no template ${name}.`)
    const { id, versionLive, versionWanted, imageId, targetId } = template
    if (versionLive !== null) await retireVersion(tx, { templateId: id, number: versionLive })
    await tx`update image_replica set template_id = null where template_id = ${id}::uuid`
    const [replica] = await tx<{ id: string }[]>`
      update image_replica set template_id = ${id}::uuid
      where image_id = ${imageId}::uuid and target_id = ${targetId}::uuid and state = 'ready' returning id`
    await makeVersionLive(
      tx,
      { templateId: id, number: versionWanted },
      { replicaId: replica?.id ?? '', swapMs: 900, gapMs: 40 },
    )
    await moveTemplate(tx, template, {
      ...{ event: 'finish', reason: 'live', message: 'It is live.', actor: 'test' },
      versionLive: versionWanted,
    })
    return template.jobId
  })
  await endJob(db, jobId)
}

/** The job of a template has failed. */
export const failSwap = async (db: Db, name: string): Promise<void> => {
  const [row] = await db<{ jobId: string }[]>`select job_id from template where name = ${name}`
  await endJob(db, row?.jobId, 'failed', {
    ...{ code: 'platform-refused', class: 'permanent', message: 'The target is full.', remedy: 'Make room.' },
  })
}
