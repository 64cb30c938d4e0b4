import { describe, expect, test } from 'vitest'
import { conditionsView, type OperationSeen } from '../../../src/domain/operation/admission/conditions.ts'
import { operationKinds } from '../../../src/domain/operation/kinds/kinds.ts'
import { type OperationReason, operationReasons } from '../../../src/domain/operation/kinds/reasons.ts'
import { type OperationState, operationStates } from '../../../src/domain/operation/kinds/state.ts'

const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1_000)
const untouched = { attempted: false, acceptedAt: null }
const refused = { attempted: true, acceptedAt: null }
const accepted = { attempted: true, acceptedAt: at(2) }

const seen: OperationSeen = {
  ...{ kind: 'start', state: 'pending', reason: 'admitted', stored: 'admitted', message: 'As it is.' },
  ...{ progress: 0, createdAt: at(0), startedAt: null, finishedAt: null, signal: untouched },
}

/** The phase and the two conditions in short: status, then reason. */
const shown = (given: Partial<OperationSeen>) => {
  const reason = given.reason ?? seen.reason
  const { phase, progress, conditions } = conditionsView({ ...seen, stored: reason, ...given, reason })
  const [completed, sent] = conditions.map(({ status, reason: word }) => `${status} ${word}`)
  return { phase, progress, completed, sent }
}

/** What tools know, by heart: of the condition Completed, of any kind and of moves, and what they show meanwhile. */
const generic = [
  ...['Unknown', 'VirtualMachineNotFound', 'NotReadyToBeExecuted', 'Superseded', 'OperationFailed'],
  ...['NotApplicableForVirtualMachineRunPolicy', 'NotApplicableForVirtualMachinePhase', 'OperationCompleted'],
  ...['StartInProgress', 'StopInProgress', 'RestartInProgress', 'RestoreInProgress', 'CloneInProgress'],
]
const ofMoves = [
  ...['MigrationPending', 'TargetScheduling', 'TargetUnschedulable', 'TargetDiskError', 'TargetPreparing'],
  ...['Syncing', 'WaitingForSyncSlot', 'NotConverging', 'SourceSuspended', 'TargetResumed', 'Completed'],
  ...['Aborted', 'Failed', 'OtherMigrationInProgress'],
]
const ours = [
  ...['SnapshotInProgress', 'HibernateInProgress', 'WakeInProgress', 'HostFull', 'NoHostFits', 'Canceled'],
  ...['TargetBusy', 'TargetUnreachable', 'TargetFails'],
]
/** Tools take the time of the end of what failed by these alone. */
const ends = [
  ...['OperationFailed', 'Failed', 'Aborted', 'NotConverging', 'TargetUnschedulable', 'TargetDiskError'],
  ...['VirtualMachineNotFound', 'NotReadyToBeExecuted', 'OtherMigrationInProgress'],
  ...['NotApplicableForVirtualMachineRunPolicy', 'NotApplicableForVirtualMachinePhase'],
]

const reasons = Object.keys(operationReasons) as OperationReason[]
const wordOf = (given: Partial<OperationSeen>): string => String(shown(given).completed).split(' ')[1] ?? ''

