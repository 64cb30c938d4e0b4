import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isVouchedFor } from '../../../db/queries/entries/is-vouched-for.ts'
import { isMachineOfEntry } from '../../../db/queries/entries/placing-entries.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { DroverError } from '../../errors.ts'
import { awaitTaskOf } from '../../ledger/ended-task.ts'
import { callBy, type JobContext, type Undoer } from '../../ledger/job.ts'
import { finishTask } from '../../ledger/platform-task.ts'
import { failuresInCheckpoint, makeAnew } from '../../ledger/task-record.ts'
import type { Call } from '../../platforms/ports/call.ts'
import type { NewMachine } from '../../platforms/ports/machines.ts'
import { isAbsent } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'

export const machineKind = 'target-machine'

const callMs = 120_000

const undoSchema = z.object({
  site_id: z.string(),
  entry_id: z.string(),
  owner: z.record(z.string(), z.string()),
})

export interface MachineTask {
  readonly ctx: JobContext
  readonly platform: Platform
  readonly site: SiteRow
  readonly entryId: string
  /** The machine recorded in the entry; null: none. */
  readonly known: string | null
  readonly machine: NewMachine
}

export interface MadeMachine {
  readonly ref: string
  /** The machine existed already, and the data copied to it still counts. */
  readonly kept: boolean
  readonly disks: DiskPairs
}

/** The key of the target's disk, by the key of the source's. */
export type DiskPairs = ReadonlyMap<string, string>

/**
 * Makes the machine, or adopts our existing machine: exactly one in the end. Safe to continue after a crash between
 * any two lines; after a lost answer it looks before it creates anything again.
 */
export const makeTargetMachine = async (task: MachineTask): Promise<MadeMachine> => {
  const known = task.known === null ? undefined : await fits(task, task.known)
  if (task.known !== null && known) return { ref: task.known, kept: true, disks: known }
  const { ctx, platform, site, entryId, machine } = task
  const machines = portOf(platform, 'machines')
  const ref = await finishTask(ctx, {
    part,
    kind: machineKind,
    undo: { site_id: site.id, entry_id: entryId, owner: machine.owner },
    platform: site.name,
    tasks: machines,
    turnMs: callMs,
    // The entry records it.
    record: failuresInCheckpoint(ctx, part),
    older: `machine of ${entryId}`,
    begin: async (call) => {
      if ((await ours(task)) !== undefined) return undefined
      // The look takes time.
      ctx.confirm()
      return machines.create(call, { ...machine, owner: marksOf(machine) })
    },
    made: async () => {
      const found = await ours(task)
      return found === undefined ? { found: false } : { found: true, value: found }
    },
  })
  const disks = ref === null ? undefined : await fits(task, ref)
  if (ref !== null && disks) return { ref, kept: false, disks }
  await makeAnew(ctx, part)
  throw gone(machine.machineName)
}

const part = 'target-machine'

const callOf = (ctx: Pick<JobContext, 'signal'>, name: string): Call => ({
  signal: ctx.signal,
  timeoutMs: callMs,
  name,
})

/** The one machine with our tag that fits; every other machine with our tag is removed. */
const ours = async (task: MachineTask): Promise<string | undefined> => {
  const { ctx, platform, machine } = task
  const call = callOf(ctx, `${ctx.job.id}/${ctx.job.leaseEpoch}/ours`)
  let kept: string | undefined
  for (const ref of await portOf(platform, 'machines').findOwned(call, machine.owner)) {
    if (kept === undefined && (await fits(task, ref))) kept = ref
    else await removeOwned(platform, call, { ref, owner: machine.owner, confirm: () => ctx.confirm() })
  }
  return kept
}

/** Our tags plus a digest of the request, which tells a machine that was made for another place or name. */
const marksOf = (machine: NewMachine): Readonly<Record<string, string>> => ({
  ...machine.owner,
  'drover.made-as': madeAs(machine),
})

