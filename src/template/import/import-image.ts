import { z } from 'zod'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import { moveImage } from '../../../db/queries/templates/image-rows.ts'
import { findReplica } from '../../../db/queries/templates/replica-rows.ts'
import type { ImageRead } from '../../domain/template/image.ts'
import { isShelfName } from '../../domain/template/names.ts'
import type { RecordedError } from '../../errors.ts'
import { installationId } from '../../ledger/installation.ts'
import { callBy, type JobContext, type Undoer } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { destroyObject } from '../remove/our-object.ts'
import type { ImportAsked, ImportImage } from '../swap/swap-work.ts'
import { templatesOf } from '../swap/templates-of.ts'
import { findImported, type ImportPlace, lookAtOurs } from './leftovers.ts'
import { knownRead } from './read-facts.ts'
import { readImage, sendImage } from './send-image.ts'
import type { SourceMeans } from './source.ts'

export const importKind = 'image-import'

const undoSchema = z.object({
  target_id: z.string(),
  replica_id: z.string(),
  image_id: z.string(),
  folder: z.string(),
  template_name: z.string(),
  installation: z.string(),
})

const callMs = 50_000

/** Imports images from the sources that `means` allows. */
export const imageImporter =
  (means: SourceMeans): ImportImage =>
  (ctx, asked) =>
    importImage(ctx, means, asked)

const importImage = async (ctx: JobContext, means: SourceMeans, asked: ImportAsked) => {
  const { image, replica, target, templateName } = asked
  const installation = await installationId(ctx.db)
  const place: ImportPlace = { folder: replica.folder, templateName, imageId: image.id, installation }
  let read: ImageRead | undefined
  const { externalId } = await ctx.usePlatform(target, async (platform) => {
    const templates = portOf(platform, 'templates')
    return ctx.effect({
      kind: importKind,
      platform: target.name,
      name: `${templateName} ${replica.id}`,
      undo: undoOf(asked, place),
      observe: async () => {
        const found = await findImported(templates, callBy(ctx, `${ctx.job.id}/look`, callMs), place)
        return found?.complete ? { found: true, externalId: found.ref } : { found: false }
      },
      act: async () => {
        const sent = await sendImage({ ctx, means, asked, place, templates })
        read = sent.read
        return { externalId: sent.ref }
      },
    })
  })
  if (externalId === null) throw new Error(`The import of ${image.name} has no ref.`)
  return { ref: externalId, read: read ?? knownRead(image) ?? (await readImage({ ctx, means, asked })) }
}

const undoOf = ({ target, replica, image }: ImportAsked, place: ImportPlace) => ({
  target_id: target.id,
  replica_id: replica.id,
  image_id: image.id,
  folder: place.folder,
  template_name: place.templateName,
  installation: place.installation,
})

/** The error of an image whose job has ended; a previously recorded error stays. */
const givenUp: RecordedError = {
  code: 'image-import-ended',
  class: 'permanent',
  message: 'The import has ended without success: its job says why.',
  remedy: 'Run the job again when the cause is gone, or delete the image.',
}

/**
 * Removes the leftovers of an abandoned import: incomplete objects, and on the shelf also complete objects that no
 * ready replica records. A complete object under a name of a template is left to the swap of that template.
 */
export const undoImport: Undoer = async (undoing) => {
  const { effect, db } = undoing
  const undo = undoSchema.parse(effect.undo)
  const replica = await findReplica(db, undo.replica_id)
  const keepsWhole = !isShelfName(undo.template_name) || replica?.state !== 'importing'
  const place: ImportPlace = {
    ...{ folder: undo.folder, templateName: undo.template_name },
    ...{ imageId: undo.image_id, installation: undo.installation },
  }
  if (isShelfName(undo.template_name))
    await undoing.fenced(async (tx) => {
      await moveImage(tx, undo.image_id, { to: 'failed', error: givenUp, actor: `job/${effect.jobId}` })
    })
  await templatesOf({ loadSiteById }, undoing, undo.target_id, async (templates) => {
    const call = callBy(undoing, `${effect.id}/undo/${effect.attempts}`, callMs)
    for (const { ref, complete } of await lookAtOurs(templates, call, place))
      if (!complete || !keepsWhole)
        await destroyObject(templates, { ...call, name: `${call.name}/${ref}` }, ref)
  })
}
