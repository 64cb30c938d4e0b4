import { refuseImage } from '../../domain/template/ask-rules.ts'
import { isReservedName, longestProductionName } from '../../domain/template/names.ts'
import type { SwapSeen } from '../../domain/template/swap-step.ts'
import { DroverError, recordError } from '../../errors.ts'
import { explainRefusal } from '../ask/explain-refusal.ts'
import type { SwapWork } from './swap-work.ts'

export type Validated =
  | { readonly inputs: 'good' | 'waits' }
  | { readonly inputs: Extract<SwapSeen['inputs'], 'refused'>; readonly error: DroverError }

const refused = (error: ConstructorParameters<typeof DroverError>[0]): Validated => ({
  inputs: 'refused',
  error: new DroverError(error),
})

/** Whether the request can be fulfilled, as far as Drover knows. Recovery runs before and does not depend on the result. */
export const validateSwap = (
  { template, version, image }: SwapWork,
  live: SwapWork['image'] | undefined,
): Validated => {
  const { name, production, allowDowngrade, deletedAt } = template
  if (deletedAt !== null)
    return refused({
      code: 'template-forgotten',
      class: 'permanent',
      message: `The template ${name} was forgotten: its name was put right, and nothing more is done.`,
      remedy: 'Create the template anew when it is wanted.',
    })
  if (production.length > longestProductionName || isReservedName(production))
    return refused({
      code: 'template-name-invalid',
      class: 'config',
      message: `A template cannot be called "${production}" on a platform.`,
      remedy: `Choose a name of up to ${longestProductionName} characters that does not begin like the names that Drover uses.`,
      field: 'production',
    })
  const asked = {
    ...{ image, live: live ?? null, versions: [] },
    allowDowngrade: allowDowngrade || version.cause === 'rollback',
  }
  const refusal = refuseImage(asked)
  if (refusal) {
    const explained = explainRefusal(refusal, { template: name, image: image.name })
    // A refused image is no conflict of the template: another image can be chosen.
    return refused({ ...recordError(explained), class: 'config', field: 'image' })
  }
  return { inputs: image.state === 'importing' ? 'waits' : 'good' }
}
