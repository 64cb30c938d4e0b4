import { DroverError } from '../../errors.ts'

/** A refusal for people: the obstacle and the remedy. The API has the status of each code. */
export const refuse = (
  code: string,
  message: string,
  remedy: string,
  more: { readonly field?: string; readonly detail?: Record<string, unknown> } = {},
): DroverError => new DroverError({ code, class: 'conflict', message, remedy, ...more })

export interface Confirmed {
  /** The confirmed number of objects to destroy; undefined: nothing was confirmed. */
  readonly confirmed: number | undefined
}

/** Throws unless the number of objects to destroy was confirmed. */
export const requireDestroyConfirmed = (
  objects: readonly { readonly image: string; readonly target: string }[],
  { confirmed }: Confirmed,
): void => {
  const count = objects.length
  if (count === 0 || count === confirmed) return
  const names = objects.slice(0, 5).map(({ image, target }) => `${image} on ${target}`)
  const more = count > names.length ? ` and ${count - names.length} more` : ''
  throw refuse(
    'destroy-not-confirmed',
    `This destroys ${count === 1 ? 'a template' : `${count} templates`} on the platform: ${names.join(', ')}${more}.`,
    `Send the same with confirm_destroy ${count} when that is what you mean.`,
    { field: 'confirm_destroy', detail: { matched: count, sample: names } },
  )
}
