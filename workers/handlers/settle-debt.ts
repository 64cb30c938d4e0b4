import { findEffect } from '../../db/queries/effects/effects.ts'
import { settleDebt } from '../../src/domain/job/kinds/settle-debt.ts'
import { actorOf, defineHandler, done, type Undoer } from '../../src/ledger/job.ts'
import { undoOne } from '../undo-effects.ts'

/** Tries once to undo an effect that was left as debt. The debt itself remembers when to try again. */
export const handleSettleDebt = (undoers: ReadonlyMap<string, Undoer>) =>
  defineHandler(settleDebt, async (ctx) => {
    const effect = await findEffect(ctx.db, ctx.payload.effect_id)
    if (effect?.state !== 'debt')
      return done({ outcome: effect ? `it is ${effect.state} by now` : 'it is gone' })
    const undone = await undoOne(effect, {
      ctx,
      undoers,
      actor: actorOf(ctx),
      signal: ctx.signal,
      confirm: () => ctx.confirm(),
    })
    return done({ outcome: undone ? 'undone' : 'still a debt' })
  })
