import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { mergeInstance } from '../../domain/inventory/merge.ts'
import { cleanInstance } from '../../domain/inventory/normalise.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { type CopyTask, callOf, sourceOf } from './copy-task.ts'
import { type DriftNote, findDrift, sourceDrifted } from './drift.ts'
import { snapshotPrefix, sourceGone } from './source-snapshot.ts'

export type Guarded =
  | { readonly is: 'same'; readonly notes: readonly DriftNote[] }
  | { readonly is: 'identity'; readonly message: string }

/** Reads the source again and names what others have changed. Throws when its disks are not those of the record. */
export const guardDrift = async (task: CopyTask, reset: readonly string[]): Promise<Guarded> => {
  const { entry, facts } = task.entryWork
  const prefix = snapshotPrefix(entry.id)
  const drift = findDrift(facts, await readSource(task), {
    isOurs: (name) => name.startsWith(prefix),
    reset,
  })
  if (drift.is === 'disks') throw sourceDrifted(drift.changes)
  return drift.is === 'identity' ? drift : { is: 'same', notes: drift.notes }
}

/** The source as it is now; a failed look throws. */
const readSource = async (task: CopyTask): Promise<InstanceFacts> => {
  const { platform, name, ref } = sourceOf(task)
  const call = callOf(task, `look-${task.entryWork.ctx.job.id}`)
  const found = await again(call, () => portOf(platform, 'inventory').instance(call, ref), {
    of: name,
  })
  if (!found.found) throw sourceGone(ref)
  // As in a sync, an empty value keeps the known one.
  return mergeInstance(task.entryWork.facts, cleanInstance(found.value).facts)
}
