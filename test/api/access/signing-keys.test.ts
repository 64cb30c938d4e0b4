import { expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { verifyCertificate } from '../../../src/certificate/file.ts'
import { installationKey } from '../../../src/certificate/installation-key.ts'
import { isVouchedBy } from '../../../src/certificate/signing.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { sampleFile } from '../../support/certificates.ts'
import { testSealer } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db, { sealer: testSealer }))
const keyOf = (sealer = testSealer) => db.begin((tx) => installationKey(tx as unknown as Tx, sealer))

test('there is no key before the first certificate, and one however many sign it at once', async () => {
  expect((await call('GET', '/v1/signing-keys')).body).toEqual({ items: [] })
  const made = await Promise.all(Array.from({ length: 8 }, () => keyOf()))
  expect(new Set(made.map(({ id }) => id)).size).toBe(1)
  const { body } = await call('GET', '/v1/signing-keys')
  expect(body.items).toHaveLength(1)
  expect(body.items[0]).toMatchObject({ id: made[0]?.id, algorithm: 'ed25519' })
})

test('the public half that is shown is the one that a file is checked with, and no private one is shown', async () => {
  const key = await keyOf()
  const { body, text } = await call('GET', '/v1/signing-keys')
  const pem = String(body.items[0]?.public_key)
  expect(verifyCertificate(sampleFile({}, key).text, pem)).toMatchObject({ sound: true, pinned: true })
  expect(text).not.toMatch(/private/i)
  const [row] = await db<{ privateKey: Buffer }[]>`select private_key from signing_key`
  expect(row?.privateKey.includes(key.privateKey)).toBe(false)
})

test('the private half opens with the key that sealed it alone', async () => {
  await expect(keyOf(createSealer('77'.repeat(32)))).rejects.toMatchObject({ code: 'seal-broken' })
})

test('after a rotation the new key signs, old certificates stay good, and the old key can sign nothing', async () => {
  const before = await keyOf()
  const rotated = await call('POST', '/v1/signing-keys/:rotate', { headers: { 'idempotency-key': 'once' } })
  expect(rotated.status, rotated.text).toBe(201)
  const again = await call('POST', '/v1/signing-keys/:rotate', { headers: { 'idempotency-key': 'once' } })
  expect(again.body.id).toBe(rotated.body.id)
  const now = await keyOf()
  expect(now.id).toBe(rotated.body.id)
  const { items } = (await call('GET', '/v1/signing-keys')).body
  expect(items).toMatchObject([
    { id: now.id, signs: true, retired_at: null, follows: before.id },
    {
      id: before.id,
      signs: false,
      retired_at: expect.stringMatching(/^\d{4}-/),
      follows: null,
      vouched: null,
    },
  ])
  const oldPem = String(items[1]?.public_key)
  expect(verifyCertificate(sampleFile({}, before).text, oldPem)).toMatchObject({ sound: true, pinned: true })
  expect(verifyCertificate(sampleFile({}, now).text, oldPem)).toMatchObject({ sound: false })
  const vouched = Buffer.from(String(items[0]?.vouched), 'base64')
  expect(isVouchedBy(now, before, vouched)).toBe(true)
  expect(isVouchedBy({ ...now, publicKey: before.publicKey }, before, vouched)).toBe(false)
  const rows = await db<{ id: string; gone: boolean }[]>`
    select id, private_key is null as gone from signing_key where id = ${before.id}`
  expect(rows).toEqual([{ id: before.id, gone: true }])
  const [event] = await db`select actor, detail from event where type = 'signing-key.rotated'`
  expect(event).toMatchObject({ detail: { before: before.id } })
})

test('the key that signs now is the one that is said to, whatever was added beside it', async () => {
  const { id } = await keyOf()
  await db`insert into signing_key (id, public_key, created_at)
    select 'beside', public_key, now() + interval '1 hour' from signing_key where id = ${id}`
  const { items } = (await call('GET', '/v1/signing-keys')).body
  expect(items.filter(({ signs }) => signs === true)).toMatchObject([{ id }])
  await db`delete from signing_key where id = 'beside'`
})

test('two rotations at once make a line of keys, each vouched for by the one before', async () => {
  const both = await Promise.all([1, 2].map(() => call('POST', '/v1/signing-keys/:rotate')))
  expect(both.map(({ status }) => status)).toEqual([201, 201])
  const { items } = (await call('GET', '/v1/signing-keys')).body
  expect(items.filter((item) => item.retired_at === null)).toHaveLength(1)
  for (const [at, key] of items.slice(0, -1).entries()) expect(key.follows).toBe(items[at + 1]?.id)
})

test('a retired key that was made the signing one again by the database alone signs nothing', async () => {
  await db`update signing_key set retired_at = case when retired_at is null then now() end`
  await expect(keyOf()).rejects.toMatchObject({ code: 'seal-broken' })
})
