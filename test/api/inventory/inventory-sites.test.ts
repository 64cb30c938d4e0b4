import { beforeEach, describe, expect, test } from 'vitest'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { systemClock } from '../../../src/clock.ts'
import { sitePasswordPlace } from '../../../src/seal/seal-places.ts'
import { createDatabase } from '../../support/postgres.ts'
import { sampleInstance, sampleNetwork } from '../../unit/inventory/samples.ts'
import { clientOf, depsOver, sealer, tokensFor } from '../setup.ts'
import {
  addInstance,
  addNetwork,
  addSite,
  emptyInventory,
  eventTypes,
  plantedPassword,
} from './inventory-rows.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))
const site = {
  name: 'paris',
  kind: 'lab',
  endpoint: 'http://127.0.0.1:9440',
  username: 'drover',
  password: plantedPassword,
}

beforeEach(() => emptyInventory(db))

const make = async (json: object = site, noun = 'sources') => {
  const made = await call('POST', `/v1/${noun}`, { json })
  expect(made.status, made.text).toBe(201)
  return made
}

const jobs = async () => db<
  { id: string; kind: string; payload: Record<string, unknown>; tokens: string[] }[]
>`
  select id, kind, payload, tokens from job order by id`

const secretOf = async (name: string) => {
  const [row] = await db<SiteRow[]>`select * from site where name = ${name}`
  if (!row?.secret) throw new Error(`${name} has no password.`)
  return JSON.parse(sealer.open(row.secret, sitePasswordPlace(row))) as unknown
}

const limits = async () => db<{ name: string; capacity: number }[]>`
  select name, capacity from admission_limit order by name`

describe.each([
  ['sources', 'source', { import_limit: 6 }, [{ name: 'source-imports/paris', capacity: 6 }]],
  [
    'targets',
    'target',
    { create_limit: 3 },
    [
      { name: 'target-creates/paris', capacity: 3 },
      { name: 'target-imports/paris', capacity: 100_000 },
    ],
  ],
])('%s', (noun, role, settings, wantedLimits) => {
  test('are added with a sealed password, their limits, a check and an event, in one go', async () => {
    const made = await make({ ...site, settings }, noun)
    expect(made.headers.get('location')).toBe(`/v1/${noun}/paris`)
    expect(made.body).toMatchObject({
      name: 'paris',
      has_password: true,
      endpoint: 'http://127.0.0.1:9440/',
      connectivity: { state: 'unknown', message: expect.stringContaining('Nobody has tried') },
      syncing: false,
      settings: { ...settings, sync_interval_seconds: 600 },
    })
    expect(await secretOf('paris')).toEqual({ password: plantedPassword })
    expect(await limits()).toEqual(wantedLimits)
    expect(await jobs()).toMatchObject([
      { kind: 'check-connection', payload: { role, name: 'paris', reason: 'changed' } },
    ])
    expect(await eventTypes(db)).toEqual([`${role}.created`, 'job.created'])
    const shown = await call('GET', `/v1/${noun}/paris`)
    expect(shown.headers.get('etag')).toBe(made.headers.get('etag'))
    expect(shown.body.counts).toMatchObject({ instances: 0, networks: 0, hosts: 0 })
    expect((await call('GET', `/v1/${noun}`)).body.items).toHaveLength(1)
    expect((await call('GET', `/v1/${noun}/lyon`)).status).toBe(404)
  })
})

test('a source and a target may have one name, two sources may not', async () => {
  await make()
  await make(site, 'targets')
  const twice = await call('POST', '/v1/sources', { json: site })
  expect([twice.status, twice.body.code]).toEqual([409, 'name-taken'])
})

