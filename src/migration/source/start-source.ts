import type { Db } from '../../../db/client.ts'
import { findStoppedSource } from '../../../db/queries/entries/find-stopped-source.ts'
import { hasSucceeded } from '../../../db/queries/jobs/has-succeeded.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import type { WaitBounds } from '../../domain/job/bounded-wait.ts'
import { DroverError } from '../../errors.ts'
import { requireMayStart } from '../../inventory/power/start-guard.ts'
import { awaitTasks } from '../../ledger/ended-task.ts'
import { callBy, type JobCall, type Undoer } from '../../ledger/job.ts'
import { again, boundedWait } from '../../platforms/ports/bounded-wait.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import { proveTargetOff, startsOf } from '../target/own-target.ts'
import { sameMachine, startSource } from './give-back.ts'
import {
  type AskedStop,
  mayStillGoOff,
  readSourceStop,
  type SourceStopUndo,
  stopsOf,
} from './source-stops.ts'
import { watchSource } from './watch-source.ts'

const undoMs = 50_000
const untilDown: WaitBounds = { shortestMs: 500, longestMs: 500, share: 0, limitMs: 30_000 }

/**
 * Starts a source again, after our copy is proved off. If that cannot be proved, nothing is started. The debt stays
 * owed while the guest may still shut down, even if the entry no longer holds the source.
 */
export const undoSourceStop: Undoer = async (undoing) => {
  const { effect, db, confirm, usePlatform } = undoing
  const undo = readSourceStop(effect)
  const call = callBy(undoing, `${effect.name}/undo/${effect.attempts}/${effect.epoch}`, undoMs)
  if (!(await isOwed(db, undo))) return watchSource({ ...undoing, call })
  // A cutover that succeeded goes on without its source, even if the answer to one of its calls was lost.
  if (undo.stays || (await hasSucceeded(db, effect.jobId))) return
  const target = undo.target_id === null ? undefined : await loadSiteById(db, undo.target_id)
  if (undo.target_id !== null && !target) throw targetUnknown(undo.target_id)
  if (target) {
    const owned = { entryId: undo.entry_id, machineRef: undo.machine_ref }
    const starts = await startsOf(db, undo.entry_id)
    // Long after, the running machine may be the migrated one.
    const stillOwed = async () => {
      if (!(await isOwed(db, undo))) throw notOwed(undo)
      confirm()
    }
    await usePlatform(target, (platform) =>
      proveTargetOff(platform, call, owned, { starts, confirm: stillOwed }),
    )
  }
  const source = await loadSiteById(db, undo.source_id)
  if (!source) return
  const stops = await stopsOf(db, undo.entry_id)
  await usePlatform(source, async (platform) => {
    if ((await whatIsLeft(platform, call, { undo, stops })) !== 'start-it') return
    // The look takes time: somebody may have settled the debt meanwhile.
    if (!(await isOwed(db, undo))) return
    const by = { jobId: effect.jobId, entryId: undo.entry_id }
    const at = { siteId: source.id, ref: undo.ref, uuid: undo.uuid }
    const mayStart = () => requireMayStart(undoing, { at, name: 'The source', by, byItsMigration: true })
    await startSource(platform, call, { ref: undo.ref, mayStart, confirm })
  })
}

/**
 * Whether the start is still owed. A debt may be retried long after: by then a withdrawal may have started the source,
 * the entry may have switched it off again, or the target may run in its place.
 */
const isOwed = async (db: Db, undo: SourceStopUndo): Promise<boolean> => {
  const entry = await findStoppedSource(db, undo.entry_id)
  return (
    entry !== undefined &&
    entry.state !== 'finished' &&
    entry.sourceStoppedAt?.toISOString() === undo.stopped_at
  )
}

/** Looks until the outcome of the stop is known. For a guest that takes long to shut down, looks again later. */
const whatIsLeft = async (
  platform: Platform,
  call: JobCall,
  { undo, stops }: { readonly undo: SourceStopUndo; readonly stops: readonly AskedStop[] },
): Promise<'nothing' | 'start-it'> => {
  if ((await sameMachine(platform, call, undo)) === 'gone') return 'nothing'
  const power = portOf(platform, 'power')
  await awaitTasks(power, call, { machine: undo.ref, begun: stops })
  const bounds = { ...untilDown, limitMs: Math.min(undo.limit_ms, untilDown.limitMs) }
  return boundedWait<'nothing' | 'start-it'>(call, bounds, async () => {
    const seen = await again(call, () => power.power(call, undo.ref))
    if (!seen.found) return { result: 'nothing' }
    if (seen.value.state !== 'on') return { result: 'start-it' }
    // It may also go down at any later time: then it is off, and somebody must be told.
    return mayStillGoOff(seen.value, stops) ? { over: goesDown(undo.ref) } : { result: 'nothing' }
  })
}

const goesDown = (ref: string): DroverError =>
  new DroverError({
    code: 'source-goes-down',
    class: 'transient',
    message: `The guest of ${ref} was asked to shut itself down and still runs: it is started again when it has gone down.`,
    remedy: 'Nothing to do: it is looked at again.',
    detail: { ref },
  })

const notOwed = ({ entry_id }: SourceStopUndo): DroverError =>
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
