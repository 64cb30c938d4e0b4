import { countMachineDebts, replaceEntryDisks } from '../../../db/queries/entries/placing-entries.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { isCopied } from '../../domain/inventory/copy-way.ts'
import type { Placement } from '../../domain/migration/place/placement.ts'
import { actorOf, type DomainChange } from '../../ledger/job.ts'
import type { NewMachine } from '../../platforms/ports/machines.ts'
import { moveEntry } from '../entry/apply-entry.ts'
import { type EntryWork, leaveEntryWork } from '../entry/entry-work.ts'
import { ownerOfEntry } from '../target/ownership.ts'
import { type MadeMachine, machineKind, makeTargetMachine } from '../target/target-machine.ts'
import { nicsOf } from './place.ts'

/** The machine as the copy needs it. Settings that matter only when the machine runs are fitted at the cutover. */
export const newMachineOf = async (
  { ctx, entry, facts, batch }: EntryWork,
  placement: Placement,
  hostRef: string,
): Promise<NewMachine> => ({
  machineName: facts.target_name,
  project: placement.project,
  host: hostRef,
  folder: '',
  cpus: facts.cpus,
  memory: facts.memory,
  uuid: facts.uuid || entry.id,
  legacyBoot: facts.legacy_boot,
  secureBoot: facts.secure_boot,
  nics: nicsOf(placement, facts, batch.defaults.migration_network, entry.id).nics,
  disks: facts.disks.filter(isCopied).map(({ key, capacity }) => ({
    key,
    capacity,
    pool: (Object.hasOwn(placement.pools, key) ? placement.pools[key] : undefined) ?? '',
  })),
  owner: await ownerOfEntry(ctx.db, entry.id),
})

/** Whether a machine of an earlier job is still to be removed: until then it must not be adopted. */
export const hasMachineDebts = async ({ ctx, entry }: EntryWork): Promise<boolean> =>
  (await countMachineDebts(ctx.db, {
    entryId: entry.id,
    effectKind: machineKind,
    jobId: ctx.job.id,
  })) > 0

/** Makes the machine of a placed entry on its target. */
export const makeMachine = (
  entryWork: EntryWork,
  on: { readonly site: SiteRow; readonly machine: NewMachine },
): Promise<MadeMachine> => {
  const { ctx, entry } = entryWork
  return ctx.usePlatform(on.site, (platform) =>
    makeTargetMachine({
      ctx,
      platform,
      site: on.site,
      entryId: entry.id,
      known: entry.targetId === on.site.id ? entry.machineRef : null,
      machine: on.machine,
    }),
  )
}

/** Records the ref and the disks of the machine; the copy can begin. */
export const recordMachine = (entryWork: EntryWork, made: MadeMachine, site: SiteRow): DomainChange =>
  leaveEntryWork(entryWork, async (tx, entry) => {
    const { ctx, batch, facts } = entryWork
    if (!made.kept) await replaceEntryDisks(tx, entry.id, disksOf(facts.disks, made))
    await moveEntry(tx, batch.row, entry, {
      event: 'created',
      reason: { code: 'created', message: `Its machine is ${made.ref} on ${site.name}.` },
      by: actorOf(ctx),
      change: {
        machineRef: made.ref,
        targetId: site.id,
        reasons: [],
        error: null,
        ...(made.kept ? {} : { syncedAt: null }),
      },
    })
  })

const disksOf = (disks: EntryWork['facts']['disks'], made: MadeMachine) =>
  disks
    .filter(isCopied)
    .map(({ key, capacity }) => ({ disk: key, targetDisk: made.disks.get(key) ?? key, capacity }))
