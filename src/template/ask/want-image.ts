import type { Tx } from '../../../db/client.ts'
import { findSiteName } from '../../../db/queries/sites/load-site.ts'
import { lockImage } from '../../../db/queries/templates/image-rows.ts'
import { findShownImage } from '../../../db/queries/templates/list-images.ts'
import { findSwapJob, type SwapJob, wakeSwapJob } from '../../../db/queries/templates/swap-job.ts'
import { lockTemplate, lockTemplateById, moveTemplate } from '../../../db/queries/templates/template-rows.ts'
import { findVersion, listVersions, wantVersion } from '../../../db/queries/templates/template-versions.ts'
import type { ImageRow, TemplateRow } from '../../../db/schema/template.ts'
import { refuseImage, type TriedVersion, versionBefore } from '../../domain/template/ask-rules.ts'
import { DroverError, type RecordedError } from '../../errors.ts'
import { explainRefusal } from './explain-refusal.ts'
import { refuse } from './refuse.ts'
import { sendSwap } from './template-jobs.ts'

export interface TemplateAsk {
  readonly name: string
  readonly by: string
}

/** How many versions of the history are read. */
const versionsMost = 200

/** Requests an image for a template: adds a version, and sends a job unless a job is already running. */
export const wantImage = async (
  tx: Tx,
  ask: TemplateAsk & { readonly image: string },
): Promise<TemplateRow> => {
  const template = await requireTemplate(tx, ask.name)
  const image = await requireImage(tx, ask.image)
  const job = await findSwapJob(tx, template.jobId)
  if (template.imageId === image.id && isWanted(template, job)) return wake(tx, template, job, ask.by)
  return want(tx, { template, image, job, cause: 'update', by: ask.by })
}

/** Requests an earlier image for a template: of the given version, or of the previous version. */
export const rollBack = async (
  tx: Tx,
  ask: TemplateAsk & { readonly version: number | undefined },
): Promise<TemplateRow> => {
  const template = await requireTemplate(tx, ask.name)
  const job = await findSwapJob(tx, template.jobId)
  const found = await requireEarlier(tx, { template, job, version: ask.version })
  const { versionLive: live, versionWanted: wanted } = template
  if (found.number === live && live === wanted) return wake(tx, template, job, ask.by)
  const image = await requireImage(tx, found.imageId)
  return want(tx, { template, image, job, cause: 'rollback', by: ask.by })
}

/** The version that a rollback restores: the given version, or the previous version. */
export const requireEarlier = async (
  tx: Tx,
  of: {
    readonly template: TemplateRow
    readonly job: SwapJob | undefined
    readonly version: number | undefined
  },
): Promise<TriedVersion> => {
  const { template, version } = of
  const { name, versionLive: live, versionWanted: wanted } = template
  const versions = await readTried(tx, template, of.job)
  const found =
    version === undefined
      ? versionBefore(versions, { live, wanted })
      : versions.find(({ number }) => number === version)
  if (found && ['live', 'kept', 'gone'].includes(found.state)) return found
  throw refuse(
    'version-unusable',
    version === undefined
      ? `${name} has no earlier version to go back to.`
      : `Version ${version} of ${name} ${found ? 'was never live' : 'is not known'}.`,
    'Choose a version that was live: the list of versions shows them.',
    { field: 'version' },
  )
}

/** Sends the job again, or wakes the running job: leftovers are cleaned up. */
export const recoverTemplate = async (tx: Tx, ask: TemplateAsk): Promise<TemplateRow> => {
  const template = await requireTemplate(tx, ask.name)
  const job = await findSwapJob(tx, template.jobId)
  if (job?.open) return wake(tx, template, job, ask.by)
  return send(tx, template, { message: 'A person asked for another look.', by: ask.by })
}

export const requireTemplate = async (tx: Tx, name: string): Promise<TemplateRow> => {
  const template = await lockTemplate(tx, name)
  if (template) return template
  throw absent('template', name, 'name')
}

