import { z } from '@hono/zod-openapi'
import { requireVersion } from '../../wire/preconditions.ts'

/** The confirmation that is required before objects on a platform are destroyed. */
export const destroyQuery = z.object({
  destroy: z.enum(['true', 'false']).default('false').openapi({
    description: 'Also destroy what it has on targets. Otherwise that stays, and Drover forgets it.',
  }),
  confirm_destroy: z.coerce.number().int().min(0).optional().openapi({
    type: 'integer',
    description: 'How many objects you know to be destroyed; refused when it is another number.',
  }),
})

export const removalSchema = z
  .object({ jobs: z.array(z.uuid()).openapi({ description: 'A job for each object that is destroyed.' }) })
  .openapi('TemplateRemoval')

/** The arguments of a removal: the confirmed number of objects, and the check of If-Match. */
export const askedRemoval = (
  { destroy, confirm_destroy: confirmed }: z.infer<typeof destroyQuery>,
  { ifMatch, by }: { readonly ifMatch: string | undefined; readonly by: string },
) => ({
  ...{ destroy: destroy === 'true', confirmed, by },
  check: ({ version }: { readonly version: number }): void => requireVersion(ifMatch, version),
})
