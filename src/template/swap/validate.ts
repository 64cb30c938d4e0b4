import { isReservedName, longestProductionName } from '../../domain/template/names.ts'
import { isDowngrade } from '../../domain/template/product-version.ts'
import type { SwapSeen } from '../../domain/template/swap-step.ts'
import { DroverError } from '../../errors.ts'
import type { SwapWork } from './swap-work.ts'

export type Validated =
  | { readonly inputs: 'good' | 'waits' }
  | { readonly inputs: Extract<SwapSeen['inputs'], 'refused'>; readonly error: DroverError }

const refused = (error: ConstructorParameters<typeof DroverError>[0]): Validated => ({
  inputs: 'refused',
  error: new DroverError(error),
})

/** Whether what was asked for can be done, as far as Drover knows. Recovery came before, and does not hang on it. */
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
  if (image.state === 'importing') return { inputs: 'waits' }
  if (image.state !== 'ready')
    return refused({
      code: 'image-not-ready',
      class: 'config',
      message: `The image ${image.name} is ${image.state}: ${name} cannot point at it.`,
      remedy: 'Choose an image that is ready.',
      field: 'image',
    })
  const isOlder = live?.facts && image.facts && isDowngrade(live.facts, image.facts)
  if (isOlder && !allowDowngrade && version.cause !== 'rollback')
    return refused({
      code: 'template-downgrade',
      class: 'config',
      message: `${image.name} holds version ${image.facts?.version}, and ${name} points at ${live?.facts?.version} now.`,
      remedy: 'Roll back to an earlier version, or set allow_downgrade of the template.',
      field: 'image',
    })
  return { inputs: 'good' }
}
