import type { OperationReason } from '../kinds/reasons.ts'

/** What went wrong, as a job keeps it. */
export interface RecordedTrouble {
  readonly code: string
  readonly message: string
  readonly remedy: string
}

/** Why an operation does not go on now. Law: every wait has a reason, a since and an end. */
export interface OperationWait {
  readonly reason: OperationReason
  readonly detail: string
  readonly since: Date
  /** When it ends by itself at the latest; null: only what `endsWhen` names ends it. */
  readonly until: Date | null
  readonly endsWhen: string
  /** What went wrong, of one that is tried again. */
  readonly error: RecordedTrouble | null
}

/** What is known of the job of an operation that has not ended: why it waits is said by that. */
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
  /** As it was noted last, and since when. */
  readonly reason: string
  readonly reasonAt: Date
  readonly message: string
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly expiresAt: Date
  readonly deadlineAt: Date | null
  /** Since when its deadline stands still; null: it has not begun, or goes on. */
  readonly inLineSince: Date | null
  /** How many are before it, and who is at the machine: of one that queues. */
  readonly position: number | null
  readonly blocker: string | null
  readonly older: readonly string[]
}

type Explained = Pick<OperationWait, 'detail' | 'endsWhen'> & Partial<OperationWait>

/** Null: it has ended, or somebody is at work on it this moment. */
export const whyItWaits = (operation: WaitingOperation): OperationWait | null => {
  if (operation.finishedAt !== null || operation.jobState === 'running') return null
  return {
    reason: operation.shownReason,
    since: sinceWhen(operation),
    // Before it has begun, and whenever it stands in line, its turn has to come in time; else its deadline counts.
    until:
      operation.startedAt === null || operation.inLineSince !== null
        ? operation.expiresAt
        : operation.deadlineAt,
    error: null,
    ...explain(operation),
  }
}

/** Its job is looked at again and again; that is no new wait. */
const sinceWhen = ({ shownReason, reason, reasonAt, jobWaitSince }: WaitingOperation): Date =>
  shownReason === reason ? reasonAt : (jobWaitSince ?? reasonAt)

const explain = (operation: WaitingOperation): Explained =>
  explanations[operation.shownReason]?.(operation) ?? atItsPlatform(operation)

const stillActive = (operation: WaitingOperation): Explained => ({
  detail: operation.jobWaitDetail ?? `${operation.older.join(', ')} is letting go.`,
  endsWhen: 'What the older one began has stopped.',
})

/** Waits that are not of its kind. */
const explanations: Readonly<Partial<Record<OperationReason, (operation: WaitingOperation) => Explained>>> = {
  queued: ({ position, blocker, older }) => ({
    detail: [
      `${position ?? 0} before it`,
      ...(blocker === null ? [] : [`${blocker} is at the machine`]),
      ...(older.length === 0 ? [] : [`${older.join(', ')} is letting go`]),
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

/** What ends a wait for a target, beside the deadline. */
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