/** The parts of a machine that never change after its creation. The rest is fitted at the cutover. */
const madeAs = ({ machineName, project, host, legacyBoot, secureBoot, disks }: NewMachine): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        ...[machineName, project, host, legacyBoot, secureBoot],
        disks.map(({ key, capacity, pool }) => [key, capacity, pool]),
      ]),
    )
    .digest('hex')

/** Whether a machine is ours, fits the current request and is off, so that it can be written to. */
const fits = async ({ ctx, platform, machine }: MachineTask, ref: string): Promise<DiskPairs | undefined> => {
  const call = callOf(ctx, 'look')
  if (!(await isOwned(platform, call, { ref, owner: marksOf(machine) }))) return undefined
  const found = await portOf(platform, 'inventory').instance(call, ref)
  if (!found.found || found.value.power_state !== 'off') return undefined
  return matchDisks(machine.disks, found.value.disks)
}

/** By key; on platforms that choose their own keys, by the order in the request. */
export const matchDisks = (
  wanted: readonly { readonly key: string; readonly capacity: number }[],
  has: readonly { readonly key: string; readonly capacity: number }[],
): DiskPairs | undefined => {
  if (wanted.length !== has.length) return undefined
  const byKey = new Map(has.map((disk) => [disk.key, disk]))
  const known = wanted.every(({ key }) => byKey.has(key))
  const pairs = wanted.map((disk, index) => ({ disk, found: known ? byKey.get(disk.key) : has[index] }))
  if (pairs.some(({ disk, found }) => found?.capacity !== disk.capacity)) return undefined
  return new Map(pairs.map(({ disk, found }) => [disk.key, found?.key ?? disk.key]))
}

interface Owned {
  readonly ref: string
  readonly owner: Readonly<Record<string, string>>
}

const isOwned = async (platform: Platform, call: Call, { ref, owner }: Owned): Promise<boolean> => {
  const found = await portOf(platform, 'machines').owner(call, ref)
  return found.found && Object.entries(owner).every(([key, value]) => found.value[key] === value)
}

/** Removes a machine that is ours beyond doubt. A machine that is not ours, or not there, stays as it is. */
export const removeOwned = async (
  platform: Platform,
  call: Call,
  owned: Owned & {
    /** Throws when this process may no longer change the machine: looks take time. */
    readonly confirm: () => void
  },
): Promise<void> => {
  if (!(await isOwned(platform, call, owned))) return
  const named = (step: string) => ({ ...call, name: `${call.name}/${step}/${owned.ref}` })
  try {
    const power = await portOf(platform, 'power').power(call, owned.ref)
    if (power.found && power.value.state !== 'off') {
      owned.confirm()
      const stopping = await portOf(platform, 'power').stop(named('stop'), owned.ref)
      await stopping.wait(call)
    }
    owned.confirm()
    const removal = await portOf(platform, 'machines').destroy(named('destroy'), owned.ref)
    await removal.wait(call)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
}

/** By recorded ref and tag, never by name. */
export const undoTargetMachine: Undoer = async (undoing) => {
  const { effect, db, confirm, usePlatform } = undoing
  const undo = undoSchema.parse(effect.undo)
  const site = await loadSiteById(db, undo.site_id)
  if (!site) return
  // A debt may be retried long after: by then the machine may be the verified one, and its entry gone.
  if (await isVouchedFor(db, undo.entry_id)) return
  await usePlatform(site, async (platform) => {
    const call = callBy(undoing, `${effect.id}/undo/${effect.attempts}`, callMs)
    // A creation that is still under way would bring its machine after the look.
    await awaitTaskOf(portOf(platform, 'machines'), call, { effect })
    for (const ref of await portOf(platform, 'machines').findOwned(call, undo.owner)) {
      if (await isMachineOfEntry(db, { entryId: undo.entry_id, ref })) continue
      await removeOwned(platform, call, { ref, owner: undo.owner, confirm })
    }
  })
}

const gone = (name: string): DroverError =>
  new DroverError({
    code: 'target-machine-lost',
    class: 'transient',
    message: `The machine "${name}" that was made on the target is not what was asked for, or not there any more.`,
    remedy: 'It is made again. If this repeats, look who else changes machines of that name on the target.',
  })
