import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Walks the fleet for a batch: `assign` records the matching instances, `start` makes their entries. */
export const startBatch = defineKind({
  kind: 'start-batch',
  title: 'Find the instances of a batch',
  version: 1,
  concurrency: 2,
  payload: z.strictObject({
    batch: nameSchema,
    purpose: z.enum(['assign', 'start']),
    /** The version of the batch; a later change needs another job. */
    version: z.int().positive(),
  }),
})
