import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../db/client.ts'
import { insertImage, setImageJob } from '../../../db/queries/templates/image-rows.ts'
import { insertReplica } from '../../../db/queries/templates/replica-rows.ts'
import type { ImageSource, TemplatePlace } from '../../domain/template/image.ts'
import { requireTarget } from './require-target.ts'
import { sendImport } from './template-jobs.ts'

export interface NewImage {
  readonly name: string
  /** By name. */
  readonly target: string
  readonly folder: string
  readonly place: TemplatePlace
  readonly source: ImageSource
  readonly expectedDigest: string | null
  readonly requireManifest: boolean
  readonly by: string
}

/** Stores an image, and the job that imports the image to the shelf of a folder. */
export const addImage = async (tx: Tx, asked: NewImage): Promise<{ readonly id: string }> => {
  const target = await requireTarget(tx, asked.target)
  const { by, folder, name } = asked
  const image = await insertImage(tx, {
    ...{ id: uuidv7(), name, by, source: asked.source },
    ...{ expectedDigest: asked.expectedDigest, requireManifest: asked.requireManifest },
  })
  const replica = await insertReplica(tx, {
    ...{ id: uuidv7(), imageId: image.id, targetId: target.id, folder, templateId: null },
    ...asked.place,
  })
  const of = { imageId: image.id, replicaId: replica.id, target: target.name, by }
  await setImageJob(tx, image.id, await sendImport(tx, of))
  return { id: image.id }
}
