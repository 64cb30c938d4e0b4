import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Switches the source off, copies the rest, and fits the copy to its new home. */
export const cutoverInstance = defineKind({
  kind: 'cutover-instance',
  title: 'Cut an instance over',
  version: 1,
  needs: 'entry',
  // Jobs that hang on the same have a quarter of them.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({ batch: nameSchema, entry_id: z.uuid() }),
})
