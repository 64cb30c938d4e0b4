import type { Queryable } from '../../../db/client.ts'
import { listEntryEffects } from '../../../db/queries/effects/entry-effects.ts'
import { DroverError } from '../../errors.ts'
import { awaitTasks, type Begun, begunBy } from '../../ledger/ended-task.ts'
import type { JobCall } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'

/** The tag that tells whose a machine is: an entry's id, which nobody else has. */
export const entryTag = 'drover.entry'

/** Effects of this kind are targets that we started and that nobody has vouched for yet. */
export const targetStartKind = 'target-start'

/** Every start of an entry's target that was ever asked for: one of them may not have come about yet. */
export const startsOf = async (db: Queryable, entryId: string): Promise<Begun[]> =>
  (await listEntryEffects(db, { entryId, kind: targetStartKind })).map(begunBy)

export interface OwnedBy {
  readonly entryId: string
  /** As it was recorded; null when the answer to its making was lost. */
  readonly machineRef: string | null
}

/**
 * Machines on a target that are an entry's own: the recorded one, if it carries our tag, and any that carries it and
 * was never recorded. A stranger's machine with the same ref or name is never among them. A look that fails throws.
 */
export const ownMachines = async (platform: Platform, call: JobCall, owned: OwnedBy): Promise<string[]> => {
  const machines = portOf(platform, 'machines')
  const { entryId, machineRef } = owned
  const tagged = await again(call, () => machines.findOwned(call, { [entryTag]: entryId }))
  const mine = new Set(tagged)
  if (machineRef !== null && !mine.has(machineRef) && (await isOwn(platform, call, owned)))
    mine.add(machineRef)
  return [...mine].sort()
}

/** Whether the recorded machine is there and ours. */
export const isOwn = async (platform: Platform, call: JobCall, owned: OwnedBy): Promise<boolean> => {
  const { entryId, machineRef } = owned
  if (machineRef === null) return false
  const owner = await again(call, () => portOf(platform, 'machines').owner(call, machineRef))
  return owner.found && owner.value[entryTag] === entryId
}

/** The same, or a person has to look. */
export const requireOwn = async (platform: Platform, call: JobCall, owned: OwnedBy): Promise<void> => {
  if (!(await isOwn(platform, call, owned))) throw targetNotOurs(owned.machineRef ?? '')
}

export const targetNotOurs = (ref: string): DroverError =>
  new DroverError({
    code: 'target-not-ours',
    class: 'conflict',
    message: `The machine ${ref} of the target is gone, or not the one that was made for this entry.`,
    remedy:
      'Look at the target, then cancel the entry with cleanup and retry it: its machine is made and copied anew.',
    detail: { ref },
  })

export interface ProvenBy {
  /** As {@link startsOf} knows them. */
  readonly starts: readonly Begun[]
  /** Says, right before a plug is pulled, that it may still be pulled; throws when not. */
  readonly confirm: () => Promise<void> | void
}

/**
 * Switches off what is ours and runs, and proves it: whoever starts the source after this starts the only one. A
 * machine that is off while a start of it is under way is about to run: that is waited for first.
 */
export const proveTargetOff = async (
  platform: Platform,
  call: JobCall,
  owned: OwnedBy,
  { starts, confirm }: ProvenBy,
): Promise<void> => {
  const power = portOf(platform, 'power')
  for (const machine of await ownMachines(platform, call, owned)) {
    await awaitTasks(power, call, { machine, begun: starts })
    const seen = await again(call, () => power.power(call, machine))
    if (!seen.found || seen.value.state === 'off') continue
    await confirm()
    await pullPlug(platform, { ...call, name: `${call.name}/off/${machine}` }, machine)
    const after = await again(call, () => power.power(call, machine))
    if (after.found && after.value.state !== 'off') throw stillRuns(machine)
  }
}

const pullPlug = async (platform: Platform, call: JobCall, machine: string): Promise<void> => {
  try {
    const handle = await again(call, () => portOf(platform, 'power').stop(call, machine))
    await handle.wait(call)
  } catch (error) {
    // Off by now, or gone: the next look tells.
    const passed =
      error instanceof PlatformError && (error.code === 'platform-wrong-state' || error.failure === 'absent')
    if (!passed) throw error
  }
}

const stillRuns = (machine: string): DroverError =>
  new DroverError({
    code: 'target-still-runs',
    class: 'transient',
    message: `Our copy ${machine} was stopped and still runs: the source is not started beside it.`,
    remedy: 'Nothing to do when it goes off by itself. Otherwise stop it on the target.',
    detail: { machine },
  })
