import type { Queryable } from '../../../db/client.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type {
  ImageReplicaRow,
  ImageRow,
  TemplateRow,
  TemplateVersionRow,
} from '../../../db/schema/template.ts'
import type { ImageRead } from '../../domain/template/image.ts'
import { type TemplateNames, templateNames } from '../../domain/template/names.ts'
import { DroverError } from '../../errors.ts'
import type { JobContext } from '../../ledger/job.ts'
import type { SwapRows } from './swap-rows.ts'

/** A template with its wanted version, as the rows have them. */
export interface SwapWork {
  readonly rows: SwapRows
  readonly template: TemplateRow
  readonly version: TemplateVersionRow
  readonly image: ImageRow
  readonly target: SiteRow
  readonly names: TemplateNames
  /** Part of the tag of our objects. */
  readonly installation: string
}

/**
 * Undefined: there is no such template. A template that was forgotten meanwhile is loaded, too: its names are still
 * corrected.
 */
export const loadSwap = async (
  rows: SwapRows,
  db: Queryable,
  templateId: string,
): Promise<SwapWork | undefined> => {
  const template = await rows.findTemplateById(db, templateId)
  if (!template) return undefined
  const version = await rows.findVersion(db, templateId, template.versionWanted)
  const image = version && (await rows.findImage(db, version.imageId))
  if (!version || !image)
    throw new Error(`Version ${template.versionWanted} of ${template.name} has no image.`)
  const target = await rows.loadSiteById(db, template.targetId)
  if (!target) throw targetUnknown(template)
  const installation = await rows.installationId(db)
  return { rows, template, version, image, target, names: templateNames(template), installation }
}

/** The image of the live version; undefined: no version is live. */
export const findLiveImage = async (
  db: Queryable,
  { rows, template }: SwapWork,
): Promise<ImageRow | undefined> => {
  if (template.versionLive === null) return undefined
  const live = await rows.findVersion(db, template.id, template.versionLive)
  return live && rows.findImage(db, live.imageId)
}

const targetUnknown = ({ name, targetId }: TemplateRow): DroverError =>
  new DroverError({
    code: 'target-unknown',
    class: 'conflict',
    message: `The target ${targetId} of the template ${name} is not known any more: what is there cannot be told.`,
    remedy: 'Add the target again, or look there and forget the template.',
    detail: { target_id: targetId },
  })

export interface ImportAsked {
  readonly image: ImageRow
  readonly replica: ImageReplicaRow
  readonly target: SiteRow
  readonly templateName: string
}

/**
 * Imports an image under a name, as an effect of the job. When the promise resolves, or the platform calls the object
 * complete, the content was verified. The undo of the effect removes our incomplete object. A repeated call in the
 * same job with the same replica continues the import.
 */
export type ImportImage = (
  ctx: JobContext,
  asked: ImportAsked,
) => Promise<{ readonly ref: string; readonly read: ImageRead }>
