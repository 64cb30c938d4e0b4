import { z } from 'zod'
import { hasSucceeded } from '../../db/queries/jobs/has-succeeded.ts'
import { findHeldOffMachine } from '../../db/queries/sites/find-held-off.ts'
import { loadSiteById } from '../../db/queries/sites/load-site.ts'
import { trackInstance } from '../../src/domain/job/kinds/track-instance.ts'
import { requireActionable } from '../../src/inventory/power/require-instance.ts'
import { requireMayStart, startOfInstance, whyStartRefused } from '../../src/inventory/power/start-guard.ts'
import { cycleKind, enableTracking, resetTracking } from '../../src/inventory/power/track-machine.ts'
import { defineHandler, done, type Outcome, type Undoer, waitFor } from '../../src/ledger/job.ts'
import { portOf } from '../../src/platforms/ports/ports.ts'

const undoSchema = z.object({ site_id: z.string(), ref: z.string() })
const undoMs = 60_000

/** A machine that was switched off only for a moment does not stay off because the job was ended. */
const startAgain: Undoer = async ({ effect, db, signal, confirm, usePlatform }) => {
  const { site_id: siteId, ref } = undoSchema.parse(effect.undo)
  // It was on again when its job came to its end: what it is by now is somebody else's doing.
  if (await hasSucceeded(db, effect.jobId)) return
  const site = await loadSiteById(db, siteId)
  // Its copy runs elsewhere, or is about to: that one off and this one on again is not ours to say.
  if (!site || (await findHeldOffMachine(db, { siteId, ref }))) return
  const start = startOfInstance({ siteId, ref, uuid: '', name: 'The machine' }, effect.jobId)
  if ((await whyStartRefused(db, start))?.code === 'migrated') return
  await usePlatform(site, async (platform) => {
    const power = portOf(platform, 'power')
    const call = { signal, timeoutMs: undoMs, name: `${effect.name}/undo/${effect.attempts}` }
    const found = await power.power(call, ref)
    if (!found.found || found.value.state === 'on') return
    await requireMayStart({ db, signal, usePlatform }, start)
    confirm()
    const handle = await power.start(call, ref)
    await handle.wait(call)
  })
}

/** Switches the tracking of a machine's changes on, or looks anew whether each disk has it. */
export const handleTrackInstance = defineHandler(
  trackInstance,
  async (ctx) => {
    const { verb, remove_snapshots: removeSnapshots, force, timeout_seconds: seconds } = ctx.payload
    const { instance, site } = await requireActionable(ctx, ctx.payload.instance)
    return ctx.usePlatform(site, async (platform): Promise<Outcome> => {
      const task = {
        ctx,
        site,
        platform,
        instance,
        removeSnapshots,
        force,
        timeoutMs: seconds * 1_000,
        mayStart: () => requireMayStart(ctx, startOfInstance(instance, ctx.job.id)),
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
  { [cycleKind]: startAgain },
)
