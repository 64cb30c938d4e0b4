import { expect, test } from 'vitest'
import { readNewestSeal } from '../../../db/queries/seals/verify-seals.ts'
import { systemClock } from '../../../src/clock.ts'
import { pruneOnce } from '../../../src/ledger/conductor/retention.ts'
import { sealText } from '../../../src/ledger/seals/seal-texts.ts'
import { verifySeals } from '../../../src/ledger/seals/verify-seals.ts'
import { createSealer, secretKeyId } from '../../../src/seal/seal.ts'
import { checkKey, enterKey } from '../../../src/sealing/key-check.ts'
import { keyReasons, keyWatch } from '../../../src/sealing/key-watch.ts'
import { rekeyLines, runRekey } from '../../../src/sealing/prepare-seals.ts'
import { rekey } from '../../../src/sealing/rekey.ts'
import { atEnd } from '../../support/cleanup.ts'
import { quietLog, sealAll, writeEvents } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addSeal, hookSecret, hookUrl, openWorld, password, sealWorld } from '../../support/sealed-world.ts'
import { until } from '../../support/wait.ts'

const [oldKey, newKey] = ['0a'.repeat(32), '0b'.repeat(32)]
const [oldAlone, newAlone] = [createSealer(oldKey), createSealer(newKey)]
const both = createSealer(newKey, [oldKey])
/** Nothing was pruned sooner. */
const floorDays = 30
const whole = { password, url: hookUrl, origin: new URL(hookUrl).origin, secret: hookSecret }

const setUp = async () => {
  const { db } = await createDatabase()
  await sealWorld(db, oldKey)
  await enterKey(db, oldAlone)
  const run = (options: { lost?: boolean; floor?: number } = {}) =>
    rekey({
      ...{ db, sealer: options.lost ? newAlone : both, oldHexKeys: options.lost ? [] : [oldKey] },
      ...{
        lost: options.lost ?? false,
        clock: systemClock,
        graceMs: 1,
        floorDays: options.floor ?? floorDays,
      },
    })
  return { db, run }
}

test('a key that the database is not sealed with is refused by name, told or not', async () => {
  const { db } = await setUp()
  const differs = expect.objectContaining({
    code: 'secret-key-differs',
    message: expect.stringContaining(secretKeyId(oldKey)),
    remedy: expect.stringContaining('DROVER_SECRET_KEYS_OLD'),
  })
  await expect(checkKey(db, newAlone)).rejects.toEqual(differs)
  await expect(enterKey(db, newAlone)).rejects.toEqual(differs)
  expect(await keyReasons(db, newAlone)).toEqual([expect.stringContaining(secretKeyId(newKey))])
  await db`delete from sealing_key`
  await expect(enterKey(db, newAlone)).rejects.toEqual(differs)
  expect(await keyReasons(db, oldAlone)).toEqual([])
})

test('a check value of another key, or a made-up one, passes nobody', async () => {
  const { db } = await setUp()
  await db`update sealing_key set check_value = ${newAlone.seal('drover', ['key-check'])}`
  await expect(checkKey(db, oldAlone)).rejects.toMatchObject({ code: 'seal-broken' })
})

