import type { z } from 'zod'
import { cutoverInstance } from '../../src/domain/job/cutover-instance.ts'
import { cutOverEntry } from '../../src/migration/cutover-entry.ts'
import { sourceStopKind } from '../../src/migration/source-stops.ts'
import { undoSourceStop } from '../../src/migration/start-source.ts'
import { done, type Handler } from '../handler.ts'
import { laneWatch } from '../lane-watch.ts'
import type { CopyParts } from './import-instance.ts'

type Payload = z.infer<typeof cutoverInstance.payload>

/** Switches a source off, copies the rest, and fits the copy to its new home. */
export const createCutoverInstance = ({ db, use, budget }: CopyParts): Handler<Payload> => ({
  kind: cutoverInstance,
  run: async (ctx) => {
    const parts = { use, budget, pace: laneWatch(ctx) }
    const { result, change } = await cutOverEntry(ctx, ctx.payload.entry_id, parts)
    return done(result, change)
  },
  undoers: { [sourceStopKind]: undoSourceStop(db, use) },
})
