import { expect, test } from 'vitest'
import { dropBellSchema } from '../support/bells.ts'
import { addLoad, allEnded, countStates, expectWhole, largestGap, someDone } from '../support/load.ts'
import { createDatabase } from '../support/postgres.ts'
import { expectAlive, startRoles } from '../support/roles.ts'
import { migrateAsOwner } from '../support/shared-postgres.ts'

const { db, url } = await createDatabase()
const { conductors, workers } = await startRoles({
  DATABASE_URL: url,
  DROVER_SECRET_KEY: '5e'.repeat(32),
  DROVER_LEASE_MS: '5000',
})

/** Far from over by its steps alone, when the first jobs of it are done: on no machine is it too late to break something. */
const load = { steps: 1, stepMs: 250, effects: 1 }

// promise: bell-lost
test("dropping the bell's schema in Postgres under load: nothing is lost, no effect is repeated", async () => {
  const ids = await addLoad(db, { jobs: 600, ...load })
  await someDone(db, ids, 60)
  await dropBellSchema(db)
  // A role may not make a schema: the owner does, and the fleet goes on by itself. Not before a worker has listened
  // anew to a store that is not there: it must neither stay deaf nor keep its process from everything else.
  await Promise.any(workers.map((worker) => worker.line('the listener is built anew', { withinMs: 60_000 })))
  await migrateAsOwner(url)
  const { succeeded = 0 } = await countStates(db, ids)
  expect(succeeded).toBeLessThan(ids.length)
  const endedMs = await allEnded(db, ids)
  await expectWhole(db, ids, 1)
  expectAlive(...conductors, ...workers)
  const gapMs = await largestGap(db, ids)
  console.info(`schema dropped: all done ${endedMs} ms later; no job started for ${gapMs} ms at most`)
})

// promise: bell-lost
test('a truncated bell store: what stood in line is rung again', async () => {
  const ids = await addLoad(db, { jobs: 400, ...load })
  await someDone(db, ids, 40)
  await db`truncate bullmq.job cascade`
  await allEnded(db, ids)
  await expectWhole(db, ids, 1)
  expectAlive(...conductors, ...workers)
})
