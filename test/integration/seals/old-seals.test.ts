import { expect, test } from 'vitest'
import { openDb } from '../../../db/client.ts'
import { beatWorker, stopWorker } from '../../../db/queries/fleet/workers.ts'
import { systemClock } from '../../../src/clock.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { checkKey, enterKey } from '../../../src/sealing/key-check.ts'
import { prepareSeals } from '../../../src/sealing/prepare-seals.ts'
import { upgradeSeals } from '../../../src/sealing/upgrade.ts'
import { atEnd } from '../../support/cleanup.ts'
import { formerSeal } from '../../support/former-seal.ts'
import { loginUrl } from '../../support/logins.ts'
import { createDatabase } from '../../support/postgres.ts'
import {
  hookSecret,
  hookUrl,
  makeFormer,
  openWorld,
  password,
  sealWorld,
} from '../../support/sealed-world.ts'

const hexKey = '0a'.repeat(32)
const sealer = createSealer(hexKey)

const setUp = async (silentMs = 60_000) => {
  const { db, url } = await createDatabase()
  await sealWorld(db, hexKey)
  await makeFormer(db, hexKey)
  const upgrade = (keys: readonly string[] = [hexKey]) =>
    upgradeSeals({ db, sealer: createSealer(keys[0] ?? ''), hexKeys: keys, clock: systemClock, silentMs })
  return { db, url, upgrade }
}

test('who upgrades is told once that there is no way back to an earlier version', async () => {
  const { db, url } = await createDatabase()
  const said: string[] = []
  const prepare = () =>
    prepareSeals(url, { secretKey: hexKey, oldSecretKeys: [], leaseMs: 1_000 }, (text) => said.push(text))
  await prepare()
  expect(said).toEqual([])
  await sealWorld(db, hexKey)
  await makeFormer(db, hexKey)
  await prepare()
  expect(said.join(' ')).toContain('Do not start an earlier version')
  said.length = 0
  await prepare()
  expect(said).toEqual([])
})

test('what the version before sealed is sealed anew for its place, and no URL stays in clear', async () => {
  const { db, upgrade } = await setUp()
  await expect(checkKey(db, sealer)).rejects.toMatchObject({
    code: 'seals-outdated',
    remedy: expect.stringContaining('drover migrate'),
  })
  expect(await upgrade()).toEqual([])
  expect(await openWorld(db, sealer)).toMatchObject({
    ...{ password, url: hookUrl, origin: new URL(hookUrl).origin, secret: hookSecret },
  })
  await checkKey(db, sealer)
  const rows = await db<{ row: string }[]>`
    select row_to_json(w)::text as row from webhook w union all select row_to_json(e)::text from event e
    union all select row_to_json(s)::text from site s`
  expect(rows.map(({ row }) => row).join()).not.toContain('hidden')
  expect(await upgrade()).toEqual([])
})

test('an old seal out of a backup opens nowhere after the upgrade, and no later upgrade seals it anew', async () => {
  const { db, upgrade } = await setUp()
  await upgrade()
  const old = formerSeal(hexKey, JSON.stringify({ password }))
  await db`update site set secret = ${old}, endpoint = 'http://127.0.0.1:1/thief'`
  for (const told of [true, false]) {
    if (!told) await db`delete from sealing_key`
    expect(await upgrade()).toEqual([])
    const [site] = await db<{ secret: Buffer }[]>`select secret from site`
    expect(site?.secret.equals(old)).toBe(true)
    await expect(openWorld(db, sealer)).rejects.toMatchObject({ code: 'seal-broken' })
  }
})

test('a stolen login of the API makes no database look as before the upgrade, so that an old seal is sealed anew', async () => {
  const { db, url, upgrade } = await setUp()
  await upgrade()
  const thief = openDb({ url: loginUrl(url, 'api'), max: 1, applicationName: 'thief' })
  atEnd(() => thief.end({ timeout: 1 }))
  const old = formerSeal(hexKey, JSON.stringify({ password }))
  await thief`update site set secret = ${old}, endpoint = 'http://127.0.0.1:1/thief'`
  await thief`delete from webhook`
  await thief`update signing_key set private_key = null`
  await expect(thief`delete from sealing_key`).rejects.toMatchObject({ code: '42501' })
  await upgrade().catch(() => {})
  const [site] = await db<{ secret: Buffer }[]>`select secret from site`
  expect(site?.secret.equals(old)).toBe(true)
})

test('an upgrade with another key changes nothing, and says which setting is wrong', async () => {
  const { db, upgrade } = await setUp()
  const before = await db`select secret from site union all select secret from webhook`
  await expect(upgrade(['0b'.repeat(32)])).rejects.toMatchObject({ field: 'DROVER_SECRET_KEY' })
  expect(await db`select secret from site union all select secret from webhook`).toEqual(before)
})

test('one seal that nothing opens is named, and the others are sealed anew', async () => {
  const { db, upgrade } = await setUp()
  await db`update site set secret = ${formerSeal('0c'.repeat(32), 'x')}`
  expect((await upgrade()).map(({ name }) => name)).toEqual(['the password of source paris'])
})

test('nothing is sealed anew while processes run that could not open it, and they are named', async () => {
  const { db, upgrade } = await setUp(200)
  const id = '0197a0c0-0000-7000-8000-000000000001'
  const worker = { id, role: 'worker', host: 'there', pid: 7, version: '0', kinds: {}, slots: {} }
  await db`select 1`
  await beatWorker(db, worker, 'active')
  await db`update worker set heartbeat_at = now() + interval '1 hour'`
  await expect(upgrade()).rejects.toMatchObject({
    code: 'processes-running',
    message: expect.stringContaining('worker 7 on there'),
  })
  await expect(enterKey(db, sealer)).rejects.toMatchObject({ code: 'seals-outdated' })
  await stopWorker(db, id)
  expect(await upgrade()).toEqual([])
})
