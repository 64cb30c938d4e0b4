import { isShelfName, ownedImage } from '../../domain/template/names.ts'
import { DroverError } from '../../errors.ts'
import type { JobCall } from '../../ledger/job.ts'
import { isAbsent } from '../../platforms/ports/platform-error.ts'
import type { TemplateFacts, TemplatesPort } from '../../platforms/ports/templates.ts'

/** What an object must be before Drover destroys it by its recorded ref. */
export interface OurObject {
  readonly imageId: string
  readonly installation: string
  /** By name, for the message. */
  readonly target: string
  /** It must also have a name of the shelf: an object that a template uses again stays. */
  readonly onShelf?: true
}

/** Throws unless the object carries our tag for the image. */
export const requireOurs = (
  { ref, name, owner }: TemplateFacts,
  { imageId, installation, target, onShelf }: OurObject,
): void => {
  const isTagged = ownedImage(owner, installation) === imageId
  if (isTagged && (!onShelf || isShelfName(name))) return
  const why = isTagged ? 'is not on the shelf any more' : 'does not carry our tag for this image'
  throw new DroverError({
    code: 'template-not-ours',
    class: 'conflict',
    message: `${name} (${ref}) on ${target} ${why}: it is not removed.`,
    remedy: 'Look at the object on the platform. If nobody needs it, remove it there and waive its debt.',
    detail: { ref, name },
  })
}

/** Destroys an object by its ref and waits for the end; an object that is already gone is no error. */
export const destroyObject = async (templates: TemplatesPort, call: JobCall, ref: string): Promise<void> => {
  call.confirm()
  try {
    await (await templates.destroyTemplate(call, ref)).wait(call)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
}
