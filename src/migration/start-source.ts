import { z } from 'zod'
import type { Db, Queryable } from '../../db/client.ts'
import { listEntryEffects } from '../../db/queries/entry-effects.ts'
import { findStoppedSource } from '../../db/queries/find-stopped-source.ts'
import { hasSucceeded } from '../../db/queries/has-succeeded.ts'
import { loadSiteById } from '../../db/queries/load-site.ts'
import type { EffectRow } from '../../db/schema/effect.ts'
import { systemClock } from '../clock.ts'
import { durationMs } from '../domain/duration.ts'
import { DroverError } from '../errors.ts'
import { requireMayStart, type Start } from '../inventory/start-guard.ts'
import type { UsePlatform } from '../inventory/sync-site.ts'
import { crashPoint } from '../ledger/crash-point.ts'
import type { Call } from '../platforms/call.ts'
import { PlatformError } from '../platforms/platform-error.ts'
import type { PowerFacts } from '../platforms/ports/power.ts'
import { type Platform, portOf } from '../platforms/ports.ts'
import { again } from './copy/again.ts'
import type { Journey } from './journey.ts'
import { proveTargetOff, startsOf } from './own-target.ts'
import { awaitTasks, type Begun, begunBy } from './under-way.ts'

/** Effects of this kind are sources that we switched off. */
export const sourceStopKind = 'source-stop'

const undoSchema = z.object({
  entry_id: z.string(),
  /** When the source was asked to go off: tells this stop from a later one. */
  stopped_at: z.string(),
  source_id: z.string(),
  ref: z.string(),
  uuid: z.string(),
  target_id: z.string().nullable(),
  machine_ref: z.string().nullable(),
  /** How long a guest may take to go down. */
  limit_ms: z.number(),
  /** The entry goes on without its source: the end of the job alone does not start it. */
  stays: z.boolean(),
  /** What was asked of which run of the machine; an empty id: the platform does not tell runs apart. */
  step: z.string().optional(),
  boot_id: z.string().optional(),
})
type Undo = z.infer<typeof undoSchema>

/** What starts the source again when the job ends before its time, as data. */
export const sourceStopUndo = (
  { entry, facts, source, target, batch }: Journey,
  { stays }: { readonly stays: boolean },
) => ({
  kind: sourceStopKind,
  with: {
    entry_id: entry.id,
    stopped_at: entry.sourceStoppedAt?.toISOString() ?? '',
    source_id: source.id,
    ref: facts.ref,
    uuid: facts.uuid,
    target_id: target?.id ?? null,
    machine_ref: entry.machineRef,
    limit_ms: durationMs(batch.config.guest_shutdown_limit),
    stays,
  } satisfies Undo,
})

/** The start that gives a source back. */
export const startOfSource = ({ turn, entry, source, facts }: Journey): Start => ({
  at: { siteId: source.id, ref: facts.ref, uuid: facts.uuid },
  name: facts.name,
  by: { jobId: turn.job.id, entryId: entry.id },
  byItsMigration: true,
})

/** A source's stop that was asked for. */
export interface AskedStop extends Begun {
  /** The run that a guest was asked to end; undefined: nobody asked the guest. Empty: any. */
  readonly guestRun: string | undefined
}

/** Every stop of an entry's source that was ever asked for, but for those that have been undone. */
export const stopsOf = async (db: Queryable, entryId: string): Promise<AskedStop[]> =>
  (await listEntryEffects(db, { entryId, kind: sourceStopKind })).flatMap((effect) => {
    const { stays, step, boot_id: run } = undoSchema.parse(effect.undo)
    if (effect.state === 'undone' && !stays) return []
    return [{ ...begunBy(effect), guestRun: step === 'shutdown' ? (run ?? '') : undefined }]
  })

/** Whether a guest that was asked to go down may still do so: what runs is the run that was asked. */
export const mayStillGoOff = (seen: PowerFacts, stops: readonly AskedStop[]): boolean =>
  seen.state === 'on' &&
  stops.some(({ guestRun: run }) => run === '' || (run !== undefined && ['', run].includes(seen.boot_id)))

const undoMs = 50_000
const patienceMs = 30_000
const lookMs = 500

