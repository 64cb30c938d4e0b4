import { expect, test } from 'vitest'
import type { Tx } from '../../db/client.ts'
import { verifyCertificate } from '../../src/certificate/file.ts'
import { installationKey } from '../../src/certificate/installation-key.ts'
import { createSealer } from '../../src/seal.ts'
import { sampleFile } from '../support/certificates.ts'
import { testSealer } from '../support/events.ts'
import { createDatabase } from '../support/postgres.ts'
import { clientOf, depsOver } from './setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db))
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
