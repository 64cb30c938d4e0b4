import { z } from 'zod'
import { freshTrack } from '../../domain/operation/move/judge-move.ts'
import { movePhases } from '../../domain/operation/move/move-seen.ts'
import type { Performance } from '../perform/performer.ts'

const hostName = z.object({ ref: z.string(), name: z.string() })
export type HostName = z.infer<typeof hostName>

/** The decisions and the progress of a move, kept over every try of its job. */
const storedMove = z.object({
  /** The host of the machine when the move was requested. */
  from: hostName,
  /** The boot of the machine, which the move must not end. */
  bootId: z.string(),
  /** Null: no host has been found yet. */
  to: hostName.nullable(),
  /** Failed searches for a host in a row: each makes the pause longer. */
  vain: z.number(),
  /** Hosts where the move failed. */
  spent: z.array(z.string()),
  /** The platform was asked or is about to be asked. */
  asked: z.boolean(),
  /** The platform refused and did nothing: the intent is still open under the same name. */
  refused: z.boolean(),
  /** Failed tasks: each retry has a new name. */
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
