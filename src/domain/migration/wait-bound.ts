import type { WaitBound } from '../job/why-not-running.ts'
import { type EntryPlace, isCommitted } from './entry.ts'

/**
 * Until when the job of an entry waits at the latest. One that cuts over is called off when its window ends; every
 * other one is looked at again by the scheduler, which decides anew whether it is still what the entry needs.
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
