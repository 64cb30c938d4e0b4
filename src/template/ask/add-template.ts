import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../db/client.ts'
import {
  insertTemplate,
  isPlaceBeingCleared,
  moveTemplate,
} from '../../../db/queries/templates/template-rows.ts'
import type { TemplateRow } from '../../../db/schema/template.ts'
import { refuseImage } from '../../domain/template/ask-rules.ts'
import type { TemplatePlace } from '../../domain/template/image.ts'
import { explainRefusal } from './explain-refusal.ts'
import { refuse } from './refuse.ts'
import { requireTarget } from './require-target.ts'
import { sendSwap } from './template-jobs.ts'
import { requireImage } from './want-image.ts'

export interface NewTemplateAsk {
  readonly name: string
  /** By name. */
  readonly target: string
  readonly folder: string
  readonly production: string
  /** The id or the name. */
  readonly image: string
  readonly place: TemplatePlace
  readonly keepVersions: number
  readonly graceSeconds: number
  readonly allowDowngrade: boolean
  readonly by: string
}

/** Stores a template, and the job that makes the name point at the image. */
export const addTemplate = async (tx: Tx, ask: NewTemplateAsk): Promise<TemplateRow> => {
  const { by, place, target: targetName, image: imageName, ...settings } = ask
  const target = await requireTarget(tx, targetName)
  const image = await requireImage(tx, imageName)
  const { allowDowngrade, name } = ask
  const refusal = refuseImage({ image, live: null, allowDowngrade, versions: [] })
  if (refusal) throw explainRefusal(refusal, { template: name, image: image.name })
  const at = { targetId: target.id, folder: ask.folder, production: ask.production }
  if (await isPlaceBeingCleared(tx, at))
    throw refuse(
      'template-busy',
      `A forgotten template is still being put right or removed at ${ask.production} on ${target.name}.`,
      'Wait until its jobs have ended and its debts are settled: the list of effects shows them.',
      { field: 'production' },
    )
  const message = `Version 1 is wanted: ${image.name}.`
  const reason = 'asked'
  const template = await insertTemplate(tx, {
    ...{ ...settings, ...place, ...at, id: uuidv7(), imageId: image.id, reason, message, by },
  })
  const jobId = await sendSwap(tx, { templateId: template.id, target: target.name, by })
  return moveTemplate(tx, template, { event: 'swap', reason, message, actor: by, jobId })
}
