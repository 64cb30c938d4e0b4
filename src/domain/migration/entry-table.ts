import { type EntryPlace, type EntryStage, type EntryState, entryStages, isCommitted } from './entry.ts'

/**
 * What can happen to an entry. A person's verbs are among them: `cancel`, `retry`, `resolve`, `reset`. `let-go`: its
 * window closed, or its work was called off without the entry being given up.
 */
export const entryEvents = [
  'block',
  'unblock',
  'create',
  'created',
  'create-put-off',
  'sync-begin',
  'sync-done',
  'sync-put-off',
  'cutover-begin',
  'copied',
  'post-begin',
  'post-done',
  'verified',
  'copy-stale',
  'conflict',
  'identity-changed',
  'let-go',
  'fail',
  'cancel',
  'retry',
  'resolve',
  'reset',
] as const
export type EntryEvent = (typeof entryEvents)[number]

/**
 * What a transition does outside, besides what the state's own work does.
 *
 * `start`: a source that we switched off is switched on again, after our copy of it is proved off. `person`: nobody
 * but a person may start it: we no longer know that it is the same machine.
 */
export type SourceRule = 'keep' | 'start' | 'person'
/** `asked`: as the person said (`cleanup`). */
export type TargetRule = 'keep' | 'destroy' | 'asked'

export interface EntryRule {
  readonly event: EntryEvent
  readonly from: readonly EntryState[]
  /** The stages it is possible in; none given: all. */
  readonly in?: readonly EntryStage[]
  readonly to: EntryState | 'gone'
  /** None given: it stays. */
  readonly stage?: EntryStage
  readonly source: SourceRule
  readonly target: TargetRule
  /** States from which a person must say `force`: hours of work, or the proof itself, are thrown away. */
  readonly force?: readonly EntryState[]
  readonly says: string
}

const row = (rule: Omit<EntryRule, 'source' | 'target'> & Partial<EntryRule>): EntryRule => ({
  source: 'keep',
  target: 'keep',
  ...rule,
})

/**
 * Every transition there is: the code applies it, the tests walk over all pairs of it, the documents draw it
 * (docs/migration.md) and the console offers what it allows. What is not here is refused.
 */
