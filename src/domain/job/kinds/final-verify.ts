import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Proves that the target equals the source, and signs the evidence. */
export const finalVerify = defineKind({
  kind: 'final-verify',
  title: 'Verify a migrated instance',
  version: 1,
  needs: 'entry',
  // Jobs that depend on the same things get a quarter of the slots.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({
    batch: nameSchema,
    entry_id: z.uuid(),
    /** Ignore what can be ignored: see the batch's `force_conflict_resolution`. */
    force: z.boolean().default(false),
  }),
})
