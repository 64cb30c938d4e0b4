import { defineTable, type Move } from '../../table/state-table.ts'

const states = {
  queued: { says: 'Behind another operation of its machine.', starts: true },
  pending: { says: 'Its turn has come; nothing was asked of the platform yet.', starts: true },
  running: { says: 'The platform was asked for it.' },
  completed: { says: 'The machine is as it was asked to be.', terminal: true },
  failed: { says: 'It did not come about; its reason says why.', terminal: true },
  canceled: { says: 'A person gave it up.', terminal: true },
  superseded: { says: 'A newer operation took its place.', terminal: true },
} as const
export type OperationState = keyof typeof states

const events = ['promote', 'begin', 'complete', 'fail', 'cancel', 'supersede', 'expire'] as const
export type OperationEvent = (typeof events)[number]

/** At most one operation of a machine is active; any number may be queued behind it. */
export const activeStates = ['pending', 'running'] as const satisfies readonly OperationState[]
const open = ['queued', ...activeStates] as const

const moves: readonly Move<OperationState, OperationEvent>[] = [
  {
    event: 'promote',
    from: ['queued'],
    to: 'pending',
    cause: 'conductor',
    says: 'Nobody is at the machine any more: its turn has come.',
  },
  {
    event: 'begin',
    from: ['pending'],
    to: 'running',
    cause: 'worker',
    says: 'A worker is about to ask the platform.',
  },
  {
    event: 'complete',
    from: ['running'],
    to: 'completed',
    cause: 'worker',
    says: 'The platform has done it.',
  },
  {
    event: 'fail',
    from: open,
    to: 'failed',
    cause: 'worker',
    says: 'It cannot be done; while it queues: nobody may do it there any more.',
  },
  { event: 'cancel', from: open, to: 'canceled', cause: 'person', says: 'A person gave it up.' },
  {
    event: 'supersede',
    from: activeStates,
    to: 'superseded',
    cause: 'person',
    says: 'A newer operation that may do so took its place.',
  },
  {
    event: 'expire',
    from: open,
    to: 'failed',
    cause: 'conductor',
    says: 'Its turn did not come in time, or it took longer than it was given.',
  },
]

/** Every move of an operation, drawn in `docs/operations.md`. */
export const operationTable = defineTable({ subject: 'operation', states, events, moves })

export const operationStates = operationTable.states
export const endedStates = operationTable.terminal

export const isActive = (state: OperationState): boolean =>
  (activeStates as readonly OperationState[]).includes(state)

export const hasEnded = (state: OperationState): boolean => endedStates.includes(state)
