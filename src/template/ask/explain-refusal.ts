import type { AskRefusal } from '../../domain/template/ask-rules.ts'
import type { DroverError } from '../../errors.ts'
import { refuse } from './refuse.ts'

/** The refusal of an image as an error for people. */
export const explainRefusal = (
  refusal: AskRefusal,
  { template, image }: { readonly template: string; readonly image: string },
): DroverError => {
  const field = { field: 'image' }
  switch (refusal.code) {
    case 'image-not-ready':
      return refuse(
        refusal.code,
        `${image} is ${refusal.state}: no template can point at it.`,
        'Run its import again, or choose an image that is ready: the list of images shows them.',
        field,
      )
    case 'template-downgrade':
      return refuse(
        refusal.code,
        `${image} holds version ${refusal.to}, and ${template} points at ${refusal.from} now.`,
        'Roll back to an earlier version, or set allow_downgrade of the template.',
        field,
      )
    case 'template-hot-loop':
      return refuse(
        refusal.code,
        `The swap of ${template} to ${image} has failed ${refusal.tries} times in a row; the list of versions says why.`,
        'Mend the cause and use :recover, or choose another image.',
        field,
      )
  }
}
