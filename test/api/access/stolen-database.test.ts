import { expect, test } from 'vitest'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { sitePasswordPlace } from '../../../src/seal/seal-places.ts'
import { createDatabase } from '../../support/postgres.ts'
import { plantedPassword } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver, sealer } from '../setup.ts'

/** What somebody with a login to the database, and without the key, tries. */

const { db } = await createDatabase()
const call = clientOf(depsOver(db))

const addSite = async (name: string) => {
  const made = await call('POST', '/v1/sources', {
    json: {
      ...{ name, kind: 'lab', endpoint: 'http://127.0.0.1:9440/' },
      ...{ username: 'drover', password: `${plantedPassword}-${name}` },
    },
  })
  expect(made.status, made.text).toBe(201)
}

const addWebhook = (name: string, key: string) =>
  call('POST', '/v1/webhooks', {
    json: { name, url: `http://127.0.0.1:9441/hooks/${name}` },
    headers: { 'idempotency-key': key },
  })

// promise: stolen-database
test('a password that was copied into a stored answer is not answered with', async () => {
  await addSite('copied')
  const first = await addWebhook('chat', 'replay-me')
  expect(first.status, first.text).toBe(201)
  await db`update api_request set body = 'sealed:' || translate(encode(
    (select secret from site where name = 'copied'), 'base64'), E'\n', '') where key = 'replay-me'`
  const replayed = await addWebhook('chat', 'replay-me')
  expect(replayed.text).not.toContain(plantedPassword)
  expect([replayed.status, replayed.body.code]).toEqual([422, 'seal-broken'])
})

test('the stored answer of another request, key or person is not answered with', async () => {
  const [one, two] = [await addWebhook('one', 'key-one'), await addWebhook('two', 'key-two')]
  expect([one.status, two.status]).toEqual([201, 201])
  await db`update api_request set body = (select body from api_request where key = 'key-one') where key = 'key-two'`
  const replayed = await addWebhook('two', 'key-two')
  expect(replayed.text).not.toContain(one.body.secret)
  expect([replayed.status, replayed.body.code]).toEqual([422, 'seal-broken'])
})

const secretOf = async (name: string) => {
  const [row] = await db<SiteRow[]>`select * from site where name = ${name}`
  if (!row?.secret) throw new Error(`${name} has no password.`)
  return JSON.parse(sealer.open(row.secret, sitePasswordPlace(row))) as unknown
}

test('a password is sealed again for another user, certificate or pin, and still opens', async () => {
  await addSite('paris')
  const fingerprint = 'ab'.repeat(32)
  for (const change of [{ username: 'somebody-else' }, { fingerprint }, { settings: { import_limit: 2 } }]) {
    const changed = await call('PATCH', '/v1/sources/paris', { json: change, headers: { 'if-match': '*' } })
    expect(changed.status, changed.text).toBe(200)
    expect(await secretOf('paris')).toEqual({ password: `${plantedPassword}-paris` })
  }
  await db`update site set seen_certificate = ${JSON.stringify({ fingerprint: 'cd'.repeat(32) })}::text::jsonb
    where name = 'paris'`
  const confirmed = await call('POST', '/v1/sources/paris/:confirm-fingerprint', {
    json: { fingerprint: 'cd'.repeat(32) },
  })
  expect(confirmed.status, confirmed.text).toBe(202)
  expect(await secretOf('paris')).toEqual({ password: `${plantedPassword}-paris` })
})

test('a change does not seal again what the database was changed behind: the password must be given', async () => {
  await addSite('lyon')
  await db`update site set endpoint = 'http://127.0.0.1:1/thief' where name = 'lyon'`
  const change = (json: object) => call('PATCH', '/v1/sources/lyon', { json, headers: { 'if-match': '*' } })
  const refused = await change({ username: 'somebody-else' })
  expect([refused.status, refused.body.code]).toEqual([422, 'seal-broken'])
  expect(String(refused.body.remedy)).toContain('password')
  expect((await change({ username: 'somebody-else', password: 'another-secret' })).status).toBe(200)
  expect(await secretOf('lyon')).toEqual({ password: 'another-secret' })
})
