/** Instances that are migrated together, and what becomes of the whole. */
export const batchStates = ['defined', 'running', 'stopped', 'finished', 'error'] as const
export type BatchState = (typeof batchStates)[number]

export const batchEvents = ['start', 'stop', 'reset', 'finish', 'reopen', 'fail'] as const
export type BatchEvent = (typeof batchEvents)[number]

interface BatchRule {
  readonly event: BatchEvent
  readonly from: readonly BatchState[]
  readonly to: BatchState
  readonly says: string
}

/** Every transition of a batch; what is not here is refused. */
export const batchTable: readonly BatchRule[] = [
  {
    event: 'start',
    from: ['defined', 'stopped', 'error'],
    to: 'running',
    says: 'Entries are made for instances that have none; the others go on where they were.',
  },
  {
    event: 'stop',
    from: ['running'],
    to: 'stopped',
    says: 'What runs lets go at its next safe point; sources that are off stay off until the window ends.',
  },
  {
    event: 'finish',
    from: ['running'],
    to: 'finished',
    says: 'Every entry has finished or was given up; the message says when none was migrated.',
  },
  {
    event: 'reopen',
    from: ['finished'],
    to: 'running',
    says: 'An entry is tried again.',
  },
  { event: 'fail', from: ['running'], to: 'error', says: 'Nothing of it can go on; the message says why.' },
  {
    event: 'reset',
    from: ['running', 'stopped', 'finished', 'error'],
    to: 'defined',
    says: 'Its entries go, and what they made with them; finished machines stay.',
  },
]

/** Where an event leads from here; undefined when it is refused. */
export const applyBatchEvent = (state: BatchState, event: BatchEvent): BatchState | undefined =>
  batchTable.find((rule) => rule.event === event && rule.from.includes(state))?.to