test.each([
  ['endpoint', 'http://vcenter.example.org'],
  ['endpoint', 'ftp://vcenter.example.org'],
  ['endpoint', 'https://user:pass@vcenter.example.org'],
  ['endpoint', 'https://vcenter.example.org/sdk?x=1'],
  ['endpoint', 'https://vcenter.example.org/sdk?'],
  ['endpoint', 'https://vcenter.example.org/#top'],
  ['endpoint', 'https://169.254.169.254/'],
  ['endpoint', `https://${'a.'.repeat(200)}org`],
  ['endpoint', 'vcenter'],
  ['username', ''],
  ['username', 'a\nb'],
  ['username', 'x'.repeat(257)],
  ['password', ''],
  ['password', 'x'.repeat(1_025)],
  ['fingerprint', 'abc'],
  ['ca', 'no certificate'],
  ['ca', '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----'],
  ['ca', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'],
  ['kind', 'hyper-v'],
  ['name', 'a/b'],
])('a %s such as %j is refused by the name of its field', async (field, value) => {
  const refused = await call('POST', '/v1/sources', { json: { ...site, [field]: value } })
  expect([refused.status, refused.body.code, refused.body.field]).toEqual([422, 'validation-failed', field])
  expect(await jobs()).toEqual([])
})

test.each([
  [{ sync_limit: 0 }, 'settings.sync_limit'],
  [{ import_limit: -1 }, 'settings.import_limit'],
  [{ create_limit: 1 }, 'settings.create_limit'],
  [{ check_interval_seconds: 1 }, 'settings.check_interval_seconds'],
  [{ scopes: [''] }, 'settings.scopes.0'],
])('settings such as %j are refused by the name of their field', async (settings, field) => {
  const refused = await call('POST', '/v1/sources', { json: { ...site, settings } })
  expect([refused.status, refused.body.field]).toEqual([422, field])
  await make()
  const later = await call('PATCH', '/v1/sources/paris', { json: { settings }, headers: { 'if-match': '*' } })
  expect([later.status, later.body.field]).toEqual([422, field])
})

test('a change of settings leaves the connection alone and moves the limit', async () => {
  await make()
  await db`update site set connectivity = 'ok'`
  const settings = { import_limit: 2, sync_interval_seconds: 0 }
  const changed = await call('PATCH', '/v1/sources/paris', {
    json: { settings },
    headers: { 'if-match': '"1"' },
  })
  expect(changed.status, changed.text).toBe(200)
  expect(changed.body).toMatchObject({
    version: 2,
    connectivity: { state: 'ok' },
    settings: { ...settings, sync_limit: 8 },
    sync: { next_at: null },
  })
  expect(await limits()).toEqual([{ name: 'source-imports/paris', capacity: 2 }])
  expect(await jobs()).toHaveLength(1)
})

test('a shorter interval counts from now, and 0 leaves the rest to people', async () => {
  await addSite(db, 'paris')
  await db`update site set next_sync_at = now() + interval '1 day', next_check_at = now() + interval '1 day'`
  const set = (settings: object) =>
    call('PATCH', '/v1/sources/paris', { json: { settings }, headers: { 'if-match': '*' } })
  const dueWithinMinutes = async () => {
    const [row] = await db<{ sync: number; check: number }[]>`
      select ceil(extract(epoch from next_sync_at - now()) / 60)::int as sync,
        ceil(extract(epoch from next_check_at - now()) / 60)::int as check from site`
    return row
  }
  await set({ sync_interval_seconds: 0, check_interval_seconds: 86_400 })
  expect(await dueWithinMinutes()).toEqual({ sync: 1_440, check: 1_440 })
  await set({ sync_interval_seconds: 300, check_interval_seconds: 60 })
  expect(await dueWithinMinutes()).toEqual({ sync: 5, check: 1 })
  await set({ sync_interval_seconds: 3_600 })
  expect(await dueWithinMinutes()).toEqual({ sync: 5, check: 1 })
})

test('a new address needs the password with it, and the connection is checked anew', async () => {
  await make()
  await db`update site set connectivity = 'ok', cursor = 'x'`
  const change = (json: object) => call('PATCH', '/v1/sources/paris', { json, headers: { 'if-match': '*' } })
  const refused = await change({ endpoint: 'https://elsewhere.example.org/' })
  expect([refused.status, refused.body.code, refused.body.field]).toEqual([
    422,
    'password-required',
    'password',
  ])
  // The same address in other words is no new address.
  expect((await change({ endpoint: 'HTTP://127.0.0.1:9440/' })).body).toMatchObject({
    connectivity: { state: 'ok' },
  })
  const moved = await change({ endpoint: 'https://elsewhere.example.org/', password: 'another-secret' })
  expect(moved.body).toMatchObject({ connectivity: { state: 'unknown' } })
  expect(await secretOf('paris')).toEqual({ password: 'another-secret' })
  const [row] = await db<{ cursor: Buffer | null }[]>`select cursor from site`
  expect(row?.cursor).toBeNull()
  expect((await jobs()).map(({ payload }) => payload.reason)).toEqual(['changed', 'changed'])
  for (const json of [
    { username: 'other' },
    { password: plantedPassword },
    { fingerprint: 'AB'.repeat(32) },
  ]) {
    await db`update site set connectivity = 'ok'`
    expect((await change(json)).body.connectivity).toMatchObject({ state: 'unknown' })
  }
  expect((await call('GET', '/v1/sources/paris')).body.fingerprint).toBe('ab'.repeat(32))
})

test('where another installation answers, saving the connection as it is says that it is the right one', async () => {
  await addSite(db, 'paris', { connectivity: 'unknown' })
  await db`update site set connectivity_error =
    '{"code":"platform-identity-changed","class":"config","message":"Another one answers.","remedy":"Save it."}'`
  expect((await call('POST', '/v1/sources/paris/:sync', { json: {} })).body.code).toBe('site-not-connected')
  const saved = await call('PATCH', '/v1/sources/paris', {
    json: { endpoint: site.endpoint },
    headers: { 'if-match': '*' },
  })
  expect(saved.body, saved.text).toMatchObject({ connectivity: { state: 'unknown', code: null } })
  expect(await jobs()).toHaveLength(1)
})

test('kind and name are for ever, nothing is no change, and If-Match decides a race', async () => {
  await make()
  const change = (json: object, etag: string) =>
    call('PATCH', '/v1/sources/paris', { json, headers: { 'if-match': etag } })
  expect((await change({ kind: 'vsphere' }, '*')).status).toBe(422)
  expect((await change({ name: 'lyon' }, '*')).status).toBe(422)
  expect((await change({}, '*')).status).toBe(422)
  expect((await call('PATCH', '/v1/sources/paris', { json: { username: 'x' } })).status).toBe(428)
  const statuses = await Promise.all(['a', 'b', 'c'].map((username) => change({ username }, '"1"')))
  expect(statuses.map(({ status }) => status).sort()).toEqual([200, 412, 412])
})

test('a sync is one job however many ask, and a full one covers a delta', async () => {
  await make()
  const sync = (json?: object) => call('POST', '/v1/sources/paris/:sync', { json: json ?? {} })
  const answers = await Promise.all([sync(), sync(), sync()])
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
  expect(answers.filter(({ body }) => body.existing === false)).toHaveLength(1)
  const full = await sync({ mode: 'full' })
  expect(full.body).toMatchObject({ existing: false, kind: 'sync-source' })
  expect((await sync({ mode: 'full' })).body).toMatchObject({ existing: true, id: full.body.id })
  expect((await sync({ mode: 'full', force: true })).body).toMatchObject({ existing: false })
  const [, first] = await jobs()
  expect(first).toMatchObject({
    tokens: ['site-sync/source.paris'],
    payload: { source: 'paris', mode: 'delta', reason: 'manual', force: false },
  })
  expect((await call('POST', '/v1/sources/lyon/:sync', { json: {} })).status).toBe(404)
})

test('a sync of what is known not to be connected is refused with the reason, a check is not', async () => {
  await addSite(db, 'paris', { connectivity: 'authentication-error' })
  await db`update site set connectivity_error =
    '{"code":"platform-authentication","class":"config","message":"The password is wrong.","remedy":"Set it."}'`
  const refused = await call('POST', '/v1/sources/paris/:sync', { json: {} })
  expect([refused.status, refused.body.code, refused.body.remedy]).toEqual([
    409,
    'site-not-connected',
    'Set it.',
  ])
  expect(refused.body.detail).toContain('The password is wrong.')
  const check = await call('POST', '/v1/sources/paris/:check')
  expect(check.body).toMatchObject({ kind: 'check-connection', existing: false })
  expect((await call('POST', '/v1/sources/paris/:check')).body).toMatchObject({
    id: check.body.id,
    existing: true,
  })
})

test('only the certificate that was seen can be confirmed', async () => {
  await addSite(db, 'paris', { connectivity: 'confirm-fingerprint', seenFingerprint: 'cd'.repeat(32) })
  await addSite(db, 'lyon')
  const confirm = (name: string, fingerprint: string) =>
    call('POST', `/v1/sources/${name}/:confirm-fingerprint`, { json: { fingerprint } })
  expect((await confirm('lyon', 'cd'.repeat(32))).body.code).toBe('nothing-to-confirm')
  expect((await confirm('paris', 'ce'.repeat(32))).body.code).toBe('fingerprint-differs')
  expect((await confirm('paris', 'x')).status).toBe(422)
  const good = await confirm('paris', `${'CD:'.repeat(31)}CD`)
  expect(good.status, good.text).toBe(202)
  expect((await call('GET', '/v1/sources/paris')).body).toMatchObject({
    fingerprint: 'cd'.repeat(32),
    connectivity: { state: 'unknown', seen_certificate: null },
  })
  expect(await eventTypes(db)).toEqual(['source.fingerprint-confirmed', 'job.created'])
})

describe('removal', () => {
  const remove = (etag = '*') => call('DELETE', '/v1/sources/paris', { headers: { 'if-match': etag } })

  test('takes the inventory, the limit and waiting checks along, and nothing of others', async () => {
    await make()
    await make({ ...site, name: 'lyon' })
    const rows = await db<{ id: string; name: string }[]>`select id, name from site`
    for (const { id } of rows) {
      await addInstance(db, id, { facts: sampleInstance() })
      await addNetwork(db, id, sampleNetwork())
    }
    await call('POST', '/v1/sources/paris/:sync', { json: {} })
    expect((await call('DELETE', '/v1/sources/paris')).status).toBe(428)
    expect((await remove('"7"')).status).toBe(412)
    const gone = await remove('"1"')
    expect(gone.status, gone.text).toBe(204)
    expect((await call('GET', '/v1/sources/paris')).status).toBe(404)
    const [left] = await db<{ instances: number; networks: number }[]>`
      select (select count(*)::int from instance) as instances, (select count(*)::int from network) as networks`
    expect(left).toEqual({ instances: 1, networks: 1 })
    expect(await limits()).toEqual([{ name: 'source-imports/lyon', capacity: 100_000 }])
    const states = await db<{ state: string }[]>`select state from job where subject_id = 'paris'`
    expect(states.every(({ state }) => state === 'canceled')).toBe(true)
    expect(await eventTypes(db)).toContain('source.deleted')
  })

  test('is refused by name while batches hold instances, or jobs are under way', async () => {
    const siteId = await addSite(db, 'paris')
    const id = await addInstance(db, siteId, { facts: sampleInstance(), frozenBy: 'wave-1' })
    const frozen = await remove()
    expect([frozen.status, frozen.body.code]).toEqual([409, 'site-in-use'])
    expect(frozen.body.detail).toBe('1 of its instances is held by a running batch: wave-1.')
    await db`update instance set frozen_by = null`
    const power = await call('POST', `/v1/instances/${id}/:power`, { json: { verb: 'start' } })
    expect((await remove()).body.detail).toContain(`power-instance ${power.body.id}`)
    await call('POST', `/v1/jobs/${power.body.id}/:cancel`)
    expect((await remove()).status).toBe(204)
  })

  test('has those judged anew that clashed with what went', async () => {
    const [paris, lyon] = [await addSite(db, 'paris'), await addSite(db, 'lyon')]
    const gone = await addInstance(db, paris, { facts: sampleInstance() })
    const twin = await addInstance(db, lyon, { facts: sampleInstance(), ignored: 'duplicate-uuid' })
    const other = await addInstance(db, lyon, { facts: sampleInstance({ ref: 'vm-2' }) })
    await db`
      insert into instance_identity (kind, value, instance_id)
      values ('mac', 'a', ${gone}), ('mac', 'a', ${twin}), ('mac', 'b', ${other})`
    await db`update instance set rules_version = 'v'`
    await db`update site set next_sync_at = now() + interval '1 hour'`
    expect((await remove()).status).toBe(204)
    const left = await db<
      { id: string; rulesVersion: string }[]
    >`select id, rules_version from instance order by id`
    expect(left.map((row) => [row.id, row.rulesVersion])).toEqual([
      [twin, ''],
      [other, 'v'],
    ])
    const due = await db`select 1 from site where name = 'lyon' and next_sync_at <= now()`
    expect(due).toHaveLength(1)
  })

  test('of more than one request can do goes on with the next', async () => {
    const siteId = await addSite(db, 'paris')
    await db`
      insert into instance (id, site_id, ref, name, hash, revision, uuid, location, facts, os_type, distribution,
        distribution_version)
      select gen_random_uuid(), ${siteId}, 'vm-' || n, 'vm-' || n, 'h', 1, '', '/', '{}', '', '', ''
      from generate_series(1, 2500) n`
    // A clock by which every look takes long: each request removes one part.
    let lookedMs = 0
    const clock = { ...systemClock, monotonicMs: () => (lookedMs += 60_000) }
    const hurried = clientOf(depsOver(db, { clock }))
    const answers: (readonly [number, unknown])[] = []
    do {
      const { status, body } = await hurried('DELETE', '/v1/sources/paris', {
        headers: { 'if-match': '"1"' },
      })
      answers.push([status, body.instances_left])
    } while (answers.at(-1)?.[0] === 202)
    expect(answers).toEqual([
      [202, 1_500],
      [202, 500],
      [202, 0],
      [204, undefined],
    ])
    expect((await db`select 1 from instance`).length).toBe(0)
    const types = await eventTypes(db)
    expect(types.filter((type) => type === 'source.removal-begun')).toHaveLength(3)
    expect(types.at(-1)).toBe('source.deleted')
  })
})

test('a viewer reads, an operator syncs and checks, an admin changes', async () => {
  const tokens = await tokensFor(db)
  const as = (role: keyof typeof tokens) => (method: string, path: string, json?: object) =>
    call(method, path, { as: tokens[role], json, headers: { 'if-match': '*' } })
  expect((await as('operator')('POST', '/v1/sources', site)).status).toBe(403)
  expect((await as('admin')('POST', '/v1/sources', site)).status).toBe(201)
  expect((await as('viewer')('GET', '/v1/sources/paris')).status).toBe(200)
  expect((await as('viewer')('POST', '/v1/sources/paris/:sync', {})).status).toBe(403)
  expect((await as('operator')('POST', '/v1/sources/paris/:sync', {})).status).toBe(202)
  expect((await as('operator')('PATCH', '/v1/sources/paris', { username: 'x' })).status).toBe(403)
  expect((await as('operator')('DELETE', '/v1/sources/paris')).status).toBe(403)
  await db`truncate access_token`
})
