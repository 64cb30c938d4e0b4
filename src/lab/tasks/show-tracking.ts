import type { Change } from '../model/context.ts'
import { listDisks } from '../store/disks.ts'
import type { Machine } from '../store/machines.ts'
import { isInSnapshots } from './disk-attachment.ts'

/** A listing shows where tracking stood at the last change of the machine, as hypervisors do. */
export const showTracking = async (change: Pick<Change, 'tx' | 'site'>, machine: Machine): Promise<void> => {
  if (machine.traits.frozenFacts) return
  const disks = new Map(
    (await listDisks(change.tx, change.site, machine.ref)).map((disk) => [disk.key, disk]),
  )
  machine.facts = {
    ...machine.facts,
    disks: machine.facts.disks.map((facts) => {
      const disk = disks.get(facts.key)
      if (!disk) return facts
      return {
        ...facts,
        used: disk.allocated,
        change_id:
          disk.tracking === null || !isInSnapshots(machine, facts.key)
            ? null
            : `${disk.tracking}/${disk.epoch}`,
      }
    }),
  }
}
