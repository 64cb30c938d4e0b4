import { expect, test } from 'vitest'
import { fleetLeaseMs, onEachFleet } from '../support/fleet.ts'
import { expectWhole } from '../support/load.ts'

await onEachFleet('a handler that keeps a processor busy', { workers: 1 }, (fleet) => {
  test('for several leases on end keeps its lease: each job runs once', async () => {
    const ids = await fleet.add(2, { burn_ms: fleetLeaseMs * 3, effects: 1 })
    await fleet.ended(ids)
    await expectWhole(fleet.db, ids, 1)
    const claims = await fleet.db`
      select state, lease_epoch, lost from job where id = any(${ids}::uuid[]) group by 1, 2, 3`
    expect([...claims]).toEqual([{ state: 'succeeded', leaseEpoch: 1, lost: 0 }])
  })
})
