import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Decides the placement of one instance of a batch, against the live target. */
export const placeInstance = defineKind({
  kind: 'place-instance',
  title: 'Place an instance',
  version: 1,
  needs: 'entry',
  // Jobs that depend on the same things get a quarter of the slots.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({
    batch: nameSchema,
    entry_id: z.uuid(),
    instance_id: z.uuid(),
    /** The inventory revision of the decision; a newer revision needs a new decision. */
    revision: z.int().nonnegative(),
  }),
  // After that the entry makes room for another, and is tried again later.
  retry: { environmentMax: 4, transientMax: 4 },
})
