import { z } from '@hono/zod-openapi'
import { jobStates } from '../../domain/job/state.ts'

export const timestamp = z.iso.datetime().openapi({ example: '2026-11-18T14:31:20.123Z' })

export const anything = z.record(z.string(), z.unknown())

export const subjectSchema = z.object({ type: z.string(), id: z.string() })

/** What a job is about, as a person sends it. */
export const subjectInput = z.strictObject({
  type: z.string().regex(/^[a-z][a-z-]{0,39}$/, 'must be a short kebab-case word such as batch or machine'),
  id: z.string().min(1).max(200),
})

export const jobStateSchema = z.enum(jobStates)

/** `type/id`, as it stands in a query. */
export const subjectQuery = z
  .string()
  .max(241)
  .regex(/^[a-z][a-z-]{0,39}\/.+$/, 'must be type/id, such as batch/wave-1')
  .optional()
  .openapi({ description: 'type/id', example: 'batch/wave-1' })

export const parseSubject = (text: string | undefined): { type: string; id: string } | undefined => {
  if (text === undefined) return undefined
  const slash = text.indexOf('/')
  return { type: text.slice(0, slash), id: text.slice(slash + 1) }
}

export const laneName = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable characters without blanks')

export const reasonText = z.string().trim().min(1, 'must say why').max(500)

/** A comma-separated list in a query, each item one of `values`. */
export const listQuery = <V extends string>(values: readonly V[]) => {
  const known: ReadonlySet<string> = new Set(values)
  const split = (text: string) => text.split(',').map((item) => item.trim())
  return z
    .string()
    .max(400)
    .refine((text) => split(text).every((item) => known.has(item)), `must be some of ${values.join(', ')}`)
    .transform((text) => split(text) as V[])
    .optional()
    .openapi({ type: 'string', description: `Comma-separated: ${values.join(', ')}.`, example: values[0] })
}

/** What a verb answers with that a job does: the job, or the one that was under way already. */
export const acceptedSchema = z
  .object({ id: z.uuid(), kind: z.string(), state: jobStateSchema, existing: z.boolean() })
  .openapi('AcceptedWork')

export type AcceptedView = z.infer<typeof acceptedSchema>

const finishedMeant = {
  description:
    'How many finished entries you know to be forgotten by this; refused when it is another number.',
}
/** What has to be said before finished entries are forgotten, in a body and in a query. */
export const confirmFinished = {
  body: z.int().min(0).optional().openapi(finishedMeant),
  query: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .openapi({ ...finishedMeant, type: 'integer' }),
}