test('a database without a secret takes the first key, and everybody else must have it', async () => {
  const { db } = await createDatabase()
  const firsts = await Promise.allSettled([enterKey(db, oldAlone), enterKey(db, newAlone)])
  expect(firsts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const [winner, loser] = firsts[0].status === 'fulfilled' ? [oldAlone, newAlone] : [newAlone, oldAlone]
  await checkKey(db, winner)
  await expect(checkKey(db, loser)).rejects.toMatchObject({ code: 'secret-key-differs' })
})

test('a process ends when a key comes into use that it lacks, and goes on while it has all', async () => {
  const { db } = await setUp()
  const stopped: string[] = []
  const watch = (name: string, sealer: typeof both) => {
    const loop = keyWatch({ db, sealer, clock: systemClock, log: quietLog, stop: () => stopped.push(name) })
    loop.start()
    atEnd(() => loop.stop())
    return loop
  }
  const poor = watch('poor', oldAlone)
  watch('rich', createSealer(oldKey, [newKey]))
  await enterKey(db, both)
  poor.wake()
  await until(() => stopped.length > 0, { what: 'the process without the new key to end' })
  expect(stopped).toEqual(['poor'])
})

test('a rekey seals everything anew, and afterwards the old key opens and proves nothing that is needed', async () => {
  const { db, run } = await setUp()
  expect(await run()).toMatchObject({ sealed: 4, already: 0, unopened: [], replaced: [secretKeyId(oldKey)] })
  expect(await openWorld(db, newAlone)).toMatchObject(whole)
  await expect(openWorld(db, oldAlone)).rejects.toMatchObject({ code: 'seal-broken' })
  expect(await verifySeals(db, newAlone)).toMatchObject({ ok: true, seals: 1 })
  await checkKey(db, newAlone)
  await expect(checkKey(db, oldAlone)).rejects.toMatchObject({ code: 'secret-key-differs' })
  const stale = createSealer(oldKey, [newKey])
  await expect(enterKey(db, stale)).rejects.toMatchObject({ code: 'secret-key-replaced' })
  await addSeal(db, newAlone)
  expect(await verifySeals(db, newAlone)).toMatchObject({ ok: true, seals: 2 })
  const again = await run()
  expect(again).toMatchObject({ sealed: 0, unopened: [] })
  expect(rekeyLines(again).join(' ')).toContain(secretKeyId(oldKey))
})

test('a rekey that was cut off goes on where it was, and leaves nothing that a process with both keys cannot open', async () => {
  const { db, run } = await setUp()
  await db.unsafe(`create function cut() returns trigger language plpgsql as $$ begin
    raise exception 'cut off here'; end $$`)
  await db.unsafe('create trigger cut before update on signing_key for each row execute function cut()')
  await expect(run()).rejects.toThrow('cut off here')
  expect(await openWorld(db, both)).toMatchObject(whole)
  for (const lacking of [oldAlone, newAlone])
    await expect(checkKey(db, lacking)).rejects.toMatchObject({ code: 'secret-key-differs' })
  await db`drop trigger cut on signing_key`
  expect(await run()).toMatchObject({ already: 3, sealed: 1, unopened: [] })
  expect(await openWorld(db, newAlone)).toMatchObject(whole)
})

test('a rekey names what cannot be opened, and leaves it as it was', async () => {
  const { db, run } = await setUp()
  await db`update site set username = 'somebody-else'`
  const report = await run()
  expect(report.unopened.map(({ name }) => name)).toEqual(['the password of source paris'])
  expect(rekeyLines(report).join('\n')).toContain(
    'must be given again: the password of source paris: drover sources set paris --password',
  )
})

test('whoever finds the old key later forges no seal with it, neither behind the rekey nor before', async () => {
  const { db, run } = await setUp()
  await run()
  await addSeal(db, oldAlone)
  expect(await verifySeals(db, newAlone)).toMatchObject({ ok: false, firstBroken: { seq: 2 } })
  await db`delete from event_seal where seq = 2`
  const newest = await readNewestSeal(db)
  if (!newest) throw new Error('There is no seal.')
  const forged = { ...newest, hash: Buffer.alloc(32, 7) }
  const mac = oldAlone.mac(sealText(forged, forged, forged.sealedAtMs))
  await db`update event_seal set hash = ${forged.hash}, mac = ${mac}, pruned_at = now() where seq = 1`
  expect(await verifySeals(db, newAlone)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
  await db`delete from event_seal`
  expect(await verifySeals(db, newAlone)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
})

test('a chain that does not hold is attested by no rekey, and the old key stays in use', async () => {
  const { db, run } = await setUp()
  await db`update event set reason = 'edited' where reason = 'to be proved'`
  const report = await run()
  expect(report).toMatchObject({ replaced: [], brokenChain: expect.stringContaining('Seal 1') })
  await expect(checkKey(db, newAlone)).rejects.toMatchObject({ code: 'secret-key-differs' })
  expect(await openWorld(db, both)).toMatchObject(whole)
})

test('a lost key is given up by a word of its own: what it sealed is named, the rest goes on', async () => {
  const { db, run } = await setUp()
  const before = (await openWorld(db, oldAlone)).signs
  await expect(
    rekey({
      ...{ db, sealer: newAlone, oldHexKeys: [], lost: false, clock: systemClock, graceMs: 1, floorDays },
    }),
  ).rejects.toMatchObject({ code: 'secret-key-differs' })
  const report = await run({ lost: true })
  expect(report).toMatchObject({ replaced: [], lost: [secretKeyId(oldKey)] })
  expect(rekeyLines(report).join(' ')).toContain(`${secretKeyId(oldKey)} is given up`)
  expect(rekeyLines(report).join(' ')).not.toContain('for a day')
  expect(report.unopened.map(({ name }) => name).sort()).toEqual([
    'the URL of webhook chat',
    'the password of source paris',
    'the secret of webhook chat',
    `the signing key ${before}`,
  ])
  await checkKey(db, newAlone)
  expect(await verifySeals(db, newAlone)).toMatchObject({
    ok: true,
    seals: 1,
    notShown: expect.arrayContaining([expect.stringContaining('seals 1 to 1 were signed')]),
  })
  await db`update event set reason = 'edited' where reason = 'to be proved'`
  expect(await verifySeals(db, newAlone)).toMatchObject({ ok: false })
  const keys = await db<{ id: string; retired: boolean }[]>`
    select id, retired_at is not null as retired from signing_key order by retired_at nulls first`
  expect(keys).toEqual([
    { id: expect.not.stringMatching(before), retired: false },
    { id: before, retired: true },
  ])
})

test('a person is asked to give again only what a person can, and is told what is lost for good', async () => {
  const { db, run } = await setUp()
  await run()
  const { signs } = await openWorld(db, newAlone)
  const [hook] = await db<{ id: string }[]>`select id from webhook`
  const third = createSealer('0c'.repeat(32))
  const report = await rekey({
    ...{ db, sealer: third, oldHexKeys: [], lost: true, clock: systemClock, graceMs: 1, floorDays },
  })
  const lines = rekeyLines(report)
  const again = lines.filter((line) => line.includes('given again'))
  expect(again).toEqual([
    'Cannot be opened, and must be given again: the password of source paris: drover sources set paris --password',
    `Cannot be opened, and must be given again: the secret and the URL of webhook chat: drover webhooks remove ${hook?.id}, then drover webhooks add`,
  ])
  const gone = lines.filter((line) => line.startsWith('Lost for good'))
  expect(gone).toHaveLength(2)
  expect(gone.join(' ')).toMatch(new RegExp(`signing key ${signs}.*what it signed stays good`))
  expect(gone.join(' ')).toContain(`what is kept of the key ${secretKeyId(oldKey)}`)
})

test('a lost key is given up only if something is sealed with it, and the seal that holds the events is shown', async () => {
  const { db, run } = await setUp()
  const newest = await readNewestSeal(db)
  const lines = rekeyLines(await run({ lost: true })).join('\n')
  expect(lines).toContain(`seal 1, ${newest?.hash.toString('hex')}`)
  expect(lines).toContain('drover events verify --head')
})

test('a key in the list that has sealed and signed nothing is taken out, and attests no event', async () => {
  const { db } = await setUp()
  const bogus = secretKeyId('0d'.repeat(32))
  await db`insert into sealing_key (id, check_value) values (${bogus}, 'x')`
  const options = { db, sealer: oldAlone, oldHexKeys: [], clock: systemClock, graceMs: 1, floorDays }
  await expect(rekey({ ...options, lost: false })).rejects.toMatchObject({ code: 'secret-key-differs' })
  const report = await rekey({ ...options, lost: true })
  expect(report).toMatchObject({ lost: [], unseen: [bogus], unopened: [] })
  expect(rekeyLines(report).join(' ')).toContain(`The key ${bogus} had sealed nothing`)
  expect(rekeyLines(report).join(' ')).not.toContain('is given up')
  expect(await db`select from former_key`).toEqual([])
  expect(await openWorld(db, oldAlone)).toMatchObject(whole)
  await checkKey(db, oldAlone)
})

test('events that were pruned under a lower floor are a broken chain only for a rekey that is not told of that floor', async () => {
  const { db, url } = await createDatabase()
  for (const daysAgo of [20, 10]) {
    await writeEvents(db, [{ reason: 'old' }], daysAgo)
    await sealAll(db, { daysAgo, sealer: oldAlone })
  }
  await db`update event_floor set kept_days_min = 7`
  await db`insert into setting (name, value, updated_by) values ('retention-events-days', '7', 'test')`
  while ((await pruneOnce({ db, sealer: oldAlone, eventsKeptDaysMin: 7, by: 'test' })).more);
  expect(await db`select from event where reason = 'old'`).toHaveLength(0)
  await sealWorld(db, oldKey)
  await enterKey(db, oldAlone)
  const given = { db, sealer: both, oldHexKeys: [oldKey], lost: false, clock: systemClock, graceMs: 1 }
  expect(await rekey({ ...given, floorDays: 30 })).toMatchObject({
    brokenChain: expect.stringContaining('is 30 now'),
  })
  const config = { secretKey: newKey, oldSecretKeys: [oldKey], leaseMs: 1, eventsKeptDaysMin: 7 }
  const said: string[] = []
  const code = await runRekey(url, config, { lost: false, say: (line) => said.push(line) })
  expect([code, ...said].join(' ')).toContain(`The key ${secretKeyId(oldKey)} is not in use any more`)
  expect(code).toBe(0)
  await checkKey(db, newAlone)
})

test('a key that sealed nothing is not given up where the events do not hold without it', async () => {
  const { db } = await createDatabase()
  await addSeal(db, oldAlone)
  await enterKey(db, oldAlone)
  const lost = rekey({
    ...{ db, sealer: newAlone, oldHexKeys: [], lost: true, clock: systemClock, graceMs: 1, floorDays },
  })
  await expect(lost).rejects.toMatchObject({
    code: 'secret-key-unseen',
    message: expect.stringContaining(secretKeyId(oldKey)),
  })
  await checkKey(db, oldAlone)
  expect(await db`select from former_key`).toEqual([])
})
