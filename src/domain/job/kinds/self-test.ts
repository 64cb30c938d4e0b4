import { z } from 'zod'
import { defineKind } from '../kind.ts'

/** Runs the whole course of a job without a platform: proves that a fleet of workers is connected and fenced. */
export const selfTest = defineKind({
  kind: 'self-test',
  title: 'Self-test',
  version: 1,
  payload: z.strictObject({
    /** What the job does before it ends. */
    outcome: z.enum(['succeed', 'fail', 'fail-once', 'wait']).default('succeed'),
    steps: z.int().min(0).max(1_000).default(0),
    step_ms: z.int().min(0).max(60_000).default(0),
    /** Keeps a processor busy for this long, in a thread. */
    burn_ms: z.int().min(0).max(60_000).default(0),
    /** Effects written outside the ledger, each with an intent before and a checkpoint after. */
    effects: z.int().min(0).max(100).default(0),
  }),
  retry: { baseMs: 200, capMs: 2_000 },
  concurrency: 16,
})
