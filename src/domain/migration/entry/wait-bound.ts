import type { WaitBound } from '../../job/explain/why-not-running.ts'
import { type EntryPlace, isCommitted } from './entry.ts'

/**
 * The latest end of a wait of an entry's job. A cutover's job is cancelled when the window ends. Every other wait ends
 * with the next look of the scheduler, which decides whether the entry still needs the job.
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
