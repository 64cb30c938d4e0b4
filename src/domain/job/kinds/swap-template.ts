import { z } from 'zod'
import { defineKind } from '../kind.ts'

/** Makes a template point at the image that is wanted; which, is in the template's own row. */
export const swapTemplate = defineKind({
  kind: 'swap-template',
  title: 'Swap a template',
  version: 1,
  needs: 'template',
  concurrency: 8,
  sharesSlots: true,
  // What a platform holds locked (an import that was cut short, a clone) is free within minutes.
  retry: { transientMax: 20, capMs: 30_000, environmentCapMs: 60_000 },
  payload: z.strictObject({ template_id: z.uuid() }),
})