/** Starts a source again, after our copy of it is proved off. What cannot be told is no proof: nothing is started. */
export const undoSourceStop =
  (db: Db, use: UsePlatform) =>
  async (effect: EffectRow, signal: AbortSignal, confirm: () => void): Promise<void> => {
    const undo = undoSchema.parse(effect.undo)
    // A cutover that came to its end goes on without its source, also where the answer to one of its calls was lost.
    if (undo.stays || (await hasSucceeded(db, effect.jobId)) || !(await isOwed(db, undo))) return
    const call: Call = {
      signal,
      timeoutMs: undoMs,
      name: `${effect.name}/undo/${effect.attempts}/${effect.epoch}`,
    }
    const target = undo.target_id === null ? undefined : await loadSiteById(db, undo.target_id)
    if (undo.target_id !== null && !target) throw targetUnknown(undo.target_id)
    if (target) {
      const owned = { entryId: undo.entry_id, machineRef: undo.machine_ref }
      const starts = await startsOf(db, undo.entry_id)
      // Long after, the machine that runs may be the one that took over.
      const stillOwed = async () => {
        if (!(await isOwed(db, undo))) throw notOwed(undo)
        confirm()
      }
      await use(target, (platform) => proveTargetOff(platform, call, owned, { starts, confirm: stillOwed }))
    }
    const source = await loadSiteById(db, undo.source_id)
    if (!source) return
    const stops = await stopsOf(db, undo.entry_id)
    await use(source, async (platform) => {
      if ((await whatIsLeft(platform, call, { undo, stops })) !== 'start-it') return
      // All this has taken its time: somebody may have ended the matter meanwhile.
      if (!(await isOwed(db, undo))) return
      const by = { jobId: effect.jobId, entryId: undo.entry_id }
      const at = { siteId: source.id, ref: undo.ref, uuid: undo.uuid }
      await requireMayStart({ db, use, signal }, { at, name: 'The source', by, byItsMigration: true })
      await startSource(platform, call, { ref: undo.ref, confirm })
    })
  }

/**
 * Whether the start is still owed. A debt may be tried long after: by then a withdrawal has started the source, the
 * entry has switched it off once more, or its target runs in its stead.
 */
const isOwed = async (db: Db, undo: Undo): Promise<boolean> => {
  const entry = await findStoppedSource(db, undo.entry_id)
  return (
    entry !== undefined &&
    entry.state !== 'finished' &&
    entry.sourceStoppedAt?.toISOString() === undo.stopped_at
  )
}

/** Looks until it is known what has become of the stop; a guest that takes long to go down is looked at again later. */
const whatIsLeft = async (
  platform: Platform,
  call: Call,
  { undo, stops }: { readonly undo: Undo; readonly stops: readonly AskedStop[] },
): Promise<'nothing' | 'start-it'> => {
  if ((await sameMachine(platform, call, undo)) === 'gone') return 'nothing'
  const power = portOf(platform, 'power')
  await awaitTasks(power, call, { machine: undo.ref, begun: stops, patienceMs })
  const begunMs = systemClock.monotonicMs()
  for (;;) {
    const seen = await again(call.signal, () => power.power(call, undo.ref))
    if (!seen.found) return 'nothing'
    if (seen.value.state !== 'on') return 'start-it'
    if (!mayStillGoOff(seen.value, stops)) return 'nothing'
    const waitedMs = systemClock.monotonicMs() - begunMs
    if (waitedMs >= undo.limit_ms) return 'nothing'
    if (waitedMs >= patienceMs) throw goesDown(undo.ref)
    await systemClock.sleep(lookMs, call.signal)
    call.signal.throwIfAborted()
  }
}

const startSource = async (
  platform: Platform,
  call: Call,
  asked: { readonly ref: string; readonly confirm: () => void },
): Promise<void> => {
  const power = portOf(platform, 'power')
  try {
    const handle = await again(call.signal, () => {
      crashPoint('undo-before-change')
      asked.confirm()
      return power.start(call, asked.ref)
    })
    await handle.wait(call)
  } catch (error) {
    // Somebody was quicker.
    if (!(error instanceof PlatformError) || error.code !== 'platform-wrong-state') throw error
  }
}

/** Whether a ref still leads to the machine whose identity was recorded; null: whatever its identity is by now. */
export const sameMachine = async (
  platform: Platform,
  call: Call,
  asked: { readonly ref: string; readonly uuid: string | null },
): Promise<'same' | 'gone'> => {
  const found = await again(call.signal, () => portOf(platform, 'inventory').instance(call, asked.ref))
  if (!found.found) return 'gone'
  const uuid = found.value.uuid.toLowerCase()
  if (uuid === '' || asked.uuid === null || uuid === asked.uuid) return 'same'
  throw anotherMachine(asked.ref)
}

const anotherMachine = (ref: string): DroverError =>
  new DroverError({
    code: 'identity-changed',
    class: 'conflict',
    message: `The machine ${ref} of the source has another UUID now: it is not started.`,
    remedy: 'Look at the machine; cancel the entry to have it started as it is, or start it by hand.',
    detail: { ref },
  })

const goesDown = (ref: string): DroverError =>
  new DroverError({
    code: 'source-goes-down',
    class: 'transient',
    message: `The guest of ${ref} was asked to shut itself down and still runs: it is started again when it has gone down.`,
    remedy: 'Nothing to do: it is looked at again.',
    detail: { ref },
  })

const notOwed = ({ entry_id }: Undo): DroverError =>
  new DroverError({
    code: 'source-start-not-owed',
    class: 'transient',
    message: `The entry ${entry_id} has moved on meanwhile: its target is left alone.`,
    remedy: 'Nothing to do: it is looked at again.',
  })

const targetUnknown = (id: string): DroverError =>
  new DroverError({
    code: 'target-unknown',
    class: 'conflict',
    message: `The target ${id} is not known any more: whether our copy runs there cannot be told.`,
    remedy: 'Add the target again, or look there and waive this effect.',
    detail: { target_id: id },
  })
