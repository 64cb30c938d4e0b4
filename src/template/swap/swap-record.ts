import { z } from 'zod'
import { inputSights, type SwapTaskStep, swapTarget } from '../../domain/template/swap-step.ts'
import type { RecordedError } from '../../errors.ts'
import type { JobContext } from '../../ledger/job.ts'

const steps = Object.keys(swapTarget) as [SwapTaskStep, ...SwapTaskStep[]]

/** A decided task and its object. */
const pendingTask = z.object({
  step: z.enum(steps),
  ref: z.string(),
  /** The new name; null: the object is removed. */
  to: z.string().nullable(),
  /** The inputs of the decision. */
  version: z.number(),
  inputs: z.enum(inputSights),
})
export type PendingTask = z.infer<typeof pendingTask>

const stored = z.object({
  /** The number of ended tasks; part of the next task's name. */
  round: z.number(),
  /** The task that was requested, or is about to be requested. */
  task: pendingTask.nullable(),
  /** The replica that an import of this job fills, and its image. */
  importing: z.object({ replica: z.string(), image: z.string() }).nullable(),
  /** When the swap to the wanted version began, and the version. */
  begun: z.object({ version: z.number(), at: z.number() }).nullable(),
  /** Since when the name points at nothing. */
  gap_from: z.number().nullable(),
  gap_ms: z.number(),
  /** Why the platform refused the production name to the new object. */
  refused: z.custom<RecordedError>().nullable(),
})
export type SwapRecord = z.infer<typeof stored>

export const freshSwap: SwapRecord = {
  round: 0,
  task: null,
  importing: null,
  begun: null,
  gap_from: null,
  gap_ms: 0,
  refused: null,
}

type Recording = Pick<JobContext, 'checkpoint' | 'checkpointed'>

/** The progress of the swap over all turns of its job. */
export const readSwap = ({ checkpointed }: Pick<Recording, 'checkpointed'>): SwapRecord =>
  stored.safeParse(checkpointed?.swap).data ?? freshSwap

/** The checkpoint with this change of the swap. */
export const withSwap = (
  ctx: Pick<Recording, 'checkpointed'>,
  change: Partial<SwapRecord>,
): Record<string, unknown> => ({ ...ctx.checkpointed, swap: { ...readSwap(ctx), ...change } })

export const writeSwap = (ctx: Recording, change: Partial<SwapRecord>): Promise<void> =>
  ctx.checkpoint(withSwap(ctx, change))
