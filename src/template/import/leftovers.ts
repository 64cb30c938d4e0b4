import { ownedImage } from '../../domain/template/names.ts'
import { DroverError } from '../../errors.ts'
import type { JobCall } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { TemplateFacts, TemplatesPort } from '../../platforms/ports/templates.ts'

/** Where an import puts its object, and the tag of the object. */
export interface ImportPlace {
  readonly folder: string
  readonly templateName: string
  readonly imageId: string
  readonly installation: string
}

/** Our object under the name; undefined: none. Throws if the object is not ours, or if the look failed. */
export const findImported = async (
  templates: TemplatesPort,
  call: JobCall,
  place: ImportPlace,
): Promise<TemplateFacts | undefined> => {
  const named = await lookAt(templates, call, place)
  const stranger = named.find(({ owner }) => ownedImage(owner, place.installation) !== place.imageId)
  if (stranger) throw nameTaken(place, stranger)
  return named.find(({ complete }) => complete) ?? named[0]
}

/** Our objects under the name; objects of others are left out. */
export const lookAtOurs = async (
  templates: TemplatesPort,
  call: JobCall,
  place: ImportPlace,
): Promise<readonly TemplateFacts[]> =>
  (await lookAt(templates, call, place)).filter(
    ({ owner }) => ownedImage(owner, place.installation) === place.imageId,
  )

const lookAt = async (
  templates: TemplatesPort,
  call: JobCall,
  { folder, templateName }: ImportPlace,
): Promise<readonly TemplateFacts[]> =>
  (await again(call, () => templates.templates(call, folder))).filter(({ name }) => name === templateName)

const nameTaken = ({ templateName, folder }: ImportPlace, { ref }: TemplateFacts): DroverError =>
  new DroverError({
    code: 'template-name-taken',
    class: 'conflict',
    message: `${ref} has the name ${templateName}${folder === '' ? '' : ` in ${folder}`} and is not of this import: it is not touched.`,
    remedy: 'Rename or remove it on the platform when nobody needs it, then try again.',
    detail: { ref, name: templateName },
  })
