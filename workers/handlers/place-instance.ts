import type { SiteRow } from '../../db/schema/inventory.ts'
import { placeInstance } from '../../src/domain/job/kinds/place-instance.ts'
import type { Placement } from '../../src/domain/migration/place/placement.ts'
import { type Done, defineHandler, done, release, waitFor } from '../../src/ledger/job.ts'
import { type EntryWork, enterEntryWork, placementOf } from '../../src/migration/entry/entry-work.ts'
import { blockEntry, putBack } from '../../src/migration/place/block-entry.ts'
import {
  hasMachineDebts,
  makeMachine,
  newMachineOf,
  recordMachine,
} from '../../src/migration/place/make-machine.ts'
import { placeEntry, targetOf } from '../../src/migration/place/place-entry.ts'
import type { ScriptThreads } from '../../src/migration/place/script-runner.ts'
import { takeRecord } from '../../src/migration/place/take-record.ts'
import { TargetLooks } from '../../src/migration/place/target-view.ts'
import { machineKind, undoTargetMachine } from '../../src/migration/target/target-machine.ts'
import { PlatformError } from '../../src/platforms/ports/platform-error.ts'

const debtLookMs = 5_000

/** Decides where an instance lands, and makes its machine there. */
export const handlePlaceInstance = (threads: ScriptThreads) => {
  const looks = new TargetLooks()
  return defineHandler(
    placeInstance,
    async (ctx) => {
      await ctx.pace()
      const entryWork = await enterEntryWork(ctx, ctx.payload.entry_id, takeRecord)
      if (await hasMachineDebts(entryWork))
        return waitFor({
          reason: 'earlier-machine',
          detail: 'Waits until the machine that an earlier try left on the target is taken away.',
          forMs: debtLookMs,
        })
      if (entryWork.entry.state === 'creating')
        return create(entryWork, {
          placement: placementOf(entryWork),
          site: await targetOf(entryWork),
          looks,
        })
      const placed = await placeEntry(entryWork, { threads, looks })
      if (!placed.placed)
        return done(
          { blocked: placed.reasons.map(({ code }) => code), log: placed.log },
          { change: blockEntry(entryWork, placed.reasons) },
        )
      await ctx.pace()
      const { placement, target: site } = placed
      // The target is known only now; the tokens for it are requested by another turn.
      if (!placed.admitted) return release('awaiting-place', `It asks for a place on ${site.name}.`)
      return create(placed.entryWork, { placement, site, looks })
    },
    { [machineKind]: undoTargetMachine },
  )
}

const create = async (
  entryWork: EntryWork,
  at: { readonly placement: Placement; readonly site: SiteRow; readonly looks: TargetLooks },
): Promise<Done> => {
  const { site, placement, looks } = at
  const things = placement.host === '' ? undefined : await looks.look(entryWork.ctx, site)
  const host = things?.hosts.find((one) => one.name === placement.host || one.ref === placement.host)
  const machine = await newMachineOf(entryWork, placement, host?.ref ?? placement.host)
  try {
    const made = await makeMachine(entryWork, { site, machine })
    return done(
      { machine: made.ref, target: site.name, kept: made.kept },
      { change: recordMachine(entryWork, made, site) },
    )
  } catch (error) {
    // The look is outdated; the next call looks again.
    looks.forget(site)
    if (!(error instanceof PlatformError) || error.code !== 'platform-name-taken') throw error
    const why = { code: 'name-taken', message: `${site.name}: ${error.message}` }
    return done({ blocked: [why.code] }, { change: putBack(entryWork, why) })
  }
}
