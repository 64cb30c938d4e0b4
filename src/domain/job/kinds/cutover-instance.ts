import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Switches the source off, copies the rest, and fits the copy to its target. */
export const cutoverInstance = defineKind({
  kind: 'cutover-instance',
  title: 'Cut an instance over',
  version: 1,
  needs: 'entry',
  // Jobs that depend on the same things get a quarter of the slots.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({ batch: nameSchema, entry_id: z.uuid() }),
})
