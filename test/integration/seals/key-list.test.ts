import { expect, test } from 'vitest'
import { type Db, openDb } from '../../../db/client.ts'
import type { LoginRole } from '../../../src/config/database-urls.ts'
import { createSealer, secretKeyId } from '../../../src/seal/seal.ts'
import { checkKey, enterKey, leaveOtherKeys, readKeyIds, wasTold } from '../../../src/sealing/key-check.ts'
import { atEnd } from '../../support/cleanup.ts'
import { loginUrl } from '../../support/logins.ts'
import { createDatabase } from '../../support/postgres.ts'
import { migrateAsOwner } from '../../support/shared-postgres.ts'

const hexKey = '0a'.repeat(32)
const sealer = createSealer(hexKey)
const bogus = createSealer('0b'.repeat(32))

const stolen = (url: string, who: LoginRole): Db => {
  const thief = openDb({ url: loginUrl(url, who), max: 1, applicationName: 'thief' })
  atEnd(() => thief.end({ timeout: 1 }))
  return thief
}

const factOf = (key: typeof sealer): string =>
  JSON.stringify([{ id: key.keyId, check: key.seal('drover', ['key-check']).toString('base64') }])

test.each(['api', 'conductor', 'worker'] as const)(
  'a stolen login of the %s ends no process by a key that it enters, and takes none out of the list',
  async (who) => {
    const { db, url } = await createDatabase()
    await enterKey(db, sealer)
    const thief = stolen(url, who)
    const attempts = [
      thief`insert into ledger_fact (name, value) values ('secret-keys', ${factOf(bogus)})
        on conflict (name) do update set value = excluded.value`,
      thief`insert into sealing_key (id, check_value) values ('0000000000000000', 'x')`,
      thief`update sealing_key set id = '0000000000000000'`,
      thief`update sealing_key set check_value = 'x'`,
      thief`delete from sealing_key`,
    ]
    const settled = await Promise.allSettled(attempts)
    expect(settled.slice(1).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
    await checkKey(db, sealer)
    await checkKey(thief, sealer)
    expect(await readKeyIds(db)).toEqual([sealer.keyId])
    await expect(enterKey(thief, createSealer('0b'.repeat(32), [hexKey]))).rejects.toMatchObject({
      code: '42501',
    })
  },
)

test('a key that the owner has not entered is sealed with by nobody, and who enters it is named', async () => {
  const { db } = await createDatabase()
  await enterKey(db, sealer)
  const early = createSealer('0b'.repeat(32), [hexKey])
  await expect(checkKey(db, early)).rejects.toMatchObject({
    code: 'secret-key-not-entered',
    remedy: expect.stringContaining('drover migrate'),
  })
  await enterKey(db, early)
  await checkKey(db, early)
})

/** As the version before left it: the list is a fact that roles may write. */
const makeFormerList = async (db: Db, value: string): Promise<void> => {
  await db`drop table sealing_key, schema_support`
  for (const policy of ['read', 'add', 'change'])
    await db.unsafe(`drop policy ledger_fact_${policy} on ledger_fact`)
  await db`alter table ledger_fact disable row level security`
  // And what came after it: all of it is done again.
  await db`alter table event_prune drop constraint event_prune_seq, drop constraint event_prune_moment`
  await db`alter table event_seal drop constraint event_seal_seq, drop constraint event_seal_moment`
  await db`alter table entry drop column source_off_at, drop column guest_until`
  await db`drop table image, image_replica, template, template_version`
  await db`delete from drizzle.__drizzle_migrations where created_at >=
    (select created_at from drizzle.__drizzle_migrations order by created_at offset 6 limit 1)`
  await db`insert into ledger_fact (name, value) values ('secret-keys', ${value})`
}

const formerList = async (db: Db): Promise<string | undefined> =>
  (await db<{ value: string }[]>`select value from ledger_fact where name = 'secret-keys'`)[0]?.value

test('the list of the version before is carried over, newest first', async () => {
  const { db, url } = await createDatabase()
  const two = [...JSON.parse(factOf(bogus)), ...JSON.parse(factOf(sealer))] as object[]
  await makeFormerList(db, JSON.stringify(two))
  await migrateAsOwner(url)
  expect(await readKeyIds(db)).toEqual([bogus.keyId, sealer.keyId])
  await checkKey(db, createSealer(hexKey, ['0b'.repeat(32)]))
  await expect(checkKey(db, sealer)).rejects.toMatchObject({ code: 'secret-key-differs' })
})

test.each(['[]', '{}', 'null', 'spoilt', '[{"id": "x"}]', '[{"check": "eA=="}]'])(
  'a list of the version before that somebody made %s carries nothing over, and the database counts as told',
  async (value) => {
    const { db, url } = await createDatabase()
    await makeFormerList(db, value)
    await migrateAsOwner(url)
    expect(await readKeyIds(db)).toEqual([])
    expect(await wasTold(db)).toBe(true)
    await enterKey(db, sealer)
    expect(await readKeyIds(db)).toEqual([secretKeyId(hexKey)])
    expect(await wasTold(db)).toBe(true)
  },
)

/** What the API and a conductor of the version before do with the list when they start; gives the list that they see. */
const startOfBefore = async (old: Db, list: string): Promise<string | undefined> => {
  await old`insert into ledger_fact (name, value) values ('secret-keys', ${list}) on conflict do nothing`
  return await old.begin(async (tx) => {
    const [row] = await tx<{ value: string }[]>`
      select value from ledger_fact where name = 'secret-keys' for update`
    return row?.value
  })
}

test.each(['api', 'conductor'] as const)(
  'processes of the version before find their list after the upgrade: the %s runs on and starts, and cannot change it',
  async (who) => {
    const { db, url } = await createDatabase()
    const list = factOf(sealer)
    await makeFormerList(db, list)
    await migrateAsOwner(url)
    await enterKey(db, sealer)
    const old = stolen(url, who)
    expect(await formerList(old)).toBe(list)
    expect(await startOfBefore(old, factOf(bogus))).toBe(list)
    for (const attempt of [
      old`update ledger_fact set value = '[]' where name = 'secret-keys'`,
      old`insert into ledger_fact (name, value) values ('secret-keys', ${factOf(bogus)})
        on conflict (name) do update set value = excluded.value, updated_at = now()`,
    ])
      await expect(attempt).rejects.toMatchObject({ code: '42501' })
    expect(await formerList(db)).toBe(list)
  },
)

test('the list of the version before goes when a key is replaced: it names a key that is not in use any more', async () => {
  const { db, url } = await createDatabase()
  await makeFormerList(db, factOf(sealer))
  await migrateAsOwner(url)
  await leaveOtherKeys(db, bogus)
  expect(await formerList(db)).toBeUndefined()
  expect(await readKeyIds(db)).toEqual([bogus.keyId])
})

test('a process of the version before that writes a list where there is none harms nobody', async () => {
  const { db, url } = await createDatabase()
  await enterKey(db, sealer)
  const list = factOf(sealer)
  expect(await startOfBefore(stolen(url, 'api'), list)).toBe(list)
  const worker = stolen(url, 'worker')
  await worker`insert into ledger_fact (name, value) values ('installation-id', 'mine') on conflict do nothing`
  const [{ value } = { value: 'mine' }] = await worker<
    { value: string }[]
  >`select value from ledger_fact where name = 'installation-id'`
  expect(value).not.toBe('mine')
  await checkKey(db, sealer)
  await enterKey(db, sealer)
})
