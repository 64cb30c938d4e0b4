import { expect, test } from 'vitest'
import { cpuShares } from '../support/cpu.ts'
import { addLoad, allEnded, countStates, expectWhole, largestGap, someDone } from '../support/load.ts'
import { createDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { expectAlive, startRoles } from '../support/roles.ts'

const { db, url } = await createDatabase()
const redis = await startRedis({ persistence: 'none' })
const { conductors, workers } = await startRoles({
  DATABASE_URL: url,
  REDIS_URL: redis.url,
  DROVER_SECRET_KEY: '5e'.repeat(32),
  DROVER_LEASE_MS: '5000',
})
const roles = [...conductors, ...workers]
/** Far from over by its steps alone, when the first jobs of it are done: on no machine is it too late to break something. */
const load = { jobs: 600, steps: 1, stepMs: 250, effects: 1 }

// promise: bell-lost
test('FLUSHALL under load: all work resumes, nothing is lost, no effect is repeated', async () => {
  const ids = await addLoad(db, load)
  await someDone(db, ids, 60)
  const before = await countStates(db, ids)
  expect(await redis.send('FLUSHALL')).toBe('+OK')
  const endedMs = await allEnded(db, ids)
  expect(before.succeeded, 'the load must not have been over before the flush').toBeLessThan(ids.length)
  await expectWhole(db, ids, 1)
  expectAlive(...roles)
  const gapMs = await largestGap(db, ids)
  console.info(`FLUSHALL: all done ${endedMs} ms later; no job started for ${gapMs} ms at most`)
})

// promise: bell-lost
test('FLUSHALL again and again: every bell is rung until its job is done', async () => {
  const ids = await addLoad(db, load)
  for (const done of [30, 150, 300, 450]) {
    await someDone(db, ids, done)
    await redis.send('FLUSHALL')
  }
  await allEnded(db, ids)
  await expectWhole(db, ids, 1)
  expectAlive(...roles)
})

// promise: redis-empty
test('Redis killed and restarted without persistence under load: nothing is lost, no effect is repeated', async () => {
  const ids = await addLoad(db, load)
  await someDone(db, ids, 60)
  await redis.kill()
  const { succeeded = 0 } = await countStates(db, ids)
  expect(succeeded).toBeLessThan(ids.length)
  const shares = await cpuShares(
    roles.map((role) => role.pid),
    2_000,
  )
  await redis.restart()
  const endedMs = await allEnded(db, ids)
  await expectWhole(db, ids, 1)
  expectAlive(...roles)
  const percent = shares.map((share) => `${Math.round(share * 100)} %`).join(', ')
  console.info(`Redis restarted empty: all done ${endedMs} ms later; processor while away: ${percent}`)
  expect(Math.max(...shares), 'a role that spins while Redis is away').toBeLessThan(0.5)
})
