import { z } from 'zod'
import type { Tx } from '../../../db/client.ts'
import { settleEffect } from '../../../db/queries/effects/effects.ts'
import { listEntryEffects } from '../../../db/queries/effects/entry-effects.ts'
import { oweStops } from '../../../db/queries/entries/asked-source.ts'
import type { EffectRow } from '../../../db/schema/effect.ts'
import { durationMs } from '../../domain/text/duration.ts'
import { recordError } from '../../errors.ts'
import { isUnderWay } from '../../ledger/ended-task.ts'
import { actorOf, callBy, type JobCall } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import { storableJson } from '../../storable.ts'
import { type EntryWork, noteEntry } from '../entry/entry-work.ts'
import {
  guestGivenTime,
  mayStillGoOff,
  noteSourceOff,
  sourceStopKind,
  stopOf,
  stopsOf,
} from './source-stops.ts'
import { sourceMayGoOff } from './watch-source.ts'

/** The part of a withdrawal that starts the source. */
export const sourceStartPart = 'source-on'

interface StopWait {
  readonly type: 'wait'
  readonly forMs: number
  readonly forWhat: string
}

const lookMs = 2_000
const callMs = 60_000

const callOf = ({ ctx }: EntryWork): JobCall => callBy(ctx, `${ctx.job.id}/stops`, callMs)

/**
 * A source that was asked to shut down and still runs is not back: it may go off at any moment. Once it is off, the
 * rest is known; if its guest does not go down in time, the stop stays owed (see {@link findAskedStops}).
 */
export const awaitStop = async (entryWork: EntryWork, platform: Platform): Promise<StopWait | undefined> => {
  const { ctx, entry, facts, batch } = entryWork
  // The source was seen off and has been started since.
  if (ctx.checkpointed?.[sourceStartPart] !== undefined) return undefined
  const power = portOf(platform, 'power')
  const call = callOf(entryWork)
  const stops = await stopsOf(ctx.db, entry.id)
  if (await isUnderWay(power, call, { machine: facts.ref, begun: stops }))
    return { type: 'wait', forMs: lookMs, forWhat: 'the power-off that the source is still at' }
  const seen = await again(call, () => power.power(call, facts.ref))
  if (seen.found && seen.value.state === 'off') await noteSourceOff(entryWork)
  if (!seen.found || !mayStillGoOff(seen.value, stops)) return undefined
  const waitedMs = Number(ctx.checkpointed?.waited_for_stop_ms ?? 0)
  if (waitedMs === 0)
    await noteEntry(entryWork, async (_, now) => guestGivenTime(now.now, entryWork), 'at-once')
  if (waitedMs >= durationMs(batch.config.guest_shutdown_limit)) return undefined
  await ctx.checkpoint({ ...ctx.checkpointed, waited_for_stop_ms: waitedMs + lookMs })
  return { type: 'wait', forMs: lookMs, forWhat: 'the guest that was asked to shut itself down' }
}

/**
 * The stops that the entry asked of its source's guest: those that may still happen, and those that a restart has
 * ended.
 */
export interface AskedStops {
  readonly owed: readonly EffectRow[]
  readonly over: readonly EffectRow[]
}

/** Called after the source was given back. A failed look throws. */
export const findAskedStops = async (entryWork: EntryWork, platform: Platform): Promise<AskedStops> => {
  const { ctx, entry, facts } = entryWork
  const effects = await listEntryEffects(ctx.db, { entryId: entry.id, kind: sourceStopKind })
  if (hasStarted(ctx.checkpointed?.[sourceStartPart])) {
    // Where boots cannot be told apart, nobody could tell later whether this one is another.
    const over = effects.filter((effect) => effect.state === 'debt' && stopOf(effect).guestRun === '')
    return { owed: [], over }
  }
  const call = callOf(entryWork)
  const seen = await again(call, () => portOf(platform, 'power').power(call, facts.ref))
  const owed = effects.filter((effect) => seen.found && mayStillGoOff(seen.value, [stopOf(effect)]))
  return { owed, over: [] }
}

const storedStart = z.object({ steps: z.array(z.string()) })

const hasStarted = (stored: unknown): boolean => {
  const parsed = storedStart.safeParse(stored)
  return parsed.success && parsed.data.steps.includes('start')
}

/** Keeps stops that may still happen as debts without the entry, so that a later power-off is still explained. */
export const keepAskedStops = async (
  tx: Tx,
  entryWork: EntryWork,
  { owed, over }: AskedStops,
): Promise<void> => {
  const { ctx, facts } = entryWork
  const actor = actorOf(ctx)
  for (const { id, createdAt } of owed) {
    const error = storableJson(recordError(sourceMayGoOff(facts.name, facts.ref, createdAt)))
    await oweStops(tx, { ids: [id], error, actor })
  }
  for (const { id } of over) await settleEffect(tx, { id, actor, outcome: 'undone' })
}
