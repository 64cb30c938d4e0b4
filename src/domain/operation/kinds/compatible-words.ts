import { type OperationKind, operationKinds } from './kinds.ts'
import type { OperationReason } from './reasons.ts'

/** Reasons that tools of VM operations know. */
type KnownWord =
  | 'Unknown'
  | 'NotReadyToBeExecuted'
  | 'VirtualMachineNotFound'
  | 'NotApplicableForVirtualMachineRunPolicy'
  | 'NotApplicableForVirtualMachinePhase'
  | 'Superseded'
  | 'OperationFailed'
  | 'OperationCompleted'
  | 'StartInProgress'
  | 'StopInProgress'
  | 'RestartInProgress'
  | 'RestoreInProgress'
  | 'CloneInProgress'
  | 'MigrationPending'
  | 'WaitingForSyncSlot'
  | 'TargetScheduling'
  | 'TargetUnschedulable'
  | 'TargetPreparing'
  | 'Syncing'
  | 'NotConverging'
  | 'SourceSuspended'
  | 'OtherMigrationInProgress'
  | 'Completed'
  | 'Aborted'
  | 'Failed'

/** Words of ours, for what those tools have none: kinds that they do not know, and what a target has against it. */
type OwnWord =
  | 'SnapshotInProgress'
  | 'HibernateInProgress'
  | 'WakeInProgress'
  | 'HostFull'
  | 'NoHostFits'
  | 'TargetBusy'
  | 'TargetUnreachable'
  | 'TargetFails'
  | 'Canceled'

export type CompatibleWord = KnownWord | OwnWord

/** What one of a kind is called that is under way. */
export const progressWords: Readonly<Record<OperationKind, CompatibleWord>> = {
  start: 'StartInProgress',
  stop: 'StopInProgress',
  restart: 'RestartInProgress',
  snapshot: 'SnapshotInProgress',
  restore: 'RestoreInProgress',
  clone: 'CloneInProgress',
  hibernate: 'HibernateInProgress',
  wake: 'WakeInProgress',
  migrate: 'TargetScheduling',
  evict: 'TargetScheduling',
}

/** Those tools tell of a move in words of its own. */
export const moveKinds: readonly OperationKind[] = ['migrate', 'evict']
export const otherKinds: readonly OperationKind[] = operationKinds.filter((kind) => !moveKinds.includes(kind))

/** The word of its kind for being under way. */
export const inProgress = Symbol('in-progress')

export interface Words {
  readonly moves: CompatibleWord | typeof inProgress
  readonly others: CompatibleWord | typeof inProgress
}

const both = (word: CompatibleWord): Words => ({ moves: word, others: word })
const notYet: Words = { moves: 'MigrationPending', others: 'NotReadyToBeExecuted' }
const failed = { moves: 'Failed', others: 'OperationFailed' } as const satisfies Words

/** What those tools call each of our reasons. */
export const compatibleWords: Readonly<Record<OperationReason, Words>> = {
  queued: notYet,
  'awaiting-older': notYet,
  admitted: { moves: 'MigrationPending', others: 'Unknown' },
  retrying: notYet,
  'awaiting-slot': { moves: 'WaitingForSyncSlot', others: 'NotReadyToBeExecuted' },
  paused: notYet,
  'no-worker': notYet,
  'waiting-for-guest': { moves: inProgress, others: inProgress },
  'host-full': { moves: 'TargetUnschedulable', others: 'HostFull' },
  'target-busy': both('TargetBusy'),
  'target-unreachable': both('TargetUnreachable'),
  'target-fails': both('TargetFails'),
  'in-progress': { moves: inProgress, others: inProgress },
  completed: { moves: 'Completed', others: 'OperationCompleted' },
  superseded: both('Superseded'),
  canceled: { moves: 'Aborted', others: 'Canceled' },
  'machine-gone': both('VirtualMachineNotFound'),
  'not-for-run-policy': both('NotApplicableForVirtualMachineRunPolicy'),
  'not-for-phase': both('NotApplicableForVirtualMachinePhase'),
  blocked: both('NotReadyToBeExecuted'),
  'past-return': both('NotReadyToBeExecuted'),
  'queue-full': both('NotReadyToBeExecuted'),
  'host-unknown': { moves: 'TargetUnschedulable', others: 'OperationFailed' },
  'in-migration': { moves: 'OtherMigrationInProgress', others: 'NotReadyToBeExecuted' },
  migrated: both('NotReadyToBeExecuted'),
  'unproven-copy': both('NotReadyToBeExecuted'),
  'runs-elsewhere': both('NotReadyToBeExecuted'),
  'starts-elsewhere': both('NotReadyToBeExecuted'),
  unsupported: failed,
  'guest-keeps-running': failed,
  'guest-suspended': failed,
  'snapshot-absent': failed,
  'snapshot-ambiguous': failed,
  'name-taken': failed,
  'state-unusable': failed,
  'no-host-fits': { moves: 'TargetUnschedulable', others: 'NoHostFits' },
  'host-unsuitable': { moves: 'TargetUnschedulable', others: 'OperationFailed' },
  'machine-not-movable': failed,
  'other-move': both('OtherMigrationInProgress'),
  'move-scheduling': { moves: 'TargetScheduling', others: inProgress },
  'move-preparing': { moves: 'TargetPreparing', others: inProgress },
  'move-prepare-stalled': failed,
  'move-syncing': { moves: 'Syncing', others: inProgress },
  'not-converging': { moves: 'NotConverging', others: inProgress },
  'move-switching': { moves: 'SourceSuspended', others: inProgress },
  'move-aborted': { moves: 'Aborted', others: 'OperationFailed' },
  'wait-expired': both('NotReadyToBeExecuted'),
  'older-keeps-on': notYet,
  'deadline-exceeded': failed,
  failed,
}

/** With these a failure may end; any other word of one that has failed gives way to the plain one. */
export const failureWords: readonly CompatibleWord[] = [
  ...(['VirtualMachineNotFound', 'NotReadyToBeExecuted', 'OtherMigrationInProgress'] as const),
  ...(['NotApplicableForVirtualMachineRunPolicy', 'NotApplicableForVirtualMachinePhase'] as const),
  ...(['OperationFailed', 'Failed', 'Aborted', 'Canceled', 'NotConverging', 'TargetUnschedulable'] as const),
]

/** A move that stands in line is pending to those tools, also when it was under way before. */
export const pendingWords: readonly CompatibleWord[] = ['MigrationPending', 'WaitingForSyncSlot']

/** A move is in progress to those tools from the moment its host is looked for. */
export const underWayWords: readonly CompatibleWord[] = [
  ...(['TargetScheduling', 'TargetUnschedulable', 'TargetPreparing'] as const),
  ...(['Syncing', 'NotConverging', 'SourceSuspended'] as const),
]

/** What one of that kind is called for a reason of ours; `hasFailed`: it has ended so. */
export const compatibleWord = (
  kind: OperationKind,
  reason: OperationReason,
  hasFailed = false,
): CompatibleWord => {
  const family = moveKinds.includes(kind) ? 'moves' : 'others'
  // It is pending no more.
  if (hasFailed && reason === 'older-keeps-on') return 'NotReadyToBeExecuted'
  const word = compatibleWords[reason][family]
  const shown = word === inProgress ? progressWords[kind] : word
  return !hasFailed || failureWords.includes(shown) ? shown : failed[family]
}
