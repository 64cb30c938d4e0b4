import type { Tx } from '../../../db/client.ts'
import { lockImage, moveImage } from '../../../db/queries/templates/image-rows.ts'
import { findImageJobs, findImageUses, type ImageUse } from '../../../db/queries/templates/image-uses.ts'
import { listReplicaLines, type ReplicaLine } from '../../../db/queries/templates/list-images.ts'
import { writeReplica } from '../../../db/queries/templates/replica-rows.ts'
import type { ImageRow } from '../../../db/schema/template.ts'
import { type Confirmed, refuse, requireDestroyConfirmed } from './refuse.ts'
import { sendRemoval } from './template-jobs.ts'

export interface ImageRemoval extends Confirmed {
  /** The id or the name. */
  readonly image: string
  /** Also destroys the objects on targets; otherwise they stay there and Drover forgets them. */
  readonly destroy: boolean
  readonly by: string
  /** Throws if the caller has read another version of the row. */
  readonly check: (image: ImageRow) => void
}

/**
 * Turns an unused image into a tombstone. Returns the jobs that destroy its objects; undefined: there is no such
 * image.
 */
export const removeImage = async (
  tx: Tx,
  { image: named, destroy, confirmed, by, check }: ImageRemoval,
): Promise<readonly string[] | undefined> => {
  const image = await lockImage(tx, named)
  if (!image || image.state === 'deleted') return undefined
  check(image)
  await requireUnused(tx, image)
  const replicas = await listReplicaLines(tx, { imageId: image.id })
  const there = destroy ? replicas.filter(({ ref }) => ref !== null) : []
  requireDestroyConfirmed(
    there.map(({ target }) => ({ image: image.name, target })),
    { confirmed },
  )
  const jobs = await removeReplicas(tx, replicas, { destroyed: there, by })
  await moveImage(tx, image.id, { to: 'deleted', actor: by })
  return jobs
}

const requireUnused = async (tx: Tx, image: ImageRow): Promise<void> => {
  const uses = await findImageUses(tx, image.id)
  if (uses.length > 0)
    throw refuse(
      'image-in-use',
      `${image.name} is in use: ${uses.map(say).join(', ')}.`,
      'Let these templates point at another image, keep fewer versions, or forget them; then delete it.',
      { detail: { uses: [...uses] } },
    )
  const [job] = await findImageJobs(tx, image.id)
  if (job !== undefined)
    throw refuse(
      'image-in-use',
      `The job ${job} is at ${image.name}.`,
      'Wait for its end, or cancel the job; then delete the image.',
      { detail: { blocker: job } },
    )
}

const words: Readonly<Record<ImageUse['use'], string>> = {
  wants: 'is to point at it',
  live: 'points at it',
  keeps: 'keeps it',
  holds: 'still has it under another name',
}

const say = ({ template, use, version }: ImageUse): string =>
  `${template} ${words[use]}${version === null ? '' : ` (version ${version})`}`

/** Sends a job for each replica to destroy and forgets the others. Returns the jobs. */
export const removeReplicas = async (
  tx: Tx,
  replicas: readonly ReplicaLine[],
  { destroyed, by }: { readonly destroyed: readonly ReplicaLine[]; readonly by: string },
): Promise<readonly string[]> => {
  const jobs: string[] = []
  for (const replica of replicas) {
    const goes = destroyed.includes(replica)
    await writeReplica(tx, replica.id, { state: goes ? 'removing' : 'gone' })
    if (!goes) continue
    const subject =
      replica.templateId === null
        ? { type: 'image', id: replica.imageId }
        : { type: 'template', id: replica.templateId }
    jobs.push(await sendRemoval(tx, { replicaId: replica.id, subject, target: replica.target, by }))
  }
  return jobs
}
