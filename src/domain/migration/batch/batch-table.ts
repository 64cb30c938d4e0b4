import { defineTable, type Move, transition } from '../../table/state-table.ts'

/** Instances that are migrated together, and what becomes of the whole. */
const states = {
  defined: { says: 'It may be changed; nothing of it was begun.', starts: true },
  running: { says: 'Its entries go on by themselves.' },
  stopped: { says: 'Nothing new begins until it is started again.' },
  finished: { says: 'Every entry has finished or was given up.', terminal: true },
  error: { says: 'Its entries could not be made.', terminal: true },
} as const
export type BatchState = keyof typeof states

const events = ['start', 'stop', 'finish', 'reopen', 'fail', 'reset'] as const
export type BatchEvent = (typeof events)[number]

interface BatchMove extends Move<BatchState, BatchEvent> {
  readonly to: BatchState
  /** The type of its event in the history. */
  readonly tells: `batch.${string}`
}

const moves: readonly BatchMove[] = [
  {
    event: 'start',
    from: ['defined', 'stopped', 'error'],
    to: 'running',
    cause: 'person',
    tells: 'batch.started',
    says: 'Entries are made for instances that have none; the others go on where they were.',
  },
  {
    event: 'stop',
    from: ['running'],
    to: 'stopped',
    cause: 'person',
    tells: 'batch.stopped',
    says: 'What runs lets go at its next safe point; sources that are off stay off until the window ends.',
  },
  {
    event: 'finish',
    from: ['running'],
    to: 'finished',
    cause: 'conductor',
    tells: 'batch.finished',
    says: 'Every entry has finished or was given up; the message says when none was migrated.',
  },
  {
    event: 'reopen',
    from: ['finished'],
    to: 'running',
    cause: 'person',
    tells: 'batch.reopened',
    says: 'An entry is tried again.',
  },
  {
    event: 'fail',
    from: ['running'],
    to: 'error',
    cause: 'conductor',
    tells: 'batch.failed',
    says: 'Nothing of it can go on; the message says why.',
  },
  {
    event: 'reset',
    from: ['running', 'stopped', 'finished', 'error'],
    to: 'defined',
    cause: 'person',
    tells: 'batch.reset',
    says: 'Its entries go, and what they made with them; finished machines stay.',
  },
]

/** Every move of a batch, drawn in `docs/migration.md`. */
export const batchTable = defineTable({ subject: 'batch', states, events, moves })

export const batchStates = batchTable.states

/** Whether the table allows the event in this state: for screens and answers. */
export const mayHappen = (state: BatchState, event: BatchEvent): boolean =>
  transition(batchTable, state, event) !== undefined
