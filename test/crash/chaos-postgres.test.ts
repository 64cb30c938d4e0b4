import { describe, expect, test } from 'vitest'
import { type Db, openDb } from '../../db/client.ts'
import { atEnd } from '../support/cleanup.ts'
import { cpuShares } from '../support/cpu.ts'
import { addLoad, allEnded, countStates, expectWhole, someDone } from '../support/load.ts'
import { startOwnPostgres } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { expectAlive, startRoles } from '../support/roles.ts'
import { until } from '../support/wait.ts'

/** A role that polls a store that is away uses a few percent; one that spins uses a whole processor. */
const spinning = 0.5
/** A handler that runs this long is in the middle when Postgres goes, and has ended long before its lease does. */
const longMs = 4_000

for (const bell of ['postgres', 'redis'] as const) {
  const postgres = await startOwnPostgres()
  const redis = bell === 'redis' ? await startRedis() : undefined
  const db = openDb({ url: postgres.url, max: 4, applicationName: 'drover-test' })
  atEnd(() => db.end({ timeout: 1 }))
  const { conductors, workers } = await startRoles({
    DATABASE_URL: postgres.url,
    ...(redis ? { REDIS_URL: redis.url } : {}),
    DROVER_SECRET_KEY: '5e'.repeat(32),
    DROVER_LEASE_MS: '20000',
  })
  const roles = [...conductors, ...workers]

  describe(`Postgres away under load, on the ${bell} bell`, () => {
    // promise: postgres-restart
    test('a restart: the roles survive, finish the work, and do not spin meanwhile', async () => {
      const ids = await addLoad(db, { jobs: 500, steps: 1, stepMs: 200, effects: 1 })
      await someDone(db, ids, 40)
      await postgres.stop()
      const shares = await cpuShares(
        roles.map((role) => role.pid),
        2_500,
      )
      await postgres.start()
      const endedMs = await allEnded(db, ids)
      await expectWhole(db, ids, 1)
      expectAlive(...roles)
      const percent = shares.map((share) => `${Math.round(share * 100)} %`).join(', ')
      console.info(`Postgres restarted: all done ${endedMs} ms later; processor while away: ${percent}`)
      expect(Math.max(...shares)).toBeLessThan(spinning)
    })

    // promise: postgres-restart
    test('kill -9 and a start: the roles survive and finish the work', async () => {
      const ids = await addLoad(db, { jobs: 500, steps: 1, stepMs: 200, effects: 1 })
      await someDone(db, ids, 40)
      await postgres.kill()
      await postgres.start()
      const endedMs = await allEnded(db, ids)
      await expectWhole(db, ids, 1)
      expectAlive(...roles)
      console.info(`Postgres killed and started: all done ${endedMs} ms later`)
    })

    test('a result that was ready while Postgres was away is recorded while the lease holds', async () => {
      const ids = await addLoad(db, { jobs: 1, steps: 1, stepMs: longMs })
      await running(db, ids)
      const seenMs = performance.now()
      await postgres.stop()
      // The handler touches no Postgres: it has ended by now, and only the word is missing.
      await until(() => performance.now() - seenMs > longMs + 500, { what: 'the handler to have ended' })
      await postgres.start()
      await allEnded(db, ids)
      await expectWhole(db, ids)
      expect(await starts(db, ids)).toBe(1)
    })

    // The bell has no part in it, and it takes a whole lease: once is enough.
    if (bell === 'postgres') return
    // promise: postgres-restart
    test('once the lease is over, a result that was ready while Postgres was away counts for the last claim alone', async () => {
      const ids = await addLoad(db, { jobs: 1, steps: 1, stepMs: longMs })
      await running(db, ids)
      const printed = workers.map((worker) => worker.lines.length)
      await postgres.stop()
      await Promise.any(
        workers.map((worker, at) =>
          worker.line('the lease is lost', { withinMs: 60_000, from: printed[at] ?? 0 }),
        ),
      )
      await postgres.start()
      await allEnded(db, ids)
      await expectWhole(db, ids)
      // A statement that was under way when the lease ended may still arrive before anybody else claims.
      expect(await endedByLastClaim(db, ids)).toBe(true)
      expectAlive(...roles)
    })
  })
}

const running = (db: Db, ids: readonly string[]) =>
  until(async () => (await countStates(db, ids)).running === ids.length, {
    what: 'the job to run',
    withinMs: 30_000,
  })

const starts = async (db: Db, ids: readonly string[]): Promise<number> => {
  const [row] = await db<{ starts: number }[]>`
    select count(*)::int as starts from event where type = 'job.running' and job_id = any(${ids as string[]}::uuid[])`
  return row?.starts ?? 0
}

const endedByLastClaim = async (db: Db, ids: readonly string[]): Promise<boolean> => {
  const [row] = await db<{ same: boolean }[]>`
    select (select actor from event where type = 'job.succeeded' and job_id = any(${ids as string[]}::uuid[]))
      = (select actor from event where type = 'job.running' and job_id = any(${ids as string[]}::uuid[])
         order by (detail ->> 'epoch')::bigint desc limit 1) as same`
  return row?.same ?? false
}
