import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Decides where one instance of a batch lands, against the live target. */
export const placeInstance = defineKind({
  kind: 'place-instance',
  title: 'Place an instance',
  version: 1,
  needs: 'entry',
  // Jobs that hang on the same have a quarter of them.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({
    batch: nameSchema,
    entry_id: z.uuid(),
    instance_id: z.uuid(),
    /** The inventory revision the decision is made on; a newer one asks for a new decision. */
    revision: z.int().nonnegative(),
  }),
  // Then the entry makes room for another one, and is tried again later.
  retry: { environmentMax: 4, transientMax: 4 },
})
