import type { EntryPlace } from './entry.ts'
import type { EntryJobKind } from './entry-facts.ts'
import { applyEntryEvent } from './entry-table.ts'

export interface VerbAsk {
  readonly place: EntryPlace
  readonly verb: 'cancel' | 'retry' | 'resolve' | 'reset'
  readonly force: boolean
  /** Of a cancel: with it even what was given up before is given up once more, for what it left on the target. */
  readonly cleanup: boolean
  /** The job at it that has not ended, or a `withdraw-entry` that has not succeeded; null: nobody is at it. */
  readonly openJob: EntryJobKind | null
}

export type VerbAnswer =
  /** Now, in the verb's own transaction. */
  | { readonly do: 'apply' }
  /** The request is recorded; the job ends its turn, then the verb is carried out. */
  | { readonly do: 'intend'; readonly callOff: boolean }
  | { readonly do: 'refuse'; readonly why: 'not-from-here' | 'needs-force' | 'being-put-right' }

/** What becomes of a person's verb. */
export const answerVerb = ({ place, verb, force, cleanup, openJob }: VerbAsk): VerbAnswer => {
  if (verb === 'cancel' && place.state === 'canceled' && !cleanup)
    return { do: 'refuse', why: 'not-from-here' }
  const answer = applyEntryEvent(place, verb, { force })
  if (!answer.allowed) return { do: 'refuse', why: answer.why }
  if (openJob === null) return { do: 'apply' }
  // Nobody begins anew before what is left outside is put right, and putting right is never called off.
  if (verb === 'retry' || verb === 'resolve') return { do: 'refuse', why: 'being-put-right' }
  return { do: 'intend', callOff: openJob !== 'withdraw-entry' }
}
