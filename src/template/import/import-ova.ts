import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import { findImage, moveImage } from '../../../db/queries/templates/image-rows.ts'
import { findReplica, writeReplica } from '../../../db/queries/templates/replica-rows.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { ImageReplicaRow, ImageRow } from '../../../db/schema/template.ts'
import { shelfName } from '../../domain/template/names.ts'
import { DroverError, recordError } from '../../errors.ts'
import { actorOf, done, type JobContext, type Outcome } from '../../ledger/job.ts'
import type { ImportImage } from '../swap/swap-work.ts'

interface Work {
  readonly image: ImageRow
  readonly replica: ImageReplicaRow
  readonly target: SiteRow
}

/** One turn of an import to the shelf. */
export const importOva = async (
  ctx: JobContext<{ readonly image_id: string; readonly replica_id: string }>,
  importImage: ImportImage,
): Promise<Outcome> => {
  const work = await load(ctx)
  if (!work)
    return done({ outcome: 'The image or its copy was removed meanwhile, or another job imports it.' })
  const { image, replica, target } = work
  const actor = actorOf(ctx)
  if (image.state === 'failed')
    await ctx.transaction(async (tx) => void (await moveImage(tx, image.id, { to: 'importing', actor })))
  const templateName = shelfName({ imageId: image.id, folder: replica.folder })
  const { ref, read } = await importImage(ctx, { image, replica, target, templateName }).catch(
    async (error: unknown) => {
      await noteFailure(ctx, image.id, error)
      throw error
    },
  )
  const { digest, sizeBytes, verified } = read
  return done(
    { ref, digest, size_bytes: sizeBytes, verified },
    {
      change: async (tx) => {
        await moveImage(tx, image.id, { to: 'ready', read, actor })
        await writeReplica(tx, replica.id, { state: 'ready', ref })
      },
    },
  )
}

/** One job imports an image: the job that was sent with it. A job that a person sent by itself does nothing. */
const load = async ({ db, job, payload }: JobContext<{ image_id: string; replica_id: string }>) => {
  const image = await findImage(db, payload.image_id)
  const replica = await findReplica(db, payload.replica_id)
  const target = replica && (await loadSiteById(db, replica.targetId))
  const isIts = image?.jobId === job.id && replica?.imageId === image.id
  const isWanted =
    isIts && image.state !== 'deleted' && replica.state !== 'gone' && replica.state !== 'removing'
  return image && replica && target && isWanted ? ({ image, replica, target } satisfies Work) : undefined
}

/** Records a failure that no further try can mend with the image. */
const noteFailure = async (ctx: JobContext, id: string, thrown: unknown): Promise<void> => {
  const needsPerson = ['permanent', 'config', 'conflict'] as const
  if (ctx.signal.aborted || !(thrown instanceof DroverError)) return
  if (!needsPerson.some((one) => one === thrown.class)) return
  const move = { to: 'failed', error: recordError(thrown), actor: actorOf(ctx) } as const
  await ctx.transaction(async (tx) => void (await moveImage(tx, id, move)))
}
