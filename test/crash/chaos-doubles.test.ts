import { expect, test } from 'vitest'
import { openDb } from '../../db/client.ts'
import { systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config/config.ts'
import { openBell } from '../../src/ledger/bell/bell.ts'
import { Relay } from '../../src/ledger/bell/relay.ts'
import { Conductor } from '../../src/ledger/conductor/conductor.ts'
import { onEachBell, type TestBell } from '../support/bells.ts'
import { atEnd } from '../support/cleanup.ts'
import { quietLog } from '../support/events.ts'
import { addLoad, allEnded, expectWhole, someDone } from '../support/load.ts'
import { createDatabase } from '../support/postgres.ts'
import { expectAlive, startWorker } from '../support/roles.ts'
import { until } from '../support/wait.ts'

const leaseMs = 5_000

/** A pool and a bell of its own, as another process would have. */
const ownParts = async (bell: TestBell) => {
  const db = openDb({ url: bell.database.url, max: 6, applicationName: 'drover-test-double' })
  const parts = await openBell(readConfig(bell.env), { databaseUrl: bell.database.url, log: quietLog })
  await parts.prepare()
  atEnd(async () => {
    await parts.close()
    await db.end({ timeout: 5 })
  })
  return { db, bell: parts, clock: systemClock, log: quietLog }
}

/** How often each job was claimed; a job that ran once per generation was claimed once. */
const claimedTwice = (bell: TestBell) =>
  bell.database.db`
    select job_id, count(*)::int as claims from event where type = 'job.running' group by job_id having count(*) > 1`

await onEachBell('two at once are harmless', (bell) => {
  const env = { ...bell.env, DROVER_LEASE_MS: String(leaseMs) }

  // promise: two-leaders
  test('two relays: each job runs once per generation', async () => {
    const { db } = bell.database
    // No lease is to end here: a worker that stood still for a moment has claimed nothing twice.
    const silentMs = 30_000
    const worker = await startWorker({ ...env, DROVER_LEASE_MS: String(silentMs) })
    const relays = await Promise.all(
      [1, 2].map(async () => new Relay({ ...(await ownParts(bell)), silentMs })),
    )
    for (const relay of relays) relay.start()
    atEnd(() => Promise.all(relays.map((relay) => relay.stop())))
    const ids = await addLoad(db, { jobs: 600, steps: 1, stepMs: 10, effects: 1 })
    await allEnded(db, ids)
    await expectWhole(db, ids, 1)
    expect(await claimedTwice(bell)).toEqual([])
    expectAlive(worker)
    expect((await worker.stop()).code).toBe(0)
  })

  // promise: two-leaders
  test('two leading conductors: each job runs once per generation, also those of a worker that vanished', async () => {
    const { db } = bell.database
    // The lock of leadership belongs to a database: with one each, both lead.
    const conductors = await Promise.all(
      [1, 2].map(async () => {
        const apart = await createDatabase()
        return new Conductor({ ...(await ownParts(bell)), databaseUrl: apart.url, leaseMs })
      }),
    )
    for (const conductor of conductors) conductor.start()
    atEnd(() => Promise.all(conductors.map((conductor) => conductor.stop())))
    await until(() => conductors.every((conductor) => conductor.leading), { what: 'both to lead' })
    const [lost, worker] = await Promise.all([startWorker(env), startWorker(env)])
    const ids = await addLoad(db, { jobs: 400, steps: 2, stepMs: 50, effects: 1 })
    await someDone(db, ids, 60)
    await lost.crash()
    await allEnded(db, ids)
    await expectWhole(db, ids, 1)
    const unexplained = await db`
      select job_id from event where job_id = any(${ids}::uuid[]) group by job_id
      having count(*) filter (where type = 'job.running') <> 1 + count(*) filter (where type = 'job.lost')`
    expect(unexplained, 'claims that no lost lease explains').toEqual([])
    expectAlive(worker)
    expect((await worker.stop()).code).toBe(0)
  })
})
