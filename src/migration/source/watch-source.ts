import { type AskedSource, findAskedSource } from '../../../db/queries/entries/asked-source.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { isCommitted } from '../../domain/migration/entry/entry.ts'
import { type AskedGuestStep, decideAskedGuest } from '../../domain/migration/verify/asked-guest.ts'
import { utcText } from '../../domain/text/utc-text.ts'
import { DroverError } from '../../errors.ts'
import { mergeWarnings } from '../../inventory/connection/warnings.ts'
import { requireMayStart } from '../../inventory/power/start-guard.ts'
import { isUnderWay } from '../../ledger/ended-task.ts'
import type { JobCall, UndoContext } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import { type OwnedBy, ownMachines, startsOf } from '../target/own-target.ts'
import { sameMachine, startSource } from './give-back.ts'
import { mayStillGoOff, readSourceStop, type SourceStopUndo, stopOf } from './source-stops.ts'

export interface Watching extends UndoContext {
  readonly call: JobCall
}

/**
 * Watches a guest that was asked to shut down by a migration that no longer holds it. The guest may still go down, and
 * then it is off because of Drover, whatever has become of the entry. Throws while that may still happen.
 */
export const watchSource = async (watching: Watching): Promise<void> => {
  const { db, usePlatform, effect } = watching
  const undo = readSourceStop(effect)
  const source = await loadSiteById(db, undo.source_id)
  if (!source || undo.step !== 'shutdown') return
  await usePlatform(source, async (platform) => {
    const { step, now } = await lookAtSource(watching, platform, undo)
    if (step === 'watch') throw sourceMayGoOff(now.name, undo.ref, effect.createdAt)
    if (step === 'hold') throw neededOff(now)
    if (step === 'give-up') return warn(watching, source, now)
    if (step === 'start') return startIt(watching, { platform, source, undo })
  })
}

interface Looked {
  readonly step: AskedGuestStep
  readonly now: AskedSource
}

const lookAtSource = async (
  { db, effect, call }: Watching,
  platform: Platform,
  undo: SourceStopUndo,
): Promise<Looked> => {
  const found = await again(call, () => portOf(platform, 'power').power(call, undo.ref))
  const asked = { siteId: undo.source_id, ref: undo.ref, entryId: undo.entry_id, at: effect.createdAt }
  const now = await findAskedSource(db, asked)
  if (!now) throw new Error('Nothing is known of a source that was asked to go off.')
  const step = decideAskedGuest({
    power: found.found ? found.value.state : 'gone',
    sameRun: found.found && mayStillGoOff(found.value, [stopOf(effect)]),
    askedMs: now.now.getTime() - effect.createdAt.getTime(),
    wantedOff: now.lastVerb !== null && offVerbs.includes(now.lastVerb),
    tookOver: now.certified || now.state === 'finished',
    entry: entryOf(now),
  })
  return { step, now }
}

/** After these verbs the machine is off because a person wants it off. */
const offVerbs: readonly string[] = ['stop', 'shutdown', 'hibernate', 'restore']

const entryOf = ({ state, stage, sourceStoppedAt }: AskedSource) => {
  if (state === null || stage === null) return 'none'
  if (sourceStoppedAt !== null) return 'accounts'
  return isCommitted({ state, stage }) ? 'needs-it-off' : 'none'
}

interface Starting {
  readonly platform: Platform
  readonly source: SiteRow
  readonly undo: SourceStopUndo
}

const startIt = async (watching: Watching, { platform, source, undo }: Starting): Promise<void> => {
  const { effect, call, confirm } = watching
  if ((await sameMachine(platform, call, undo)) === 'gone') return
  const before = await lookAtSource(watching, platform, undo)
  const { entryId, targetId, machineRef } = before.now
  await requireCopiesOff(watching, undo.target_id, { entryId: undo.entry_id, machineRef: undo.machine_ref })
  if (entryId !== null) await requireCopiesOff(watching, targetId, { entryId, machineRef })
  // The look takes time: somebody may have changed the machine's power meanwhile.
  const { step, now } = await lookAtSource(watching, platform, undo)
  if (step === 'hold') throw neededOff(now)
  if (step !== 'start') return
  const mayStart = () =>
    requireMayStart(watching, {
      at: { siteId: source.id, ref: undo.ref, uuid: undo.uuid },
      name: now.name,
      // Work of an entry that does not need the source off is no reason to leave it off.
      by: { jobId: effect.jobId, entryId: now.entryId },
      byItsMigration: true,
    })
  await startSource(platform, call, { ref: undo.ref, mayStart, confirm })
}

/** Requires that copies of an entry on its target are off and that none is about to start. Switches nothing off. */
const requireCopiesOff = async (
  { db, usePlatform, call }: Watching,
  targetId: string | null,
  owned: OwnedBy,
): Promise<void> => {
  const target = targetId === null ? undefined : await loadSiteById(db, targetId)
  if (!target) return
  const begun = await startsOf(db, owned.entryId)
  await usePlatform(target, async (platform) => {
    const power = portOf(platform, 'power')
    for (const machine of await ownMachines(platform, call, owned)) {
      if (await isUnderWay(power, call, { machine, begun })) throw copyRuns(machine, target.name)
      const seen = await again(call, () => power.power(call, machine))
      if (seen.found && seen.value.state !== 'off') throw copyRuns(machine, target.name)
    }
  })
}

const warn = async (
  { effect, fenced }: Watching,
  source: SiteRow,
  { instanceId, name }: AskedSource,
): Promise<void> => {
  if (instanceId === null) return
  const place = { entityType: 'instance', entityId: instanceId, entityName: name }
  const said = `The guest of ${name} at ${source.name} was asked to shut itself down at ${utcText(effect.createdAt.getTime())} by a migration that let go of it, and still runs. Nobody looks any more: when it goes off, start it by hand. Restart it to be sure.`
  await fenced((tx) =>
    mergeWarnings(tx, place, {
      types: ['guest-may-go-off'],
      said: { 'guest-may-go-off': [said] },
      actor: `job/${effect.jobId}`,
    }),
  )
}

/** The error while the boot that was asked to end still runs. */
export const sourceMayGoOff = (name: string, ref: string, at: Date): DroverError =>
  new DroverError({
    code: 'source-may-go-off',
    class: 'transient',
    message: `The guest of ${name} (${ref}) was asked to shut itself down at ${utcText(at.getTime())} and still runs: when it goes off, it is started again.`,
    remedy: 'Nothing to do: it is looked at again, for a day. Restart the machine to end this at once.',
    detail: { ref },
  })

const neededOff = ({ name, entryId }: AskedSource): DroverError =>
  new DroverError({
    code: 'source-needed-off',
    class: 'transient',
    message: `${name} went off after it was asked to, and the migration ${entryId ?? ''} needs it off now: it is started again when that is given up.`,
    remedy: 'Nothing to do: it is looked at again.',
    detail: { entry_id: entryId },
  })

const copyRuns = (machine: string, target: string): DroverError =>
  new DroverError({
    code: 'target-still-runs',
    class: 'conflict',
    message: `The source is off on our account and is not started: our copy ${machine} of it runs on ${target}, or is about to.`,
    remedy: 'Stop the copy on its target; the source is started by itself then.',
    detail: { machine, target },
  })
