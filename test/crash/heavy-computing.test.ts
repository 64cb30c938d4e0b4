import { expect, test } from 'vitest'
import { onEachFleet } from '../support/fleet.ts'
import { expectWhole } from '../support/load.ts'

/** What is proved is that heartbeats come through; not that a crowded machine gives us a turn within a second. */
const leaseMs = 4_000

await onEachFleet(
  'a handler that keeps a processor busy',
  { workers: 1, leaseMs, anyBell: true },
  (fleet) => {
    // promise: heavy-computing
    test('for several leases on end keeps its lease: each job runs once', async () => {
      const ids = await fleet.add(2, { burn_ms: leaseMs * 2.5, effects: 1 })
      await fleet.ended(ids)
      await expectWhole(fleet.db, ids, 1)
      const claims = await fleet.db`
      select state, lease_epoch, lost from job where id = any(${ids}::uuid[]) group by 1, 2, 3`
      expect([...claims]).toEqual([{ state: 'succeeded', leaseEpoch: 1, lost: 0 }])
    })
  },
)
