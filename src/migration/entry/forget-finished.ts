import type { SomeEntries } from '../../../db/queries/entries/finished-entries.ts'
import { whatStays } from '../../domain/migration/entry/reasons.ts'
import { DroverError } from '../../errors.ts'

/** Throws unless the person has confirmed how many finished entries are forgotten; the error says what that means. */
export const requireForgettingConfirmed = (
  { count, names }: SomeEntries,
  confirmed: number | undefined,
  meaning: string = whatStays,
): void => {
  if (count === 0 || count === confirmed) return
  const which = `${names.join(', ')}${count > names.length ? ` and ${count - names.length} more` : ''}`
  throw new DroverError({
    code: 'finished-not-confirmed',
    class: 'conflict',
    message:
      `This forgets ${count === 1 ? 'a finished migration' : `${count} finished migrations`}: ${which}. ${meaning}`.trimEnd(),
    remedy: `Send the same with confirm_finished ${count} when that is what you mean.`,
    field: 'confirm_finished',
    detail: { matched: count, sample: [...names] },
  })
}
