import { describe, expect, test } from 'vitest'
import { addLoad, allEnded, expectWhole, someDone } from '../support/load.ts'
import { createDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { expectAlive, startConductor, startWorker } from '../support/roles.ts'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/wait.ts'

const leaseMs = 4_000
/**
 * A call that the network held back for longer than the lease comes after the new owner's. No fence of ours
 * reaches it any more; that its name is the same on every try makes it a second knock and no second effect.
 */
const lateCall = /^world: .* was made again while it was there$/

for (const bell of ['postgres', 'redis'] as const) {
  const { db, url } = await createDatabase()
  const redis = bell === 'redis' ? await startRedis() : undefined
  const direct = {
    DATABASE_URL: url,
    ...(redis ? { REDIS_URL: redis.url } : {}),
    DROVER_SECRET_KEY: '5e'.repeat(32),
    DROVER_LEASE_MS: String(leaseMs),
    DROVER_STATEMENT_MS: '2000',
  }

  /** The same stores over paths that can be broken. */
  const overProxies = async () => {
    const toPostgres = await startProxy({ targetPort: Number(new URL(url).port) })
    const toRedis = redis ? await startProxy({ targetPort: redis.port }) : undefined
    const proxies: TcpProxy[] = [toPostgres, ...(toRedis ? [toRedis] : [])]
    const env = {
      ...direct,
      DATABASE_URL: withPort(url, toPostgres.port),
      ...(toRedis ? { REDIS_URL: `redis://127.0.0.1:${toRedis.port}` } : {}),
    }
    return { env, each: (act: (proxy: TcpProxy) => void) => proxies.forEach(act) }
  }

  /** How many jobs run in that process, with their effects made. */
  const heldBy = async (pid: number): Promise<number> => {
    const rows = await db`
      select from job j join worker w on w.id = j.worker_id
      where w.pid = ${pid} and j.state = 'running' and (j.checkpoint->>'effects')::int = 1`
    return rows.length
  }

  const ended = async (role: { stop(withinMs?: number): Promise<{ code: number | null }> }) =>
    expect((await role.stop(40_000)).code).toBe(0)

  describe(`half-open connections, on the ${bell} bell`, () => {
    // promise: half-open
    test('a worker that was cut off stops its handlers by itself, and works again when healed', async () => {
      const path = await overProxies()
      const [conductor, cutOff, other] = await Promise.all([
        startConductor(direct),
        startWorker(path.env),
        startWorker(direct),
      ])
      // Longer than a lease: every handler that it holds is in the middle when the lease ends.
      const ids = await addLoad(db, { jobs: 40, steps: 60, stepMs: 100, effects: 1 })
      await until(async () => (await heldBy(cutOff.pid)) >= 8, {
        what: 'the worker to have its hands full',
        withinMs: 60_000,
      })
      path.each((proxy) => proxy.blackhole())
      await cutOff.line('the lease is lost')
      await allEnded(db, ids)
      path.each((proxy) => proxy.heal())
      await expectWhole(db, ids, 1, lateCall)
      await ended(other)
      const more = await addLoad(db, { jobs: 40, steps: 1, stepMs: 20, effects: 1 })
      const againMs = await allEnded(db, more).catch((error: Error) => {
        throw new Error(`${error.message} It said last:\n${cutOff.lines.slice(-20).join('\n')}`)
      })
      await expectWhole(db, more, 1, lateCall)
      expectAlive(conductor, cutOff)
      console.info(`healed: the worker that was cut off did new work within ${againMs} ms`)
      await Promise.all([ended(cutOff), ended(conductor)])
    })

    // promise: half-open
    test('connections that a firewall forgot are given up, and the work goes on over new ones', async () => {
      const path = await overProxies()
      const [conductor, worker] = await Promise.all([startConductor(path.env), startWorker(path.env)])
      const ids = await addLoad(db, { jobs: 200, steps: 1, stepMs: 250, effects: 1 })
      await someDone(db, ids, 40)
      path.each((proxy) => proxy.strand())
      const endedMs = await allEnded(db, ids)
      await expectWhole(db, ids, 1, lateCall)
      expectAlive(conductor, worker)
      console.info(`forgotten connections: all done ${endedMs} ms later`)
      await Promise.all([ended(worker), ended(conductor)])
    })

    // Leadership is Postgres' alone: once is enough.
    if (bell === 'postgres') return
    // promise: half-open
    test('a leading conductor that was cut off is replaced, and does no harm when it comes back', async () => {
      const path = await overProxies()
      const cutOff = await startConductor(path.env)
      await cutOff.line('this conductor leads', { withinMs: 60_000 })
      const [standby, worker] = await Promise.all([startConductor(direct), startWorker(direct)])
      const ids = await addLoad(db, { jobs: 300, steps: 1, stepMs: 250, effects: 1 })
      await someDone(db, ids, 30)
      path.each((proxy) => proxy.blackhole())
      await standby.line('this conductor leads', { withinMs: 60_000 })
      await allEnded(db, ids)
      path.each((proxy) => proxy.heal())
      const more = await addLoad(db, { jobs: 40, effects: 1 })
      await allEnded(db, more)
      await until(async () => (await db`select 1 from job where state <> 'succeeded'`).length === 0, {
        what: 'nothing to be left',
      })
      await expectWhole(db, [...ids, ...more], 1, lateCall)
      expectAlive(cutOff, standby, worker)
      await Promise.all([ended(worker), ended(standby), ended(cutOff)])
    })
  })
}

function withPort(url: string, port: number): string {
  const changed = new URL(url)
  changed.hostname = '127.0.0.1'
  changed.port = String(port)
  return changed.href
}
