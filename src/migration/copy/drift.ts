import type { InstanceFacts, SnapshotFacts } from '../../domain/inventory/facts.ts'
import { anyDiskChange, type DiskChanges, diskChanges } from '../../domain/inventory/tracking.ts'
import { DroverError } from '../../errors.ts'

/** A foreign change of the source during the copy that the copy survives. */
export interface DriftNote {
  readonly code: 'snapshot-added' | 'snapshot-removed' | 'host-changed' | 'tracking-reset'
  readonly message: string
}

export type Drift =
  | { readonly is: 'noted'; readonly notes: readonly DriftNote[] }
  /** The machine is another one. */
  | { readonly is: 'identity'; readonly message: string }
  /** The disks are not those that were planned. */
  | { readonly is: 'disks'; readonly changes: DiskChanges }

/** Compares a source with its record. Snapshots with our names are not foreign. */
export const findDrift = (
  before: InstanceFacts,
  now: InstanceFacts,
  known: { readonly isOurs: (name: string) => boolean; readonly reset: readonly string[] },
): Drift => {
  if (now.uuid !== before.uuid)
    return {
      is: 'identity',
      message: `The UUID of the source changed from ${before.uuid || 'none'} to ${now.uuid || 'none'}: it may be another machine.`,
    }
  const changes = diskChanges(before.disks, now.disks)
  if (anyDiskChange(changes)) return { is: 'disks', changes }
  const foreign = ({ snapshots }: InstanceFacts) => snapshots.filter(({ name }) => !known.isOurs(name))
  const without = (some: readonly SnapshotFacts[], others: readonly SnapshotFacts[]) =>
    some.filter(({ ref }) => !others.some((other) => other.ref === ref)).map(({ name }) => name)
  const added = without(foreign(now), foreign(before))
  const removed = without(foreign(before), foreign(now))
  return {
    is: 'noted',
    notes: [
      ...added.map((name) => note('snapshot-added', `Somebody took the snapshot "${name}".`)),
      ...removed.map((name) => note('snapshot-removed', `Somebody removed the snapshot "${name}".`)),
      ...(now.host !== before.host
        ? [note('host-changed', `It moved from host ${before.host} to ${now.host}.`)]
        : []),
      ...known.reset.map((disk) =>
        note('tracking-reset', `The tracking of disk ${disk} was begun anew, so all of it was copied.`),
      ),
      ...(before.background_import && !now.background_import
        ? [note('tracking-reset', 'Its changes are not tracked any more: the next copy is a full one.')]
        : []),
    ],
  }
}

const note = (code: DriftNote['code'], message: string): DriftNote => ({ code, message })

export const sourceDrifted = (changes: DiskChanges): DroverError => {
  const told = Object.entries(changes)
    .filter(([, keys]) => keys.length > 0)
    .map(([what, keys]: [string, readonly string[]]) => `${what}: ${keys.join(', ')}`)
  return new DroverError({
    code: 'source-drifted',
    class: 'conflict',
    message: `The disks of the source changed while they were copied (${told.join('; ')}).`,
    remedy:
      'Sync the source, then retry the entry: it is judged and placed again with the disks as they are.',
    detail: { ...changes },
  })
}
