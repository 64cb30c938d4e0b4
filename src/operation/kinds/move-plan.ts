import { z } from 'zod'
import { freshTrack } from '../../domain/operation/move/judge-move.ts'
import { movePhases } from '../../domain/operation/move/move-seen.ts'
import type { Performance } from '../perform/performer.ts'

const hostName = z.object({ ref: z.string(), name: z.string() })
export type HostName = z.infer<typeof hostName>

/** What a move has decided and begun, kept over every try of its job. */
const storedMove = z.object({
  /** Where the machine ran when the move was asked for. */
  from: hostName,
  /** Its run there: the move must not end it. */
  bootId: z.string(),
  /** Null: none has been found yet. */
  to: hostName.nullable(),
  /** Looks for a host that found none, in a row: each makes the pause longer. */
  vain: z.number(),
  /** Hosts at which it failed. */
  spent: z.array(z.string()),
  /** The platform was asked, or is about to be. */
  asked: z.boolean(),
  /** It was refused, and nothing came of it: what was intended then is still open under the same name. */
  refused: z.boolean(),
  /** Tasks that failed: each is begun anew under another name. */
  failed: z.number(),
  track: z.object({
    phase: z.enum(movePhases).nullable(),
    best: z.number(),
    stuckMs: z.number(),
    copiedBytes: z.number(),
    atMs: z.number(),
  }),
})
export type MovePlan = z.infer<typeof storedMove>

export const newPlan = (from: HostName, bootId: string): MovePlan => ({
  from,
  bootId,
  to: null,
  vain: 0,
  spent: [],
  asked: false,
  refused: false,
  failed: 0,
  track: freshTrack,
})

export const readPlan = ({ ctx }: Performance): MovePlan | undefined =>
  storedMove.safeParse(ctx.checkpointed?.move).data

export const withPlan = ({ ctx }: Performance, plan: MovePlan) => ({ ...ctx.checkpointed, move: plan })

export const storePlan = (performance: Performance, plan: MovePlan): Promise<void> =>
  performance.ctx.checkpoint(withPlan(performance, plan))
