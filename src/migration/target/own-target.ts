import type { Queryable } from '../../../db/client.ts'
import { listEntryEffects } from '../../../db/queries/effects/entry-effects.ts'
import { DroverError } from '../../errors.ts'
import { awaitTasks, type Begun, begunBy } from '../../ledger/ended-task.ts'
import type { JobCall } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'

/** The tag that marks our machines: the id of the entry. */
export const entryTag = 'drover.entry'

/** Effects of this kind are starts of targets that no certificate covers yet. */
export const targetStartKind = 'target-start'

/** Every requested start of an entry's target: some may still be under way. */
export const startsOf = async (db: Queryable, entryId: string): Promise<Begun[]> =>
  (await listEntryEffects(db, { entryId, kind: targetStartKind })).map(begunBy)

export interface OwnedBy {
  readonly entryId: string
  /** As recorded; null: the answer of the creation was lost. */
  readonly machineRef: string | null
}

/**
 * The machines of an entry on its target: the recorded machine if it carries our tag, and any other machine with our
 * tag. A foreign machine with the same ref or name is never among them. A failed look throws.
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

/** Whether the recorded machine exists and carries our tag. */
export const isOwn = async (platform: Platform, call: JobCall, owned: OwnedBy): Promise<boolean> => {
  const { entryId, machineRef } = owned
  if (machineRef === null) return false
  const owner = await again(call, () => portOf(platform, 'machines').owner(call, machineRef))
  return owner.found && owner.value[entryTag] === entryId
}

/** Throws a conflict for a person unless the recorded machine exists and is ours. */
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
  /** From {@link startsOf}. */
  readonly starts: readonly Begun[]
  /** Called right before a power-off; throws when the lease is lost. */
  readonly confirm: () => Promise<void> | void
}

/**
 * Switches off our running machines and proves it, so that a source started afterwards is the only running copy. For a
 * machine that is off while one of its starts is under way, waits for the start first.
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
