import type { z } from 'zod'
import type { Db } from '../../db/client.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import { placeInstance } from '../../src/domain/job/place-instance.ts'
import type { Placement } from '../../src/domain/migration/placement.ts'
import type { UsePlatform } from '../../src/inventory/sync-site.ts'
import { enterJourney, type Journey, placementOf } from '../../src/migration/journey.ts'
import { blockEntry, putBack } from '../../src/migration/placement/block-entry.ts'
import {
  hasMachineDebts,
  makeMachine,
  newMachineOf,
  recordMachine,
} from '../../src/migration/placement/make-machine.ts'
import { placeEntry, targetOf } from '../../src/migration/placement/place-entry.ts'
import type { ScriptThreads } from '../../src/migration/placement/script-runner.ts'
import { takeRecord } from '../../src/migration/placement/take-record.ts'
import { machineKind, undoTargetMachine } from '../../src/migration/placement/target-machine.ts'
import { TargetLooks } from '../../src/migration/placement/target-view.ts'
import { PlatformError } from '../../src/platforms/platform-error.ts'
import { ReleaseRequest } from '../context.ts'
import { done, type Handler, type Outcome, waitFor } from '../handler.ts'
import { laneWatch } from '../lane-watch.ts'

type Payload = z.infer<typeof placeInstance.payload>

export interface PlaceInstanceParts {
  readonly db: Db
  readonly use: UsePlatform
  readonly cpu: ScriptThreads
}

const debtLookMs = 5_000

/** Decides where an instance lands, and makes its machine there. */
export const createPlaceInstance = ({ db, use, cpu }: PlaceInstanceParts): Handler<Payload> => {
  const looks = new TargetLooks(use)
  return {
    kind: placeInstance,
    run: async (ctx) => {
      const pace = laneWatch(ctx)
      await pace()
      const journey = await enterJourney(ctx, ctx.payload.entry_id, takeRecord)
      if (await hasMachineDebts(journey))
        return waitFor({
          reason: 'earlier-machine',
          detail: 'Waits until the machine that an earlier try left on the target is taken away.',
          forMs: debtLookMs,
        })
      if (journey.entry.state === 'creating')
        return create(journey, use, { placement: placementOf(journey), site: await targetOf(journey), looks })
      const placed = await placeEntry(journey, { use, threads: cpu, looks })
      if (!placed.placed)
        return done(
          { blocked: placed.reasons.map(({ code }) => code), log: placed.log },
          blockEntry(journey, placed.reasons),
        )
      await pace()
      // Which target it lands on is known only now; whoever makes room there lets it in again.
      if (!placed.admitted) throw new ReleaseRequest(`it asks for a place on ${placed.target.name}`)
      return create(placed.journey, use, { placement: placed.placement, site: placed.target, looks })
    },
    undoers: { [machineKind]: undoTargetMachine(db, use) },
  }
}

const create = async (
  journey: Journey,
  use: UsePlatform,
  at: { readonly placement: Placement; readonly site: SiteRow; readonly looks: TargetLooks },
): Promise<Outcome> => {
  const { site, placement, looks } = at
  const things =
    placement.host === '' ? undefined : await looks.look(journey.turn.db, site, journey.turn.signal)
  const host = things?.hosts.find((one) => one.name === placement.host || one.ref === placement.host)
  const machine = await newMachineOf(journey, placement, host?.ref ?? placement.host)
  try {
    const made = await makeMachine(journey, { use, site, machine })
    return done({ machine: made.ref, target: site.name, kept: made.kept }, recordMachine(journey, made, site))
  } catch (error) {
    // What was seen is not so any more; the next one looks anew.
    looks.forget(site)
    if (!(error instanceof PlatformError) || error.code !== 'platform-name-taken') throw error
    const why = { code: 'name-taken', message: `${site.name}: ${error.message}` }
    return done({ blocked: [why.code] }, putBack(journey, why))
  }
}
