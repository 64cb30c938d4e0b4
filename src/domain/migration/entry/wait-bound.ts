import type { WaitBound } from '../../job/kinds/why-not-running.ts'
import { type EntryPlace, isCommitted } from './entry.ts'

/**
 * Until when the job of an entry waits at the latest. A job of a cutover is called off when the window ends. Every other
 * wait ends with the next look of the scheduler, which decides whether the entry still needs the job.
 */
export const entryWaitBound = (entry: {
  readonly place: EntryPlace
  readonly jobKind: string
  readonly window: { readonly name: string; readonly endsAt: Date | null } | null
  readonly lookAt: Date
}): WaitBound => {
  const { place, jobKind, window, lookAt } = entry
  const cuts = isCommitted(place) || jobKind === 'cutover-instance'
  return cuts && window !== null && window.endsAt !== null
    ? { at: window.endsAt, says: `Its window "${window.name}" ends then, and it is called off.` }
    : { at: lookAt, says: 'Its entry is looked at again then.' }
}
