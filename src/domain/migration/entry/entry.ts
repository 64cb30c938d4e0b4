import type { StateMeaning } from '../../table/state-table.ts'

/** One instance in one batch. The words are those of the tools that operators come from. */
export const entryMeanings = {
  blocked: { says: 'Something keeps it from starting that heals by itself.', starts: true },
  waiting: { says: 'It waits for its place on a target.', starts: true },
  creating: { says: 'Its machine is being defined on the target.' },
  'background-import': { says: 'Its disks are copied while the source runs.' },
  idle: { says: 'It rests until the next copy, or until its cutover.' },
  'final-import': { says: 'Its source is switched off, and the rest is copied.' },
  'post-import': { says: 'The copy is fitted to its new home.' },
  'worker-done': { says: 'The copy is ready and is being verified.' },
  finished: { says: 'It is migrated.', terminal: true },
  error: { says: 'It cannot go on by itself.', terminal: true },
  canceled: { says: 'A person gave it up.', terminal: true },
  conflict: { says: 'A person has to decide.', starts: true },
} as const satisfies Record<string, StateMeaning>
export type EntryState = keyof typeof entryMeanings
export const entryStates = Object.keys(entryMeanings) as EntryState[]

/**
 * The progress of the copy, whatever the state. `background`: no first copy yet. `final`: a copy exists and is older
 * than the source. `complete`: the copy equals the source as it was when it was switched off for good.
 */
export const entryStages = ['background', 'final', 'complete'] as const
export type EntryStage = (typeof entryStages)[number]

/** State and stage of an entry: the pair that the transition table is about. */
export interface EntryPlace {
  readonly state: EntryState
  readonly stage: EntryStage
}

const isOneOf =
  (...states: readonly EntryState[]) =>
  (state: EntryState): boolean =>
    states.includes(state)

/** A worker works on it, or will without a request. */
export const isMigrating = isOneOf(
  'creating',
  'background-import',
  'idle',
  'final-import',
  'post-import',
  'worker-done',
)

/** Nothing more happens by itself, and nothing is in progress. */
export const hasEnded = (state: EntryState): boolean => 'terminal' in entryMeanings[state]

/** It will go on without a person; if blocked, once the cause is gone. */
export const goesOnByItself = (state: EntryState): boolean => !hasEnded(state) && state !== 'conflict'

/** The power-off of the source was requested: it is off, or about to be, because of Drover. */
export const isCommitted = ({ state, stage }: EntryPlace): boolean =>
  isOneOf('final-import', 'post-import', 'worker-done')(state) ||
  (stage === 'complete' && isOneOf('idle', 'conflict')(state))

/** The placement may still change without anything to undo. */
export const isBeforePlacement = ({ state, stage }: EntryPlace): boolean =>
  isOneOf('blocked', 'waiting', 'creating')(state) || (state === 'conflict' && stage === 'background')

/** No window is needed yet: the next one it would get is shown. */
export const isBeforeWindow = ({ state, stage }: EntryPlace): boolean =>
  isOneOf('blocked', 'waiting', 'creating', 'background-import')(state) ||
  (state === 'idle' && stage !== 'complete')
