import { expect, test } from 'vitest'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { systemClock } from '../../../src/clock.ts'
import { hearConnections } from '../../../src/inventory/connection/hear-connections.ts'
import { tickSites } from '../../../src/inventory/sync/ticks.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { portOf } from '../../../src/platforms/ports/ports.ts'
import { Platforms } from '../../../workers/platforms.ts'
import { atEnd } from '../../support/cleanup.ts'
import { quietLog, testSealer } from '../../support/events.ts'
import {
  createInventoryWorker,
  eventsOf,
  makeSite,
  moveSite,
  siteOf,
  warningsOf,
} from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'
import { startProxy } from '../../support/tcp-proxy.ts'
import { freePort } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const lab = await createLab()

const password = lab.password

/** A site that is well by the last word. */
const setUp = async (name: string, port: number) => {
  const endpoint = `http://127.0.0.1:${port}/sites/vcenter`
  return setUpAgain(await makeSite(db, { name, endpoint, password, connectivity: 'ok', quiet: true }))
}

/** A worker's platforms that hear what is said on the way to a site. */
const setUpAgain = (site: SiteRow) => {
  const { name } = site
  const watch = hearConnections({ db, clock: systemClock, log: quietLog, quietMs: 0 })
  const platforms = new Platforms({ sealer: testSealer, caller: 'drover/test', watch })
  atEnd(() => platforms.close())
  const call = () => ({ signal: AbortSignal.timeout(20_000), timeoutMs: 20_000, name: 'look' })
  return {
    look: async () =>
      platforms
        .use(site, (platform) => portOf(platform, 'power').power(call(), 'vm-101'))
        .catch((error: unknown) => error),
    is: async () => (await siteOf(db, name)).connectivity,
    isDue: async () => {
      const [row] = await db<
        { due: boolean }[]
        // Moments are stored rounded to the millisecond: one of now may lie ahead.
      >`select next_check_at <= now() + interval '1 millisecond' as due from site where name = ${name}`
      return row?.due
    },
    notDue: () =>
      db`update site set next_check_at = now() + interval '1 day', checked_at = null where name = ${name}`,
  }
}

const changes = async (name: string) =>
  (await eventsOf(db, name)).filter((type) => type === 'source.connectivity-changed')

// promise: wait-names-platform
test('a refused connection that any job meets marks its platform at once, tells of it, and has it looked at', async () => {
  const { look, is, isDue } = await setUp('refuses', await freePort())
  expect(await look()).toMatchObject({ code: 'platform-unreachable', failure: 'refused' })
  await until(async () => (await is()) === 'cannot-connect', { what: 'the mark' })
  expect(await siteOf(db, 'refuses')).toMatchObject({
    connectivityError: { code: 'platform-unreachable', message: expect.stringContaining('ECONNREFUSED') },
  })
  expect(await changes('refuses')).toHaveLength(1)
  expect((await warningsOf(db, 'refuses')).map(({ type }) => type)).toEqual(['connection-failed'])
  await until(async () => (await isDue()) === true, { what: 'the look at it to be due' })
  const jobs = () => db`select 1 from job where kind = 'check-connection' and subject_id = 'refuses'`
  await until(
    async () => {
      await tickSites({ db })
      return (await jobs()).length > 0
    },
    { what: 'the look at it' },
  )
  expect(await jobs()).toHaveLength(1)
  // What goes on failing says nothing new, and has nothing looked at once more.
  await look()
  await look()
  expect([await changes('refuses'), await isDue()]).toEqual([['source.connectivity-changed'], false])
})

test('a password that does not open marks its site at once, and is looked at again within seconds: nothing is sent', async () => {
  const { look, is } = await setUp('changed', Number(new URL(lab.url).port))
  await db`update site set secret = ${Buffer.from('nothing that was sealed')} where name = 'changed'`
  expect(await look()).toMatchObject({ found: true })
  const { look: lookAnew } = setUpAgain(await siteOf(db, 'changed'))
  expect(await lookAnew()).toMatchObject({
    code: 'site-seal-broken',
    class: 'environment',
    cameToNothing: true,
  })
  await until(async () => (await is()) === 'authentication-error', { what: 'the mark' })
  const { connectivityError, nextCheckAt } = await siteOf(db, 'changed')
  expect(connectivityError).toMatchObject({
    code: 'site-seal-broken',
    remedy: expect.stringContaining('drover sources set changed --password'),
  })
  await createInventoryWorker(db, openLab).run('check-connection', { role: 'source', name: 'changed' })
  expect((await siteOf(db, 'changed')).nextCheckAt.getTime() - Date.now()).toBeLessThan(20_000)
  expect(nextCheckAt.getTime()).toBeLessThan(Date.now() + 20_000)
})

test('a connection that broke off has its platform looked at, and is not taken for its absence', async () => {
  const proxy = await startProxy({ targetPort: Number(new URL(lab.url).port) })
  const { look, is, isDue } = await setUp('breaks', proxy.port)
  expect(await look()).toMatchObject({ found: true })
  expect(await isDue()).toBe(false)
  proxy.cut()
  expect(await look()).toMatchObject({ code: expect.stringMatching(/^platform-/) })
  await until(isDue, { what: 'the look at it' })
  expect(await is()).toBe('ok')
})

// promise: wait-names-platform
test('the first answer of a platform that was marked away has it looked at, and that look finds it well', async () => {
  const port = await freePort()
  const { look, is, isDue, notDue } = await setUp('comes-back', port)
  await look()
  await until(async () => (await is()) === 'cannot-connect', { what: 'the mark' })
  await notDue()
  const again = await createLab({ port })
  await moveSite(db, { name: 'comes-back' }, { password: again.password })
  await look()
  await until(isDue, { what: 'the look at it' })
  await createInventoryWorker(db, openLab).run('check-connection', { role: 'source', name: 'comes-back' })
  expect(await is()).toBe('ok')
})

test('a platform that does not answer is looked at again within seconds, whatever its usual interval is', async () => {
  await setUp('often', await freePort())
  const worker = createInventoryWorker(db, openLab)
  await worker.run('check-connection', { role: 'source', name: 'often' })
  const [row] = await db<{ seconds: number; connectivity: string }[]>`
    select connectivity, extract(epoch from next_check_at - now())::float8 as seconds from site where name = 'often'`
  expect(row?.connectivity).toBe('cannot-connect')
  expect(row?.seconds).toBeLessThan(20)
})
