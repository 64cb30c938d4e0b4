import { z } from 'zod'
import { defineKind, nameSchema } from './kind.ts'

/** Reads a source's inventory and records what is true now. */
export const syncSource = defineKind({
  kind: 'sync-source',
  title: 'Sync a source',
  version: 1,
  payload: z.strictObject({
    source: nameSchema,
    /** `delta` falls back to `full` where the platform cannot tell what changed. */
    mode: z.enum(['full', 'delta']).default('delta'),
    reason: z.enum(['manual', 'periodic', 'before-start']).default('manual'),
  }),
})