/**
 * The image, locked against deletion until the transaction ends. `failed` also if the import ended and the image is
 * not ready.
 */
export const requireImage = async (tx: Tx, named: string): Promise<ImageRow> => {
  const locked = await lockImage(tx, named)
  const image = locked && (await findShownImage(tx, locked.id))
  if (image) return image
  throw absent('image', named, 'image')
}

const absent = (what: string, name: string, field: string): DroverError =>
  new DroverError({
    code: 'not-found',
    class: 'config',
    message: `There is no ${what} ${name}.`,
    remedy: `Look at the list of ${what}s.`,
    field,
  })

/** Whether the wanted version is live, or a job is working on the template. */
const isWanted = (template: TemplateRow, job: SwapJob | undefined): boolean =>
  job?.open === true || (template.state === 'live' && template.versionLive === template.versionWanted)

const wake = async (
  tx: Tx,
  template: TemplateRow,
  job: SwapJob | undefined,
  by: string,
): Promise<TemplateRow> => {
  if (job?.open) await wakeSwapJob(tx, job.id, by)
  return template
}

interface Wanted {
  readonly template: TemplateRow
  readonly image: ImageRow
  readonly job: SwapJob | undefined
  readonly cause: 'update' | 'rollback'
  readonly by: string
}

const want = async (tx: Tx, { template, image, job, cause, by }: Wanted): Promise<TemplateRow> => {
  const versions = await readTried(tx, template, job)
  const live = await findLiveImage(tx, template)
  // A rollback is meant to go to an older version.
  const allowDowngrade = template.allowDowngrade || cause === 'rollback'
  const refusal = refuseImage({ image, live: live ?? null, allowDowngrade, versions })
  if (refusal) throw explainRefusal(refusal, { template: template.name, image: image.name })
  const version = await wantVersion(tx, template.id, {
    imageId: image.id,
    cause,
    by,
    error: failureOf(template, job),
  })
  const wanting = await lockTemplateById(tx, template.id)
  if (!wanting) throw new Error(`Template ${template.name} vanished under its lock.`)
  const message = `Version ${version.number} is wanted: ${image.name}.`
  if (!job?.open) return send(tx, wanting, { message, by })
  await wakeSwapJob(tx, job.id, by)
  return moveTemplate(tx, wanting, { event: 'swap', reason: 'asked', message, actor: by })
}

const send = async (
  tx: Tx,
  template: TemplateRow,
  { message, by }: { readonly message: string; readonly by: string },
): Promise<TemplateRow> => {
  const target = await findSiteName(tx, template.targetId)
  if (target === undefined) throw absent('target', template.targetId, 'target')
  const jobId = await sendSwap(tx, { templateId: template.id, target, by })
  return moveTemplate(tx, template, { event: 'swap', reason: 'asked', message, actor: by, jobId })
}

/** Why the swap to the wanted version failed; null: the version is live, or its job is still running. */
const failureOf = (template: TemplateRow, job: SwapJob | undefined): RecordedError | null => {
  if (job?.open || template.versionLive === template.versionWanted) return null
  return template.error ?? job?.error ?? lost
}

const lost: RecordedError = {
  code: 'swap-ended',
  class: 'permanent',
  message: 'Its job has ended before the swap was done.',
  remedy: 'Look at the job.',
}

/** Newest first; the wanted version counts as failed if its job ended without success. */
export const readTried = async (
  tx: Tx,
  template: TemplateRow,
  job: SwapJob | undefined,
): Promise<TriedVersion[]> => {
  const rows = await listVersions(tx, template.id, { limit: versionsMost })
  const failure = failureOf(template, job)
  return rows.map(({ number, imageId, state, error }) => ({
    ...{ number, imageId, state },
    failed: error !== null || (state === 'wanted' && failure !== null),
  }))
}

export const findLiveImage = async (tx: Tx, template: TemplateRow): Promise<ImageRow | undefined> => {
  if (template.versionLive === null) return undefined
  const version = await findVersion(tx, template.id, template.versionLive)
  return version && (await lockImage(tx, version.imageId))
}
