import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Works out what a start would do, and stores it as a plan. Changes nothing else. */
export const planBatch = defineKind({
  kind: 'plan-batch',
  title: 'Plan a batch',
  version: 1,
  concurrency: 2,
  payload: z.strictObject({
    batch: nameSchema,
    /** The version of the batch to be planned. */
    version: z.int().positive(),
    /** The requester. */
    by: z.string().max(200),
  }),
})
