import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Goes over the fleet for a batch: `assign` notes who matches, `start` makes their entries. */
export const startBatch = defineKind({
  kind: 'start-batch',
  title: 'Find the instances of a batch',
  version: 1,
  concurrency: 2,
  payload: z.strictObject({
    batch: nameSchema,
    purpose: z.enum(['assign', 'start']),
    /** The batch's version that this is for; a later change asks anew. */
    version: z.int().positive(),
  }),
})
