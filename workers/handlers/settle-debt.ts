import type { z } from 'zod'
import { findEffect } from '../../db/queries/effects.ts'
import { settleDebt } from '../../src/domain/job/settle-debt.ts'
import { done, type Handler, type Undoer } from '../handler.ts'
import { undoOne } from '../undo-effects.ts'

/** Tries once to undo an effect that was left as debt. The debt itself remembers when to try again. */
export const createSettleDebt = (
  undoers: ReadonlyMap<string, Undoer>,
): Handler<z.infer<typeof settleDebt.payload>> => ({
  kind: settleDebt,
  run: async (ctx) => {
    const effect = await findEffect(ctx.db, ctx.payload.effect_id)
    if (effect?.state !== 'debt')
      return done({ outcome: effect ? `it is ${effect.state} by now` : 'it is gone' })
    const undone = await undoOne(effect, {
      db: ctx.db,
      undoers,
      actor: `job/${ctx.job.id}`,
      holder: ctx.holder(),
      log: ctx.log,
    })
    return done({ outcome: undone ? 'undone' : 'still a debt' })
  },
})
