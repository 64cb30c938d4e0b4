import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Copies the changes of a running source; continues after an interruption. */
export const importInstance = defineKind({
  kind: 'import-instance',
  title: 'Copy an instance in the background',
  version: 1,
  needs: 'entry',
  // Jobs that depend on the same things get a quarter of the slots.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({ batch: nameSchema, entry_id: z.uuid() }),
})
