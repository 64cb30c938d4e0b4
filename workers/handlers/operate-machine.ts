import { operateMachine } from '../../src/domain/job/kinds/operate-machine.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import { operate } from '../../src/operation/kinds/operate.ts'
import { operationUndoers } from '../../src/operation/kinds/performers.ts'

/** Does what was asked of a machine. */
export const handleOperateMachine = defineHandler(
  operateMachine,
  (ctx) => operate(ctx, ctx.payload.operation_id),
  operationUndoers,
)
