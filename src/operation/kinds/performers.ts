import {
  operationCloneKind,
  savedStateDropKind,
} from '../../domain/operation/admission/non-blocking-effects.ts'
import type { OperationKind } from '../../domain/operation/kinds/kinds.ts'
import type { Undoer } from '../../ledger/job.ts'
import type { Performer } from '../perform/performer.ts'
import { cloneMachine, undoOperationClone } from './clone.ts'
import { endOperationSave, hibernateMachine, operationSaveKind } from './hibernate.ts'
import { moveMachine } from './move.ts'
import { operationMoveKind, undoOperationMove } from './move-undo.ts'
import {
  awaitOperationPower,
  operationPowerKind,
  restartMachine,
  startMachine,
  stopMachine,
} from './power.ts'
import { awaitOperationRestore, operationRestoreKind, restoreMachine } from './restore.ts'
import { undoSavedStateDrop } from './saved-state.ts'
import { operationSnapshotKind, snapshotMachine, undoOperationSnapshot } from './snapshot.ts'
import { awaitOperationWake, operationWakeKind, wakeMachine } from './wake.ts'

/** The performer of each kind. */
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

/** How an unfinished effect of an operation is undone or awaited, by effect kind. */
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
