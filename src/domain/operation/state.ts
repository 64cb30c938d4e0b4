/** The states of an operation. */
export const operationStates = [
  /** Behind another one of its machine. */
  'queued',
  /** Its turn has come; nothing was asked of the platform yet. */
  'pending',
  'running',
  'completed',
  'failed',
  'canceled',
  /** A newer one took its place. */
  'superseded',
] as const
export type OperationState = (typeof operationStates)[number]

export const operationEvents = [
  'promote',
  'begin',
  'complete',
  'fail',
  'cancel',
  'supersede',
  'expire',
] as const
export type OperationEvent = (typeof operationEvents)[number]

/** Every transition there is. What is not here does not happen. */
export const operationTable: Readonly<
  Record<OperationState, Readonly<Partial<Record<OperationEvent, OperationState>>>>
> = {
  queued: { promote: 'pending', expire: 'failed', cancel: 'canceled', fail: 'failed' },
  pending: {
    begin: 'running',
    fail: 'failed',
    cancel: 'canceled',
    supersede: 'superseded',
    expire: 'failed',
  },
  running: {
    complete: 'completed',
    fail: 'failed',
    cancel: 'canceled',
    supersede: 'superseded',
    expire: 'failed',
  },
  completed: {},
  failed: {},
  canceled: {},
  superseded: {},
}

/** Where an event finds an operation, and where it leads. */
export interface Transition {
  readonly from: readonly OperationState[]
  readonly to: OperationState
}

/**
 * What the table says of an event; `seen`: of an operation in that state alone. What the table does not have is a
 * mistake of whoever asks for it.
 */
export const transitionOf = (event: OperationEvent, seen?: OperationState): Transition => {
  const from = operationStates.filter((state) => operationTable[state][event] && (seen ?? state) === state)
  const [to, ...others] = new Set(from.map((state) => operationTable[state][event]))
  if (to === undefined || others.length > 0)
    throw new Error(`No operation ${seen === undefined ? '' : `that is ${seen} `}can ${event}.`)
  return { from, to }
}

/** At most one operation of a machine is active; any number may be queued behind it. */
export const activeStates = ['pending', 'running'] as const satisfies readonly OperationState[]
export const endedStates = [
  'completed',
  'failed',
  'canceled',
  'superseded',
] as const satisfies readonly OperationState[]

export const isActive = (state: OperationState): boolean =>
  (activeStates as readonly OperationState[]).includes(state)

export const hasEnded = (state: OperationState): boolean =>
  (endedStates as readonly OperationState[]).includes(state)
