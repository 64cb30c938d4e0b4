import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Puts right what an entry left outside when it goes without finishing. */
export const withdrawEntry = defineKind({
  kind: 'withdraw-entry',
  title: 'Put right what an entry left',
  version: 1,
  // Jobs that hang on the same have a quarter of them.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({
    batch: nameSchema,
    entry_id: z.uuid(),
    /**
     * `start`: a source that we switched off, once our copy of it is proved off. `start-any`: whatever machine it is by
     * now, as a person has given the entry up.
     */
    source: z.enum(['keep', 'start', 'start-any']),
    target: z.enum(['keep', 'destroy']),
  }),
})
