import { resultOfTask } from '../../ledger/ended-task.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { noteAsItIs, undoerOf, undoTaskShape } from '../perform/undo-task.ts'

/** Effects of this kind are live moves. */
export const operationMoveKind = 'operation-move'

/**
 * Aborts a move and waits for its end: the machine is at its old host or, if the abort came too late, at the new one.
 * A longer move is checked again later; until then no newer operation acts on the machine.
 */
export const undoOperationMove = undoerOf(undoTaskShape, async ({ effect, undo, platform, call, fenced }) => {
  const moves = portOf(platform, 'liveMove')
  const trace = {
    name: effect.name,
    machine: undo.ref,
    ...(effect.externalId === null ? {} : { taskId: effect.externalId }),
  }
  await again(call, () => moves.abort(call, trace))
  await resultOfTask(moves, call, { effect, machine: undo.ref })
  await noteAsItIs({ effect, platform, call, fenced }, undo)
})
