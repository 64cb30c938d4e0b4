import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Removes what an entry left outside when it ends without finishing. */
export const withdrawEntry = defineKind({
  kind: 'withdraw-entry',
  title: 'Put right what an entry left',
  version: 1,
  // Jobs that depend on the same things get a quarter of the slots.
  concurrency: 16,
  sharesSlots: true,
  payload: z.strictObject({
    batch: nameSchema,
    entry_id: z.uuid(),
    /**
     * `start`: starts a source that we switched off, after our copy of it is proved off. `start-any`: the same
     * whatever machine it is now, because a person has cancelled the entry.
     */
    source: z.enum(['keep', 'start', 'start-any']),
    target: z.enum(['keep', 'destroy']),
  }),
})
