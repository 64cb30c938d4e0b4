import { isEntryStillActive } from '../../db/queries/entries/entry-of-instance.ts'
import { powerInstance } from '../../src/domain/job/kinds/power-instance.ts'
import { mergeWarnings } from '../../src/inventory/connection/warnings.ts'
import { powerMachine } from '../../src/inventory/power/power-machine.ts'
import { requireActionable } from '../../src/inventory/power/require-instance.ts'
import { requireMayStart, startOfInstance } from '../../src/inventory/power/start-guard.ts'
import { refreshInstance } from '../../src/inventory/sync/refresh-instance.ts'
import { actorOf, defineHandler, done, type Outcome, waitFor } from '../../src/ledger/job.ts'

const lookMs = 2_000

/** Switches a machine of a source on or off, and reads it again. */
export const handlePowerInstance = defineHandler(powerInstance, async (ctx) => {
  const { verb, force, timeout_seconds: seconds, after_entry: entryId, instance: id } = ctx.payload
  if (entryId !== null && (await isEntryStillActive(ctx.db, { entryId, instanceId: id })))
    return waitFor({
      reason: 'entry-lets-go',
      detail: `Its migration (entry ${entryId}) was given up for this and is putting right what it left.`,
      forMs: lookMs,
    })
  const { instance, site } = await requireActionable(ctx, id)
  return ctx.usePlatform(site, async (platform): Promise<Outcome> => {
    const asked = { verb, force, timeoutMs: seconds * 1_000 }
    const outcome = await powerMachine({
      ctx,
      site,
      platform,
      ref: instance.ref,
      asked,
      part: 'power',
      undo: null,
      mayStart: () => requireMayStart(ctx, startOfInstance(instance, ctx.job.id)),
    })
    if (outcome.type === 'wait')
      return waitFor({
        reason: 'power',
        detail: `${instance.name} of ${site.name}: waits for ${outcome.forWhat}.`,
        forMs: outcome.forMs,
      })
    await refreshInstance(ctx, site, platform, instance.ref)
    const place = { entityType: 'instance', entityId: instance.id, entityName: instance.name }
    const result = { power_state: outcome.seen.state, host: outcome.seen.host }
    // A person has taken over.
    return done(result, {
      change: (tx) =>
        mergeWarnings(tx, place, { types: ['guest-may-go-off'], said: {}, actor: actorOf(ctx) }),
    })
  })
})
