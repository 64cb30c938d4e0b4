import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { findStoppedSource } from '../../db/queries/find-stopped-source.ts'
import { loadSiteById } from '../../db/queries/load-site.ts'
import type { EffectRow } from '../../db/schema/effect.ts'
import { DroverError } from '../errors.ts'
import type { UsePlatform } from '../inventory/sync-site.ts'
import type { Call } from '../platforms/call.ts'
import { PlatformError } from '../platforms/platform-error.ts'
import { type Platform, portOf } from '../platforms/ports.ts'
import { again } from './copy/again.ts'
import type { Journey } from './journey.ts'
import { proveTargetOff } from './own-target.ts'

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
})

/** What starts the source again when the job ends before its time, as data. */
export const sourceStopUndo = ({ entry, facts, source, target }: Journey) => ({
  kind: sourceStopKind,
  with: {
    entry_id: entry.id,
    stopped_at: entry.sourceStoppedAt?.toISOString() ?? '',
    source_id: source.id,
    ref: facts.ref,
    uuid: facts.uuid,
    target_id: target?.id ?? null,
    machine_ref: entry.machineRef,
  } satisfies z.infer<typeof undoSchema>,
})

const undoMs = 50_000

/** Starts a source again, after our copy of it is proved off. What cannot be told is no proof: nothing is started. */
export const undoSourceStop =
  (db: Db, use: UsePlatform) =>
  async (effect: EffectRow, signal: AbortSignal): Promise<void> => {
    const undo = undoSchema.parse(effect.undo)
    if (!(await isOwed(db, undo))) return
    const call: Call = {
      signal,
      timeoutMs: undoMs,
      name: `${effect.name}/undo/${effect.attempts}/${effect.epoch}`,
    }
    const target = undo.target_id === null ? undefined : await loadSiteById(db, undo.target_id)
    if (undo.target_id !== null && !target) throw targetUnknown(undo.target_id)
    if (target)
      await use(target, (platform) =>
        proveTargetOff(platform, call, { entryId: undo.entry_id, machineRef: undo.machine_ref }),
      )
    const source = await loadSiteById(db, undo.source_id)
    if (!source) return
    await use(source, (platform) => startSource(platform, call, undo))
  }

/**
 * Whether the start is still owed. A debt may be tried long after: by then a withdrawal has started the source, the
 * entry has switched it off once more, or its target runs in its stead.
 */
const isOwed = async (db: Db, undo: z.infer<typeof undoSchema>): Promise<boolean> => {
  const entry = await findStoppedSource(db, undo.entry_id)
  return (
    entry !== undefined &&
    entry.state !== 'finished' &&
    entry.sourceStoppedAt?.toISOString() === undo.stopped_at
  )
}

const startSource = async (
  platform: Platform,
  call: Call,
  asked: { readonly ref: string; readonly uuid: string },
): Promise<void> => {
  if ((await sameMachine(platform, call, asked)) === 'gone') return
  const power = portOf(platform, 'power')
  const seen = await again(call.signal, () => power.power(call, asked.ref))
  if (!seen.found || seen.value.state === 'on') return
  try {
    const handle = await again(call.signal, () => power.start(call, asked.ref))
    await handle.wait(call)
  } catch (error) {
    // Somebody was quicker.
    if (!(error instanceof PlatformError) || error.code !== 'platform-wrong-state') throw error
  }
}

/** Whether a ref still leads to the machine whose identity was recorded. */
export const sameMachine = async (
  platform: Platform,
  call: Call,
  asked: { readonly ref: string; readonly uuid: string },
): Promise<'same' | 'gone'> => {
  const found = await again(call.signal, () => portOf(platform, 'inventory').instance(call, asked.ref))
  if (!found.found) return 'gone'
  const uuid = found.value.uuid.toLowerCase()
  if (uuid === '' || uuid === asked.uuid) return 'same'
  throw anotherMachine(asked.ref)
}

const anotherMachine = (ref: string): DroverError =>
  new DroverError({
    code: 'identity-changed',
    class: 'conflict',
    message: `The machine ${ref} of the source has another UUID now: it is not started.`,
    remedy: 'Look at the machine; start it by hand when it is the right one.',
    detail: { ref },
  })

const targetUnknown = (id: string): DroverError =>
  new DroverError({
    code: 'target-unknown',
    class: 'conflict',
    message: `The target ${id} is not known any more: whether our copy runs there cannot be told.`,
    remedy: 'Add the target again, or look there and waive this effect.',
    detail: { target_id: id },
  })
