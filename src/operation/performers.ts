import { operationCloneKind, savedStateDropKind } from '../domain/operation/beside-machine.ts'
import type { OperationKind } from '../domain/operation/kinds.ts'
import type { Undoer } from '../ledger/job.ts'
import { cloneMachine, undoOperationClone } from './perform/clone.ts'
import { endOperationSave, hibernateMachine, operationSaveKind } from './perform/hibernate.ts'
import { moveMachine } from './perform/move.ts'
import { operationMoveKind, undoOperationMove } from './perform/move-undo.ts'
import {
  awaitOperationPower,
  operationPowerKind,
  restartMachine,
  startMachine,
  stopMachine,
} from './perform/power.ts'
import { awaitOperationRestore, operationRestoreKind, restoreMachine } from './perform/restore.ts'
import { undoSavedStateDrop } from './perform/saved-state.ts'
import { operationSnapshotKind, snapshotMachine, undoOperationSnapshot } from './perform/snapshot.ts'
import { awaitOperationWake, operationWakeKind, wakeMachine } from './perform/wake.ts'
import type { Performer } from './performer.ts'

/** How each kind is done. */
export const performers: Readonly<Record<OperationKind, Performer>> = {
  start: startMachine,
  stop: stopMachine,
  restart: restartMachine,
  snapshot: snapshotMachine,
  restore: restoreMachine,
  clone: cloneMachine,
  hibernate: hibernateMachine,
  wake: wakeMachine,
  migrate: moveMachine,
  evict: moveMachine,
}

/** How what an operation began is called off when it ends before its time, by effect kind. */
export const operationUndoers: Readonly<Record<string, Undoer>> = {
  [operationPowerKind]: awaitOperationPower,
  [operationSnapshotKind]: undoOperationSnapshot,
  [operationRestoreKind]: awaitOperationRestore,
  [operationCloneKind]: undoOperationClone,
  [operationSaveKind]: endOperationSave,
  [operationWakeKind]: awaitOperationWake,
  [operationMoveKind]: undoOperationMove,
  [savedStateDropKind]: undoSavedStateDrop,
}
