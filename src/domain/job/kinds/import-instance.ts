import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Copies what changed on a running source; cut short, it goes on where it was. */
export const importInstance = defineKind({
  kind: 'import-instance',
  title: 'Copy an instance in the background',
  version: 1,
  needs: 'entry',
  // Jobs that hang on the same have a quarter of them.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({ batch: nameSchema, entry_id: z.uuid() }),
})
