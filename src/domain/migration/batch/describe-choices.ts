import { utcText } from '../../text/utc-text.ts'
import type { EntryPlace } from '../entry/entry.ts'
import { applyEntryEvent, type EntryRule, type EntryVerb, entryVerbs } from '../entry/entry-table.ts'
import type { WindowAnswer } from '../schedule/windows.ts'
import type { BatchState } from './batch-table.ts'

/** What decides what a verb would do now. */
export interface ChoiceFacts {
  readonly place: EntryPlace
  /** The code of the entry's reason: in a conflict, the question to a person. */
  readonly reason: string
  readonly batchState: BatchState
  /** `force_conflict_resolution` of the batch. */
  readonly batchForces: boolean
  /** Its source is off because of Drover. */
  readonly sourceOff: boolean
  /** Something of ours is or may be on its target. */
  readonly leftovers: boolean
  /** A block keeps it from starting, which heals by itself. */
  readonly blocked: boolean
  /** A job is running for it, and stops first. */
  readonly busy: boolean
  /** The window of its cutover if it went on now. */
  readonly window: WindowAnswer
}

/** A verb with its flags, and its effect. */
export interface Choice extends EntryVerb {
  readonly cleanup: boolean
  readonly does: string
}

/**
 * The verbs that are possible for an entry now, each with its effect on the source and on the target's machine, and
 * what comes next. Made from the transition table and the reason, so that a page never promises what the code does not
 * do.
 */
export const describeChoices = (facts: ChoiceFacts): Choice[] =>
  entryVerbs(facts.place, { leftovers: facts.leftovers }).flatMap(({ verb, force }) => {
    const answer = applyEntryEvent(facts.place, verb, { force: true })
    if (!answer.allowed) return []
    const { rule, to } = answer
    const say = (cleanup: boolean): Choice => ({
      verb,
      force,
      cleanup,
      does: join([
        facts.busy ? 'Its job lets go first.' : '',
        ...(verb === 'cancel' ? giveUp(facts, rule, { cleanup, force }) : goOn(facts, rule, to)),
      ]),
    })
    if (verb !== 'cancel') return [say(false)]
    // A cancel of a cancelled entry only removes what is left on the target.
    return [
      ...(facts.place.state === 'canceled' ? [] : [say(false)]),
      ...(facts.leftovers ? [say(true)] : []),
    ]
  })

const join = (sentences: readonly string[]): string => sentences.filter((text) => text !== '').join(' ')

const giveUp = (
  facts: ChoiceFacts,
  rule: EntryRule,
  { cleanup, force }: { readonly cleanup: boolean; readonly force: boolean },
): string[] => [
  facts.place.state === 'canceled' ? '' : 'It is given up.',
  force ? 'Its whole copy is thrown away, just before the end.' : '',
  sourceAfter(facts, rule) || (facts.place.state === 'canceled' ? '' : 'Its source is left as it is.'),
  targetAfter(facts, cleanup),
]

const sourceAfter = ({ sourceOff }: ChoiceFacts, rule: EntryRule): string => {
  if (!sourceOff) return ''
  return rule.source === 'start'
    ? 'Its source, which is off, is switched on again once its copy is proved off.'
    : 'Its source stays off.'
}

const targetAfter = ({ leftovers }: ChoiceFacts, cleanup: boolean): string => {
  if (cleanup) return 'What was made of it on the target is destroyed.'
  return leftovers ? 'What was made of it on the target stays there, switched off.' : ''
}

const goOn = (facts: ChoiceFacts, rule: EntryRule, to: EntryPlace | undefined): string[] => [
  facts.batchState === 'stopped' ? 'Its batch is stopped: what follows begins when that is started.' : '',
  ...(rule.event === 'retry'
    ? [
        'Everything is checked anew, and what is there of ours is taken over.',
        sourceAfter(facts, rule),
        cutover(facts),
      ]
    : resolve(facts, rule, to)),
]

const ofExpression: ReadonlySet<string> = new Set(['no-longer-matches', 'expression-failed'])

const resolve = (facts: ChoiceFacts, rule: EntryRule, to: EntryPlace | undefined): string[] => {
  if (to?.state === 'worker-done') return [sourceAfter(facts, rule), ...verifyAgain(facts)]
  if (to?.state === 'idle')
    return [
      'Its source has run since it was copied: it is copied anew, and everything is verified once more; what has not changed conflicts again.',
      cutover(facts),
    ]
  return [
    ofExpression.has(facts.reason)
      ? 'It is let through for good: the include expression is not asked again, and it does not conflict again.'
      : 'It is let through.',
    `It is placed and copied like the others${facts.blocked ? ', once nothing else keeps it from that' : ''}.`,
    cutover(facts),
  ]
}

/** Conflicts about the target's machine itself: force does not help, only a change on the target. */
const beyondForce: ReadonlySet<string> = new Set([
  'target-start-failed',
  'target-runs',
  'target-machine-absent',
  'target-not-ours',
  'migrated',
  'runs-elsewhere',
  'starts-elsewhere',
])

const verifyAgain = ({ batchForces, reason }: ChoiceFacts): string[] => {
  const again = [
    'Everything is verified once more: if nothing has changed, it conflicts again.',
    'If all is well, its target is started and its source stays off for good.',
  ]
  if (beyondForce.has(reason)) return again
  return batchForces
    ? [
        'Everything is verified once more. The batch forces conflicts: what can be ignored is, its target is started where it is, and its source stays off for good.',
      ]
    : [...again, 'To let it through as it is, set force_conflict_resolution of the batch first.']
}

/** When its source would be switched off if it went on: the outage must surprise nobody. */
const cutover = ({ window }: ChoiceFacts): string => {
  const off = 'Its source is switched off for the cutover as soon as its window allows'
  switch (window.is) {
    case 'open':
      return window.window === null
        ? 'Its source is switched off for the cutover as soon as its copy is there: the batch has no windows.'
        : `${off}: "${window.window.name}", which is open now${window.window.endsAt === null ? '' : ` until ${utcText(window.window.endsAt)}`}.`
    case 'later':
      return `${off}: "${window.window.name}", which opens at ${utcText(window.at)}.`
    case 'full':
      return `${off}: there is no room now, and it waits for it.`
    case 'none':
      return `${off}: there is none left that is long enough, so not before one is added.`
  }
}
