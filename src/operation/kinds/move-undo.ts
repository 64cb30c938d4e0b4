import { resultOfTask } from '../../ledger/ended-task.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { noteAsItIs, undoerOf, undoTaskShape } from '../perform/undo-task.ts'

/** Effects of this kind are live moves. */
export const operationMoveKind = 'operation-move'

/**
 * Aborts a move and waits for its end: it is either where it was or, when that came too late, where it was to go. What
 * goes on for longer is looked at again later; until then nothing newer acts at the machine.
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
