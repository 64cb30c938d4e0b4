import type { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { operateMachine } from '../../src/domain/job/operate-machine.ts'
import type { UsePlatform } from '../../src/inventory/sync-site.ts'
import { operate } from '../../src/operation/operate.ts'
import { operationUndoers } from '../../src/operation/performers.ts'
import { ReleaseRequest } from '../context.ts'
import { done, type Handler, waitFor } from '../handler.ts'

type Payload = z.infer<typeof operateMachine.payload>

/** Does what was asked of a machine. */
export const createOperateMachine = ({
  db,
  use,
}: {
  readonly db: Db
  readonly use: UsePlatform
}): Handler<Payload> => ({
  kind: operateMachine,
  run: async (ctx) => {
    const outcome = await operate(ctx, ctx.payload.operation_id, use)
    // It stands in line for what it has asked for, not for the time to pass.
    if (outcome.type === 'wait' && outcome.reason === 'awaiting-slot')
      throw new ReleaseRequest(outcome.detail)
    return outcome.type === 'done' ? done(outcome.result, outcome.change, outcome.lock) : waitFor(outcome)
  },
  undoers: operationUndoers(db, use),
})
