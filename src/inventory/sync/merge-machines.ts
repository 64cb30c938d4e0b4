import type { Tx } from '../../../db/client.ts'
import { analyzeMachines } from '../../../db/queries/instances/analyze-inventory.ts'
import { clearStaleStates } from '../../../db/queries/machines/clear-stale-states.ts'
import {
  loseSight,
  type MachineMerge,
  mergeMachinePage,
  vanishMachines,
} from '../../../db/queries/sync/merge-machines.ts'
import type { Reading } from './merge-stage.ts'

/** Bounds the time of a statement, however many machines there are. */
const pageSize = 5_000

/** Makes the staged machines of a target its machines; the caller has locked the target. */
export const mergeMachines = async (tx: Tx, at: MachineMerge, reading: Reading) => {
  const total = { appeared: 0, changed: 0, returned: 0 }
  for (let after = ''; ; ) {
    const { last, ...counts } = await mergeMachinePage(tx, at, { after, limit: pageSize })
    total.appeared += counts.appeared
    total.changed += counts.changed
    total.returned += counts.returned
    if (last === undefined) break
    await clearStaleStates(tx, { targetId: at.siteId, after, last }, at.jobId)
    after = last
  }
  await analyzeMachines(tx, total.appeared)
  const lost = await loseSight(tx, at)
  const vanished = reading === 'part' ? 0 : await vanishMachines(tx, at, reading === 'full')
  return { ...total, changed: total.changed + lost, vanished, pending: 0 }
}
