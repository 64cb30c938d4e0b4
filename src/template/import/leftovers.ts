import { ownedImage } from '../../domain/template/names.ts'
import { DroverError } from '../../errors.ts'
import type { JobCall } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { isAbsent } from '../../platforms/ports/platform-error.ts'
import type { TemplateFacts, TemplatesPort } from '../../platforms/ports/templates.ts'

/** Where an import puts its object, and how it is known to be ours. */
export interface ImportPlace {
  readonly folder: string
  readonly templateName: string
  readonly imageId: string
  readonly installation: string
}

/** What has the name; undefined: nothing. Throws where it is a stranger's, or where it cannot be told. */
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

/** Ours under the name, without what is a stranger's. */
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

/** Removes what is ours and not wanted, by its ref. */
export const removeImported = async (templates: TemplatesPort, call: JobCall, ref: string): Promise<void> => {
  call.confirm()
  try {
    await (await templates.destroyTemplate(call, ref)).wait(call)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
}

const nameTaken = ({ templateName, folder }: ImportPlace, { ref }: TemplateFacts): DroverError =>
  new DroverError({
    code: 'template-name-taken',
    class: 'conflict',
    message: `${ref} has the name ${templateName}${folder === '' ? '' : ` in ${folder}`} and is not of this import: it is not touched.`,
    remedy: 'Rename or remove it on the platform when nobody needs it, then try again.',
    detail: { ref, name: templateName },
  })
