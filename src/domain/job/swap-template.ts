import { z } from 'zod'
import { defineKind, nameSchema, platformIdSchema } from './kind.ts'

/** Makes a template's name point at another image, with the old one serving until the new one is proven. */
export const swapTemplate = defineKind({
  kind: 'swap-template',
  title: 'Swap a template',
  version: 1,
  payload: z.strictObject({
    target: nameSchema,
    template: nameSchema,
    folder: platformIdSchema,
    image: nameSchema,
    canary_percent: z.int().min(0).max(100).default(100),
    keep_old_for_seconds: z.int().min(0).max(2_592_000).default(86_400),
  }),
})
