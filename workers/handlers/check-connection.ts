import type { z } from 'zod'
import { checkConnection } from '../../src/domain/job/check-connection.ts'
import { checkSite } from '../../src/inventory/check-site.ts'
import type { UsePlatform } from '../../src/inventory/sync-site.ts'
import { done, type Handler } from '../handler.ts'

type Payload = z.infer<typeof checkConnection.payload>

/** Looks whether a source or target can be reached. That it cannot is an answer, not a failure of the job. */
export const createCheckConnection = (use: UsePlatform): Handler<Payload> => ({
  kind: checkConnection,
  run: async (ctx) => done(await checkSite(ctx, use, ctx.payload)),
})