describe('the words of the compatible view', () => {
  test('of every kind, state and reason are those that tools know, or one of the few of ours', () => {
    const given = new Set<string>()
    for (const kind of operationKinds)
      for (const state of operationStates)
        for (const reason of reasons)
          for (const signal of [untouched, accepted]) given.add(wordOf({ kind, state, reason, signal }))
    const known = [...generic, ...ofMoves, ...ours]
    expect([...given].filter((word) => !known.includes(word))).toEqual([])
    // Targets here do not tell of disks that they cannot attach, nor apart when the other side runs.
    const never = ['TargetDiskError', 'TargetResumed']
    expect(known.filter((word) => !given.has(word) && !never.includes(word))).toEqual([])
  })

  test('of one that failed are words of an end', () => {
    for (const kind of operationKinds)
      for (const reason of reasons.filter((one) => !['completed', 'superseded', 'canceled'].includes(one)))
        expect(ends, `${kind} ${reason}`).toContain(wordOf({ kind, state: 'failed', reason }))
  })

  const moves: readonly (readonly [OperationReason, OperationState, word: string, phase: string])[] = [
    ['queued', 'queued', 'MigrationPending', 'Pending'],
    ['awaiting-older', 'pending', 'MigrationPending', 'Pending'],
    ['admitted', 'pending', 'MigrationPending', 'Pending'],
    ['no-worker', 'pending', 'MigrationPending', 'Pending'],
    ['no-host-fits', 'pending', 'TargetUnschedulable', 'Pending'],
    ['awaiting-slot', 'pending', 'WaitingForSyncSlot', 'Pending'],
    ['awaiting-slot', 'running', 'WaitingForSyncSlot', 'Pending'],
    ['move-scheduling', 'running', 'TargetScheduling', 'InProgress'],
    ['host-full', 'running', 'TargetUnschedulable', 'InProgress'],
    ['move-preparing', 'running', 'TargetPreparing', 'InProgress'],
    ['move-syncing', 'running', 'Syncing', 'InProgress'],
    ['not-converging', 'running', 'NotConverging', 'InProgress'],
    ['move-switching', 'running', 'SourceSuspended', 'InProgress'],
    ['completed', 'completed', 'Completed', 'Completed'],
    ['superseded', 'superseded', 'Superseded', 'Completed'],
    ['canceled', 'canceled', 'Aborted', 'Failed'],
    ['move-aborted', 'failed', 'Aborted', 'Failed'],
    ['not-converging', 'failed', 'NotConverging', 'Failed'],
    ['host-unsuitable', 'failed', 'TargetUnschedulable', 'Failed'],
    ['other-move', 'failed', 'OtherMigrationInProgress', 'Failed'],
    ['move-prepare-stalled', 'failed', 'Failed', 'Failed'],
    ['deadline-exceeded', 'failed', 'Failed', 'Failed'],
    ['wait-expired', 'failed', 'NotReadyToBeExecuted', 'Failed'],
    ['older-keeps-on', 'pending', 'MigrationPending', 'Pending'],
    ['older-keeps-on', 'failed', 'NotReadyToBeExecuted', 'Failed'],
    ['machine-gone', 'failed', 'VirtualMachineNotFound', 'Failed'],
    ['not-for-phase', 'failed', 'NotApplicableForVirtualMachinePhase', 'Failed'],
  ]
  test.each(moves)('of a move with %s that is %s are %s in phase %s', (reason, state, word, phase) => {
    const signal = state === 'running' ? accepted : untouched
    for (const kind of ['migrate', 'evict'] as const) {
      const view = shown({ kind, state, reason, signal, progress: 45 })
      expect([wordOf({ kind, state, reason, signal }), view.phase]).toEqual([word, phase])
      expect(view.progress).toBe('45%')
    }
  })

  const others: readonly (readonly [OperationReason, OperationState, word: string])[] = [
    ['queued', 'queued', 'NotReadyToBeExecuted'],
    ['admitted', 'pending', 'Unknown'],
    ['paused', 'pending', 'NotReadyToBeExecuted'],
    ['canceled', 'canceled', 'Canceled'],
    ['machine-gone', 'failed', 'VirtualMachineNotFound'],
    ['not-for-run-policy', 'failed', 'NotApplicableForVirtualMachineRunPolicy'],
    ['not-for-phase', 'failed', 'NotApplicableForVirtualMachinePhase'],
    ['wait-expired', 'failed', 'NotReadyToBeExecuted'],
    ['guest-keeps-running', 'failed', 'OperationFailed'],
    ['host-full', 'failed', 'OperationFailed'],
    ['failed', 'failed', 'OperationFailed'],
    ['completed', 'completed', 'OperationCompleted'],
    ['superseded', 'superseded', 'Superseded'],
  ]
  test.each(others)('of anything else with %s that is %s are %s', (reason, state, word) => {
    expect(wordOf({ kind: 'restart', state, reason })).toBe(word)
    expect(shown({ kind: 'restart', state, reason }).progress).toBeNull()
  })

  test('of one that is under way are those of its kind', () => {
    const words = operationKinds.map((kind) =>
      wordOf({ kind, state: 'running', reason: 'in-progress', signal: accepted }),
    )
    expect(words).toEqual([
      ...[
        'StartInProgress',
        'StopInProgress',
        'RestartInProgress',
        'SnapshotInProgress',
        'RestoreInProgress',
      ],
      ...['CloneInProgress', 'HibernateInProgress', 'WakeInProgress', 'TargetScheduling', 'TargetScheduling'],
    ])
    expect(wordOf({ kind: 'stop', state: 'running', reason: 'waiting-for-guest', signal: accepted })).toBe(
      'StopInProgress',
    )
  })

  test('stay where it is when only its job is held up, and the message tells of that', () => {
    const held = { state: 'running', reason: 'no-worker', stored: 'move-syncing', signal: accepted } as const
    expect(shown({ ...held, kind: 'migrate' })).toMatchObject({
      ...{ phase: 'InProgress', completed: 'False Syncing' },
    })
    const { conditions } = conditionsView({ ...seen, ...held, kind: 'migrate' })
    expect(conditions[0]?.message).toBe(`${operationReasons['no-worker'].title}.`)
  })
})

