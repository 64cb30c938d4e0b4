import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { findHeldOffMachine } from '../../db/queries/find-held-off.ts'
import { hasSucceeded } from '../../db/queries/has-succeeded.ts'
import { loadSiteById } from '../../db/queries/load-site.ts'
import { trackInstance } from '../../src/domain/job/track-instance.ts'
import { requireActionable } from '../../src/inventory/require-instance.ts'
import { requireMayStart, startOfInstance, whyStartRefused } from '../../src/inventory/start-guard.ts'
import type { UsePlatform } from '../../src/inventory/sync-site.ts'
import { cycleKind, enableTracking, resetTracking } from '../../src/inventory/track-machine.ts'
import { portOf } from '../../src/platforms/ports.ts'
import { done, type Handler, type Outcome, type Undoer, waitFor } from '../handler.ts'

type Payload = z.infer<typeof trackInstance.payload>

const undoSchema = z.object({ site_id: z.string(), ref: z.string() })
const undoMs = 60_000

/** Switches the tracking of a machine's changes on, or looks anew whether each disk has it. */
export const createTrackInstance = (db: Db, use: UsePlatform): Handler<Payload> => ({
  kind: trackInstance,
  run: async (ctx) => {
    const { verb, remove_snapshots: removeSnapshots, force, timeout_seconds: seconds } = ctx.payload
    const { instance, site } = await requireActionable(ctx, ctx.payload.instance)
    return use(site, async (platform): Promise<Outcome> => {
      const looking = { db: ctx.db, use, signal: ctx.signal }
      const task = {
        turn: ctx,
        site,
        platform,
        instance,
        removeSnapshots,
        force,
        timeoutMs: seconds * 1_000,
        mayStart: () => requireMayStart(looking, startOfInstance(instance, ctx.job.id)),
      }
      const outcome = await (verb === 'enable' ? enableTracking(task) : resetTracking(task))
      if (outcome.type === 'done') return done({ tracking: outcome.tracking })
      return waitFor({
        reason: 'power',
        detail: `${instance.name} of ${site.name}: waits for ${outcome.forWhat}.`,
        forMs: outcome.forMs,
      })
    })
  },
  undoers: { [cycleKind]: startAgain(db, use) },
})

/** A machine that was switched off only for a moment does not stay off because the job was ended. */
const startAgain =
  (db: Db, use: UsePlatform): Undoer =>
  async (effect, signal, confirm) => {
    const { site_id: siteId, ref } = undoSchema.parse(effect.undo)
    // It was on again when its job came to its end: what it is by now is somebody else's doing.
    if (await hasSucceeded(db, effect.jobId)) return
    const site = await loadSiteById(db, siteId)
    // Its copy runs elsewhere, or is about to: that one off and this one on again is not ours to say.
    if (!site || (await findHeldOffMachine(db, { siteId, ref }))) return
    const start = startOfInstance({ siteId, ref, uuid: '', name: 'The machine' }, effect.jobId)
    if ((await whyStartRefused(db, start))?.code === 'migrated') return
    await use(site, async (platform) => {
      const power = portOf(platform, 'power')
      const call = { signal, timeoutMs: undoMs, name: `${effect.name}/undo/${effect.attempts}` }
      const found = await power.power(call, ref)
      if (!found.found || found.value.state === 'on') return
      await requireMayStart({ db, use, signal }, start)
      confirm()
      const handle = await power.start(call, ref)
      await handle.wait(call)
    })
  }