export const entryTable: readonly EntryRule[] = [
  row({
    event: 'block',
    from: ['waiting', 'blocked'],
    to: 'blocked',
    says: 'Something keeps it from starting that heals by itself; every reason is listed.',
  }),
  row({
    event: 'unblock',
    from: ['blocked'],
    to: 'waiting',
    says: 'Nothing keeps it from starting any more.',
  }),
  row({
    event: 'create',
    from: ['waiting'],
    to: 'creating',
    says: 'The target has room for one more creation.',
  }),
  row({
    event: 'created',
    from: ['creating'],
    to: 'idle',
    stage: 'background',
    says: 'The machine is defined.',
  }),
  row({
    event: 'create-put-off',
    from: ['creating'],
    to: 'waiting',
    stage: 'background',
    target: 'destroy',
    says: 'The target could not make it now; it is tried again.',
  }),
  row({
    event: 'sync-begin',
    from: ['idle'],
    in: ['background', 'final'],
    to: 'background-import',
    says: 'A first copy, or a top-up of what changed since the last one.',
  }),
  row({
    event: 'sync-done',
    from: ['background-import'],
    to: 'idle',
    stage: 'final',
    says: 'The copy is as old as its beginning.',
  }),
  row({
    event: 'sync-put-off',
    from: ['background-import'],
    to: 'idle',
    says: 'It was let go at a safe point and goes on from there.',
  }),
  row({
    event: 'cutover-begin',
    from: ['idle'],
    in: ['background', 'final'],
    to: 'final-import',
    stage: 'final',
    says: 'Its window is open: the source is switched off and the rest is copied.',
  }),
  row({
    event: 'copied',
    from: ['final-import'],
    to: 'idle',
    stage: 'complete',
    says: 'The copy is the source as it was when it was switched off.',
  }),
  row({
    event: 'post-begin',
    from: ['idle'],
    in: ['complete'],
    to: 'post-import',
    says: 'The copy is fitted to its new home.',
  }),
  row({ event: 'post-done', from: ['post-import'], to: 'worker-done', says: 'It is ready to be verified.' }),
  row({
    event: 'verified',
    from: ['worker-done'],
    to: 'finished',
    says: 'The target runs, or rests, as it should, and a certificate says so.',
  }),
  row({
    event: 'copy-stale',
    from: ['worker-done'],
    to: 'idle',
    stage: 'final',
    says: 'The source was found running: what it wrote is not in the copy, so the final import is done again.',
  }),
  row({
    event: 'copy-stale',
    from: ['conflict'],
    in: ['complete'],
    to: 'conflict',
    stage: 'final',
    says: 'The source has run again: a resolve begins with a new final import.',
  }),
  row({
    event: 'conflict',
    from: ['worker-done'],
    to: 'conflict',
    says: 'A person has to decide: it would land elsewhere now, or it does not start.',
  }),
  row({
    event: 'identity-changed',
    from: ['worker-done'],
    to: 'error',
    stage: 'final',
    source: 'person',
    says: 'The source is not the machine any more that was copied.',
  }),
  row({
    event: 'let-go',
    from: ['final-import'],
    to: 'idle',
    stage: 'final',
    source: 'start',
    says: 'Its window closed during the final import, or the work was called off: the source runs again.',
  }),
  row({
    event: 'let-go',
    from: ['idle'],
    in: ['complete'],
    to: 'idle',
    stage: 'final',
    source: 'start',
    says: 'Its window closed after the final import: the source runs again and the copy is stale.',
  }),
  row({
    event: 'let-go',
    from: ['post-import', 'worker-done'],
    to: 'waiting',
    stage: 'background',
    source: 'start',
    target: 'destroy',
    says: 'Its window closed when the copy had been changed already: it begins anew.',
  }),
  row({
    event: 'let-go',
    from: ['conflict'],
    in: ['complete'],
    to: 'conflict',
    stage: 'final',
    source: 'start',
    says: 'Its window closed before a person decided: the source runs again and the copy is stale.',
  }),
  row({
    event: 'fail',
    from: ['creating', 'background-import', 'idle', 'final-import', 'post-import', 'worker-done'],
    in: ['background'],
    to: 'error',
    source: 'start',
    says: 'It cannot go on by itself; the message says why.',
  }),
  row({
    event: 'fail',
    from: ['background-import', 'idle', 'final-import', 'post-import', 'worker-done'],
    in: ['final', 'complete'],
    to: 'error',
    stage: 'final',
    source: 'start',
    says: 'It cannot go on by itself; the message says why. What was copied is kept.',
  }),
  row({
    event: 'cancel',
    from: [
      'blocked',
      'waiting',
      'creating',
      'background-import',
      'idle',
      'final-import',
      'post-import',
      'worker-done',
      'error',
      'conflict',
    ],
    to: 'canceled',
    stage: 'background',
    source: 'start',
    target: 'asked',
    force: ['post-import', 'worker-done'],
    says: 'A person gave it up.',
  }),
  row({
    event: 'retry',
    from: ['canceled', 'error'],
    to: 'waiting',
    stage: 'background',
    says: 'A person wants it tried again: everything is checked anew, and what is there of ours is taken over.',
  }),
  row({
    event: 'resolve',
    from: ['conflict'],
    in: ['background'],
    to: 'waiting',
    says: 'A person lets it through.',
  }),
  row({
    event: 'resolve',
    from: ['conflict'],
    in: ['final'],
    to: 'idle',
    says: 'A person has decided; the source has run since, so a new final import comes first.',
  }),
  row({
    event: 'resolve',
    from: ['conflict'],
    in: ['complete'],
    to: 'worker-done',
    says: 'A person has decided: everything is verified once more.',
  }),
  row({
    event: 'reset',
    from: [
      'blocked',
      'waiting',
      'creating',
      'background-import',
      'idle',
      'final-import',
      'post-import',
      'worker-done',
      'error',
      'canceled',
      'conflict',
    ],
    to: 'gone',
    source: 'start',
    target: 'destroy',
    force: ['final-import', 'post-import', 'worker-done'],
    says: 'The batch begins from nothing; what is finished stays as it is.',
  }),
  row({
    event: 'reset',
    from: ['finished'],
    to: 'gone',
    says: 'The batch begins from nothing; the finished machine stays.',
  }),
]

export interface EntryStep {
  readonly rule: EntryRule
  /** Undefined: the entry is gone. */
  readonly to: EntryPlace | undefined
}

export type EntryAnswer =
  | ({ readonly allowed: true } & EntryStep)
  | { readonly allowed: false; readonly why: 'not-from-here' | 'needs-force'; readonly from: EntryPlace }

/** What the table says of an event here. */
export const applyEntryEvent = (
  place: EntryPlace,
  event: EntryEvent,
  options: { readonly force?: boolean } = {},
): EntryAnswer => {
  const rule = entryTable.find(
    (candidate) =>
      candidate.event === event &&
      candidate.from.includes(place.state) &&
      (candidate.in ?? entryStages).includes(place.stage),
  )
  if (!rule) return { allowed: false, why: 'not-from-here', from: place }
  const guarded = rule.force?.includes(place.state) || (event === 'reset' && isCommitted(place))
  if (guarded && !options.force) return { allowed: false, why: 'needs-force', from: place }
  return {
    allowed: true,
    rule,
    to: rule.to === 'gone' ? undefined : { state: rule.to, stage: rule.stage ?? place.stage },
  }
}

export interface EntryVerb {
  readonly verb: 'cancel' | 'retry' | 'resolve'
  /** It must be said twice. */
  readonly force: boolean
}

/** A person's verbs that are possible here: for screens and answers. */
export const entryVerbs = (place: EntryPlace): EntryVerb[] =>
  (['cancel', 'retry', 'resolve'] as const)
    .filter((verb) => applyEntryEvent(place, verb, { force: true }).allowed)
    .map((verb) => ({ verb, force: !applyEntryEvent(place, verb).allowed }))
