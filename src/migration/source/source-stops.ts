import { z } from 'zod'
import type { Queryable } from '../../../db/client.ts'
import { listEntryEffects } from '../../../db/queries/effects/entry-effects.ts'
import type { EntryAtWork } from '../../../db/queries/entries/entry-rows.ts'
import type { EffectRow } from '../../../db/schema/effect.ts'
import { durationMs } from '../../domain/text/duration.ts'
import { type Begun, begunBy } from '../../ledger/ended-task.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import { type EntryWork, noteEntry } from '../entry/entry-work.ts'

/** Effects of this kind are power-offs of sources by Drover. */
export const sourceStopKind = 'source-stop'

const undoSchema = z.object({
  entry_id: z.string(),
  /** When the source was asked to go off; tells this stop from a later one. */
  stopped_at: z.string(),
  source_id: z.string(),
  ref: z.string(),
  uuid: z.string(),
  target_id: z.string().nullable(),
  machine_ref: z.string().nullable(),
  /** How long a guest may take to shut down. */
  limit_ms: z.number(),
  /** The entry goes on without its source: the end of the job alone does not start the source. */
  stays: z.boolean(),
  /**
   * The request, and the boot of the machine that it was sent to. An empty id: the platform does not tell boots apart.
   */
  step: z.string().optional(),
  boot_id: z.string().optional(),
})
export type SourceStopUndo = z.infer<typeof undoSchema>

/** The stop that an effect of this kind describes. */
export const readSourceStop = ({ undo }: Pick<EffectRow, 'undo'>): SourceStopUndo => undoSchema.parse(undo)

/** The undo data by which the source is started again when the job ends early. */
export const sourceStopUndo = (
  { entry, facts, source, target, batch }: EntryWork,
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
  } satisfies SourceStopUndo,
})

/** The guest's time begins now; an earlier sighting as off does not count. */
export const guestGivenTime = (now: Date, { batch }: EntryWork) => ({
  sourceOffAt: null,
  guestUntil: new Date(now.getTime() + durationMs(batch.config.guest_shutdown_limit)),
})

/** Records that the source was seen off after the request. */
export const noteSourceOff = (entryWork: EntryWork): Promise<EntryAtWork> =>
  noteEntry(
    entryWork,
    async (_, now) =>
      now.sourceStoppedAt === null || now.sourceOffAt !== null ? {} : { sourceOffAt: now.now },
    'at-once',
  )

/** A requested stop of a source. */
export interface AskedStop extends Begun {
  /** The boot that the guest was asked to end; undefined: the guest was not asked. Empty: any boot. */
  readonly guestRun: string | undefined
}

/** The stop that an effect of this kind asked for. */
export const stopOf = (effect: EffectRow): AskedStop => {
  const { step, boot_id: run } = readSourceStop(effect)
  return { ...begunBy(effect), guestRun: step === 'shutdown' ? (run ?? '') : undefined }
}

/** Every requested stop of an entry's source, except those that have been undone. */
export const stopsOf = async (db: Queryable, entryId: string): Promise<AskedStop[]> =>
  (await listEntryEffects(db, { entryId, kind: sourceStopKind })).flatMap((effect) => {
    const { stays } = readSourceStop(effect)
    if (effect.state === 'undone' && !stays) return []
    return [stopOf(effect)]
  })

/** Whether a guest that was asked to shut down may still do so: the same boot still runs. */
export const mayStillGoOff = (seen: PowerFacts, stops: readonly AskedStop[]): boolean =>
  seen.state === 'on' &&
  stops.some(({ guestRun: run }) => run === '' || (run !== undefined && ['', run].includes(seen.boot_id)))
