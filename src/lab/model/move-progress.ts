import { z } from 'zod'
import type { WireMove } from '../../platforms/lab/protocol.ts'

/** What a move was begun with, as far as its course follows from it. */
const moveArgs = z.object({
  /** From begin to end when nothing holds it up, in the lab's milliseconds. */
  span_ms: z.number(),
  memory: z.number(),
  force: z.boolean(),
  /** From this percent on its guest writes faster than is copied; null: it does not. */
  stall_at: z.number().nullable(),
})
export type MoveArgs = z.infer<typeof moveArgs>

const bulkFrom = 5
const iterativeFrom = 50
const switchFrom = 90
/** A guest that is slowed down lets its copy get done in twice the time. */
const slowness = 2

/** How long it takes in all; infinity: it never gets done. */
export const spanOf = ({ span_ms, force, stall_at }: MoveArgs): number => {
  if (stall_at === null) return span_ms
  return force ? (span_ms * (stall_at + (100 - stall_at) * slowness)) / 100 : Number.POSITIVE_INFINITY
}

/** Where a move is, from what it began with and the time that has gone since: the same for whoever asks. */
export const moveProgress = (
  task: { readonly args: Record<string, unknown>; readonly createdAt: Date; readonly state: string },
  now: number,
): { readonly percent: number; readonly view: WireMove } => {
  const args = moveArgs.parse(task.args)
  const percent = task.state === 'running' ? percentAt(args, now - task.createdAt.getTime()) : 100
  const stalls = args.stall_at !== null && percent >= args.stall_at
  const throttled = stalls && args.force
  const copied = Math.max(0, Math.min(1, (percent - bulkFrom) / (switchFrom - bulkFrom)))
  return {
    percent: Math.floor(percent),
    view: {
      phase: phaseAt(percent),
      copied: Math.floor(copied * args.memory),
      total: args.memory,
      iteration: percent < bulkFrom ? 0 : percent < iterativeFrom ? 1 : 2 + Math.floor((percent - 50) / 10),
      throttle: throttled ? 40 : 0,
      converging: !stalls || throttled,
      abortable: task.state === 'running' && percent < switchFrom,
    },
  }
}

const percentAt = ({ span_ms, force, stall_at }: MoveArgs, goneMs: number): number => {
  const plain = Math.max(0, (goneMs / (span_ms || 1)) * 100)
  if (stall_at === null || plain < stall_at) return Math.min(99, plain)
  return force ? Math.min(99, stall_at + (plain - stall_at) / slowness) : stall_at
}

const phaseAt = (percent: number): WireMove['phase'] =>
  percent < bulkFrom
    ? 'preparing'
    : percent < iterativeFrom
      ? 'bulk-copy'
      : percent < switchFrom
        ? 'iterative-copy'
        : 'switch-over'
