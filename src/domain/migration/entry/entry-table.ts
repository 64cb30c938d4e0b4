import { defineTable, transition } from '../../table/state-table.ts'
import { copyRules } from './copy-rules.ts'
import { cutoverRules } from './cutover-rules.ts'
import { type EntryPlace, entryMeanings, entryStages, entryStates, isCommitted } from './entry.ts'
import { type EntryEvent, type EntryRule, entryEvents } from './entry-rule.ts'
import { setbackRules } from './setback-rules.ts'
import { verbRules } from './verb-rules.ts'

export { type EntryEvent, type EntryRule, entryEvents } from './entry-rule.ts'

/**
 * Every transition: the code applies it, the tests walk all pairs, the documents draw it (docs/migration.md) and the
 * console offers what it allows. Everything else is refused.
 */
export const entryTable = defineTable({
  subject: 'entry',
  states: entryMeanings,
  stages: entryStages,
  events: entryEvents,
  moves: [...copyRules, ...cutoverRules, ...setbackRules, ...verbRules],
})

export interface EntryStep {
  readonly rule: EntryRule
  /** Undefined: the entry is removed. */
  readonly to: EntryPlace | undefined
}

export type EntryAnswer =
  | ({ readonly allowed: true } & EntryStep)
  | { readonly allowed: false; readonly why: 'not-from-here' | 'needs-force'; readonly from: EntryPlace }

/** The table's answer to an event. */
export const applyEntryEvent = (
  place: EntryPlace,
  event: EntryEvent,
  options: { readonly force?: boolean } = {},
): EntryAnswer => {
  const rule = transition(entryTable, place.state, event, place.stage)
  if (!rule) return { allowed: false, why: 'not-from-here', from: place }
  const guarded = rule.force?.includes(place.state) || (rule.forceIfCommitted === true && isCommitted(place))
  if (guarded && !options.force) return { allowed: false, why: 'needs-force', from: place }
  return {
    allowed: true,
    rule,
    to: rule.to === 'gone' ? undefined : { state: rule.to, stage: rule.stage ?? place.stage },
  }
}

export interface EntryVerb {
  readonly verb: 'cancel' | 'retry' | 'resolve'
  /** Only with force. */
  readonly force: boolean
}

/**
 * The verbs that are possible for a person: for screens and answers. A cancelled entry can be cancelled again with
 * `cleanup` when something is left on the target (`leftovers`).
 */
export const entryVerbs = (place: EntryPlace, { leftovers = false } = {}): EntryVerb[] =>
  (['cancel', 'retry', 'resolve'] as const)
    .filter((verb) => applyEntryEvent(place, verb, { force: true }).allowed)
    .filter((verb) => verb !== 'cancel' || place.state !== 'canceled' || leftovers)
    .map((verb) => ({ verb, force: !applyEntryEvent(place, verb).allowed }))

/** The places in which a verb is possible: a verb for many entries skips the others. */
export const placesOfVerb = (verb: EntryVerb['verb']): EntryPlace[] =>
  entryStates
    .flatMap((state) => entryStages.map((stage) => ({ state, stage })))
    .filter((place) => entryVerbs(place).some((offered) => offered.verb === verb))