describe('SignalSent', () => {
  test('is Unknown until something was asked, and nothing is in progress before that was taken on', () => {
    const begun = { state: 'running', startedAt: at(1) } as const
    expect(shown({ state: 'pending' }).sent).toBe('Unknown Unknown')
    expect(shown({ ...begun, reason: 'target-unreachable' })).toMatchObject({
      ...{ phase: 'Pending', completed: 'False TargetUnreachable', sent: 'Unknown Unknown' },
    })
    expect(shown({ ...begun, reason: 'in-progress', signal: refused })).toMatchObject({
      ...{ phase: 'Pending', completed: 'False Unknown', sent: 'Unknown Unknown' },
    })
    expect(shown({ ...begun, reason: 'in-progress', signal: accepted })).toEqual({
      ...{ phase: 'InProgress', progress: null, completed: 'False StartInProgress' },
      sent: 'True SignalSentSuccess',
    })
  })

  test('is True from the first call that was taken on, however it ends', () => {
    for (const state of ['running', 'completed', 'failed', 'canceled', 'superseded'] as const) {
      const ended = state === 'running' ? {} : { finishedAt: at(9) }
      const given = {
        ...seen,
        ...ended,
        state,
        reason: 'failed',
        startedAt: at(1),
        signal: accepted,
      } as const
      const [, sent] = conditionsView(given).conditions
      expect(sent, state).toMatchObject({
        ...{ type: 'SignalSent', status: 'True', reason: 'SignalSentSuccess' },
        last_transition_time: at(2).toISOString(),
      })
    }
  })

  test('of one that completed is True without a call, and when its job is forgotten', () => {
    const completed = { state: 'completed', reason: 'completed', finishedAt: at(3) } as const
    for (const signal of [untouched, null]) {
      expect(shown({ ...completed, signal })).toMatchObject({
        ...{ phase: 'Completed', completed: 'True OperationCompleted', sent: 'True SignalSentSuccess' },
      })
      expect(conditionsView({ ...seen, ...completed, signal }).conditions[1]?.last_transition_time).toBe(
        at(3).toISOString(),
      )
    }
    expect(shown({ state: 'failed', reason: 'failed', finishedAt: at(3), signal: null }).sent).toBe(
      'Unknown Unknown',
    )
  })

  test('is False when the target was asked and did not take it on, also while it is asked again', () => {
    expect(shown({ state: 'running', reason: 'host-full', signal: refused })).toMatchObject({
      ...{ phase: 'Pending', completed: 'False HostFull', sent: 'False SignalSentError' },
    })
    for (const state of ['failed', 'canceled', 'superseded'] as const)
      expect(shown({ state, reason: state, finishedAt: at(3), signal: refused }).sent, state).toBe(
        'False SignalSentError',
      )
  })

  test('of a failure before anything was asked is False where the target failed it, else Unknown', () => {
    const failed = (reason: OperationReason) =>
      shown({ state: 'failed', reason, finishedAt: at(3), signal: untouched }).sent
    for (const reason of ['failed', 'deadline-exceeded', 'target-unreachable', 'target-fails'] as const)
      expect(failed(reason), reason).toBe('False SignalSentError')
    for (const reason of ['wait-expired', 'older-keeps-on', 'not-for-run-policy', 'not-for-phase'] as const)
      expect(failed(reason), reason).toBe('Unknown Unknown')
    for (const reason of ['machine-gone', 'unsupported', 'guest-suspended', 'snapshot-absent'] as const)
      expect(failed(reason), reason).toBe('Unknown Unknown')
  })
})
