import type { DiskFacts } from '../../domain/inventory/facts.ts'
import { refuse, wrongState } from '../model/refusal.ts'
import type { Machine } from '../store/machines.ts'

/**
 * How a disk is attached, by what its machine's facts say of it: `held` by snapshots; `apart` from them, so that its bytes
 * can be read while the machine is off alone; `outside`: a device of which the site has no bytes.
 */
type Attachment = 'held' | 'apart' | 'outside'

/** Facts that are lies tell the lab nothing. */
const factsOf = (machine: Machine, key: string): DiskFacts | undefined =>
  machine.traits.frozenFacts ? undefined : machine.facts.disks.find((disk) => disk.key === key)

const attachmentOf = (machine: Machine, key: string): Attachment => {
  const disk = factsOf(machine, key)
  if (!disk) return 'held'
  if (disk.backing !== 'file' && disk.backing !== 'volume') return 'outside'
  return disk.mode === 'dependent' && !disk.shared ? 'held' : 'apart'
}

/** Whether a snapshot of the machine holds the disk, and its changes are tracked. */
export const isInSnapshots = (machine: Machine, key: string): boolean => attachmentOf(machine, key) === 'held'

/** Throws where the bytes of a disk cannot be had now: as hypervisors do, which lock what no snapshot freezes. */
export const checkReadable = (machine: Machine, key: string, snapshot: string): void => {
  const attachment = attachmentOf(machine, key)
  if (attachment === 'outside')
    throw refuse(
      'platform-refused',
      `Disk "${key}" of "${machine.name}" is a device of which this site has no bytes.`,
      'Detach it, or move its content to a virtual disk.',
    )
  if (attachment === 'apart' && snapshot === '' && machine.power !== 'off')
    throw wrongState(
      `"${machine.name}" is ${machine.power}: its disk "${key}", which no snapshot holds, can be read only while it is off.`,
    )
}
