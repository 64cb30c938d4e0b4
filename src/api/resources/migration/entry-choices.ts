import { z } from '@hono/zod-openapi'

/** Each way to say a verb about an entry, and what it would do now. */
export const choicesSchema = z
  .array(
    z.object({
      verb: z.enum(['cancel', 'retry', 'resolve']),
      force: z.boolean().openapi({ description: 'It must be said with `force`.' }),
      cleanup: z.boolean(),
      does: z.string(),
    }),
  )
  .openapi({
    description: 'Each way to say a verb, and what it would do now: to the source, the target, and next.',
  })

export type EntryChoices = z.infer<typeof choicesSchema>
