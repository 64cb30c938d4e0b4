import { z } from 'zod'
import { defineKind, nameSchema } from '../kind.ts'

/** Looks whether a source or target can be reached, who answers, and what it can do. */
export const checkConnection = defineKind({
  kind: 'check-connection',
  title: 'Check a connection',
  version: 1,
  needs: 'site',
  payload: z.strictObject({
    role: z.enum(['source', 'target']),
    name: nameSchema,
    reason: z.enum(['manual', 'periodic', 'changed']).default('manual'),
  }),
  concurrency: 8,
})
