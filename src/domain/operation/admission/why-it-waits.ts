import type { OperationReason } from '../kinds/reasons.ts'

/** An error, as a job records it. */
export interface RecordedTrouble {
  readonly code: string
  readonly message: string
  readonly remedy: string
}

/** Why an operation waits. Law: every wait has a reason, a since and an end. */
export interface OperationWait {
  readonly reason: OperationReason
  readonly detail: string
  readonly since: Date
  /** The latest end of the wait; null: only the event in `endsWhen` ends it. */
  readonly until: Date | null
  readonly endsWhen: string
  /** The last error, when the operation is retried. */
  readonly error: RecordedTrouble | null
}

/** The job of an operation that has not ended, with the facts that explain a wait. */
export interface JobOfOperation {
  readonly jobState: string | null
  readonly jobError: RecordedTrouble | null
  readonly jobWaitDetail: string | null
  readonly jobWaitSince: Date | null
  readonly jobRunAfter: Date | null
  readonly pausedBy: string | null
  readonly pausedWhat: string | null
  readonly pausedAt: Date | null
}

export interface WaitingOperation extends JobOfOperation {
  readonly shownReason: OperationReason
  /** The recorded reason, and since when. */
  readonly reason: string
  readonly reasonAt: Date
  readonly message: string
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly expiresAt: Date
  readonly deadlineAt: Date | null
  /** Start of the slot wait that pauses the deadline; null: no slot wait. */
  readonly inLineSince: Date | null
  /** Of a queued operation: the number of operations before it, and the operation that holds the machine. */
  readonly position: number | null
  readonly blocker: string | null
  readonly older: readonly string[]
}

type Explained = Pick<OperationWait, 'detail' | 'endsWhen'> & Partial<OperationWait>

/** Null: the operation has ended, or a worker runs it at this moment. */
export const whyItWaits = (operation: WaitingOperation): OperationWait | null => {
  if (operation.finishedAt !== null || operation.jobState === 'running') return null
  return {
    reason: operation.shownReason,
    since: sinceWhen(operation),
    // Before the start and during a slot wait the wait timeout runs; otherwise the deadline runs.
    until:
      operation.startedAt === null || operation.inLineSince !== null
        ? operation.expiresAt
        : operation.deadlineAt,
    error: null,
    ...explain(operation),
  }
}

/** The job wakes up repeatedly to look again; that is not a new wait. */
const sinceWhen = ({ shownReason, reason, reasonAt, jobWaitSince }: WaitingOperation): Date =>
  shownReason === reason ? reasonAt : (jobWaitSince ?? reasonAt)

const explain = (operation: WaitingOperation): Explained =>
  explanations[operation.shownReason]?.(operation) ?? atItsPlatform(operation)

const stillActive = (operation: WaitingOperation): Explained => ({
  detail: operation.jobWaitDetail ?? `${operation.older.join(', ')} is still active.`,
  endsWhen: 'Everything that the superseded operation started has stopped.',
})

/** Waits that any kind can have. */
const explanations: Readonly<Partial<Record<OperationReason, (operation: WaitingOperation) => Explained>>> = {
  queued: ({ position, blocker, older }) => ({
    detail: [
      `${position ?? 0} before it`,
      ...(blocker === null ? [] : [`${blocker} is at the machine`]),
      ...(older.length === 0 ? [] : [`${older.join(', ')} is still active`]),
    ]
      .join('; ')
      .concat('.'),
    endsWhen: 'Those before it end, or are canceled.',
  }),
  'awaiting-older': stillActive,
  'older-keeps-on': stillActive,
  'awaiting-slot': ({ jobWaitDetail }) => ({
    detail: jobWaitDetail ?? 'Waits for an admission token.',
    endsWhen: 'A holder ends, or the limit is raised (PUT /v1/limits/{name}).',
  }),
  retrying: ({ jobError, jobRunAfter }) => ({
    detail: jobError?.message ?? '',
    until: jobRunAfter,
    endsWhen: 'The time comes; then it is tried again.',
    error: jobError,
  }),
  paused: ({ pausedBy, pausedWhat, pausedAt, createdAt }) => ({
    detail: `${pausedBy} paused the ${pausedWhat}`,
    since: pausedAt ?? createdAt,
    endsWhen: 'It is resumed (DELETE /v1/pauses/{scope}/{name}).',
  }),
  'no-worker': () => ({ detail: 'No living worker operates machines.', endsWhen: 'A worker starts.' }),
}

/** What ends a wait for a target, apart from the deadline. */
const platformEnds: Readonly<Partial<Record<OperationReason, string>>> = {
  'waiting-for-guest': 'The guest goes down. The same with force takes its place, and pulls the plug.',
  'host-full': 'There is room for it.',
  'target-busy': 'What is at work on the machine has ended.',
  'target-unreachable': 'The target and the host of the machine answer again.',
  'target-fails': 'The target does what it is asked for.',
  'no-host-fits': 'A host can take the machine.',
  'other-move': 'That move has ended.',
}

const atItsPlatform = (operation: WaitingOperation): Explained =>
  operation.startedAt === null && operation.shownReason === 'admitted'
    ? { detail: operation.message, endsWhen: 'A worker is free for its target.' }
    : {
        detail: operation.jobWaitDetail ?? operation.message,
        endsWhen: platformEnds[operation.shownReason] ?? 'The target has done it.',
      }
