import type { EntryPlace } from './entry.ts'
import type { EntryJobKind } from './entry-facts.ts'
import { applyEntryEvent } from './entry-table.ts'

export interface VerbAsk {
  readonly place: EntryPlace
  readonly verb: 'cancel' | 'retry' | 'resolve' | 'reset'
  readonly force: boolean
  /** For a cancel: a cancelled entry can be cancelled again to remove what is left on the target. */
  readonly cleanup: boolean
  /** Its unfinished job, or a `withdraw-entry` that has not succeeded; null: none. */
  readonly openJob: EntryJobKind | null
}

export type VerbAnswer =
  /** At once, in the verb's own transaction. */
  | { readonly do: 'apply' }
  /** The request is recorded; the job ends its turn, then the verb is carried out. */
  | { readonly do: 'intend'; readonly callOff: boolean }
  | { readonly do: 'refuse'; readonly why: 'not-from-here' | 'needs-force' | 'being-put-right' }

/** The answer to a person's verb. */
export const answerVerb = ({ place, verb, force, cleanup, openJob }: VerbAsk): VerbAnswer => {
  if (verb === 'cancel' && place.state === 'canceled' && !cleanup)
    return { do: 'refuse', why: 'not-from-here' }
  const answer = applyEntryEvent(place, verb, { force })
  if (!answer.allowed) return { do: 'refuse', why: answer.why }
  if (openJob === null) return { do: 'apply' }
  // Nothing starts again before the withdrawal has ended, and a withdrawal is never cancelled.
  if (verb === 'retry' || verb === 'resolve') return { do: 'refuse', why: 'being-put-right' }
  return { do: 'intend', callOff: openJob !== 'withdraw-entry' }
}
