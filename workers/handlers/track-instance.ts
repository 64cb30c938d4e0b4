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

/** A machine that was switched off only briefly must not stay off because the job ended. */
const startAgain: Undoer = async ({ effect, db, signal, confirm, usePlatform }) => {
  const { site_id: siteId, ref } = undoSchema.parse(effect.undo)
  // The machine was on again when its job ended: its state now is somebody else's decision.
  if (await hasSucceeded(db, effect.jobId)) return
  const site = await loadSiteById(db, siteId)
  // Its copy runs on a target, or is about to: starting this machine is not ours to decide.
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

/** Switches change tracking of a machine on, or checks whether each disk is tracked. */
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
