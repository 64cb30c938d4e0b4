import { v7 as uuidv7 } from 'uuid'
import { beforeEach, describe, expect, test } from 'vitest'
import { createLog } from '../../../src/process/log.ts'
import { untilReadable } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { sampleInstance, sampleNetwork, sampleNic } from '../../unit/inventory/samples.ts'
import { clientOf, depsOver } from '../setup.ts'
import {
  addFinding,
  addInstance,
  addMigrated,
  addNetwork,
  addSite,
  emptyInventory,
  eventTypes,
  plantedPassword,
} from './inventory-rows.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))
const get = (path: string) => call('GET', path)

beforeEach(() => emptyInventory(db))

const named = (name: string, changes: Parameters<typeof sampleInstance>[0] = {}) =>
  sampleInstance({ name, ref: `vm-${name}`, uuid: uuidv7(), ...changes })

describe('power and tracking', () => {
  test.each([
    [':power', { verb: 'shutdown', force: true }, 'power-instance', { verb: 'shutdown', force: true }],
    [
      ':enable-background-import',
      { remove_snapshots: true },
      'track-instance',
      { verb: 'enable', remove_snapshots: true },
    ],
    [':reset-background-import', undefined, 'track-instance', { verb: 'reset' }],
  ])('%s is a job about the instance, once', async (verb, json, kind, payload) => {
    const paris = await addSite(db, 'paris')
    const id = await addInstance(db, paris, { facts: named('web') })
    const path = `/v1/instances/${id}/${verb}`
    const both = await Promise.all([call('POST', path, { json }), call('POST', path, { json })])
    expect(both.map(({ status }) => status)).toEqual([202, 202])
    const jobs = await db<{ kind: string; payload: object; subjectType: string; subjectId: string }[]>`
      select kind, payload, subject_type, subject_id from job`
    expect(jobs).toMatchObject([
      { kind, payload: { instance: id, ...payload }, subjectType: 'instance', subjectId: id },
    ])
    expect(both.map(({ body }) => body.existing).sort()).toEqual([false, true])
  })

  test('are refused with every reason', async () => {
    const paris = await addSite(db, 'paris', { connectivity: 'cannot-connect' })
    const id = await addInstance(db, paris, {
      facts: named('web'),
      frozenBy: 'wave-1',
      ignored: 'template',
      gone: true,
    })
    for (const verb of [':power', ':enable-background-import', ':reset-background-import']) {
      const refused = await call('POST', `/v1/instances/${id}/${verb}`, {
        json: verb === ':power' ? { verb: 'start' } : undefined,
      })
      expect([refused.status, refused.body.code]).toEqual([409, 'instance-not-actionable'])
      expect(refused.body.errors).toHaveLength(4)
      for (const word of ['wave-1', 'no longer has it', 'template', 'cannot-connect'])
        expect(refused.body.detail).toContain(word)
    }
    expect((await call('POST', `/v1/instances/${uuidv7()}/:power`, { json: { verb: 'start' } })).status).toBe(
      404,
    )
  })

  test('are refused where the source has no such capability', async () => {
    const paris = await addSite(db, 'paris')
    await db`update site set capabilities = '{inventory,power}'`
    const id = await addInstance(db, paris, { facts: named('web') })
    const power = (verb: string) => call('POST', `/v1/instances/${id}/:power`, { json: { verb } })
    expect((await power('shutdown')).body.detail).toContain('it lacks guest-shutdown')
    const track = await call('POST', `/v1/instances/${id}/:reset-background-import`)
    expect(track.body.detail).toContain('it lacks changed-blocks')
    expect((await power('stop')).status).toBe(202)
  })

  test('are refused when the machine runs elsewhere by now', async () => {
    const id = await addInstance(db, await addSite(db, 'paris'), { facts: named('web') })
    await addMigrated(db, id, 'wave-9')
    const refused = await call('POST', `/v1/instances/${id}/:power`, { json: { verb: 'start' } })
    expect([refused.status, refused.body.code]).toEqual([409, 'vm-would-run-twice'])
    expect(refused.body.detail).toContain('Here it stays off')
  })

  test('of another sort are refused while one is under way, and by field when they are wrong', async () => {
    const paris = await addSite(db, 'paris')
    const id = await addInstance(db, paris, { facts: named('web') })
    const power = (json: object) => call('POST', `/v1/instances/${id}/:power`, { json })
    const first = await power({ verb: 'stop' })
    const refused = await power({ verb: 'start' })
    expect([refused.status, refused.body.code]).toEqual([409, 'instance-busy'])
    expect(refused.body.detail).toContain(first.body.id)
    const track = await call('POST', `/v1/instances/${id}/:enable-background-import`)
    expect([track.status, track.body.code]).toEqual([409, 'instance-busy'])
    expect(track.body.detail).toContain(first.body.id)
    expect((await power({ verb: 'fly' })).body.field).toBe('verb')
    expect((await power({ verb: 'stop', timeout_seconds: 1 })).body.field).toBe('timeout_seconds')
  })
})

describe('networks', () => {
  test('are listed, filtered, and mapped by hand', async () => {
    const paris = await addSite(db, 'paris')
    const lyon = await addSite(db, 'lyon', { role: 'target' })
    const shop = await addNetwork(db, paris, sampleNetwork({ ref: 'network-7', name: 'shop' }))
    const trunk = await addNetwork(
      db,
      paris,
      sampleNetwork({ ref: 'dvs-1', name: 'trunk', type: 'distributed' }),
    )
    const there = await addNetwork(db, lyon, sampleNetwork({ ref: 'br0', name: 'br0', type: 'bridge' }))
    const ids = async (query: string) =>
      (await get(`/v1/networks?${query}`)).body.items.map((item) => item.id)
    expect(await ids('')).toEqual([shop, trunk, there])
    expect(await ids('target=lyon')).toEqual([there])
    expect(await ids(`filter=${encodeURIComponent('type == "distributed"')}`)).toEqual([trunk])
    expect((await get('/v1/networks?source=paris&target=lyon')).body.field).toBe('target')
    const path = `/v1/networks/${shop}`
    const etag = (await get(path)).headers.get('etag') ?? ''
    const put = (json: object, match = etag) =>
      call('PUT', `${path}/overrides`, { json, headers: { 'if-match': match } })
    expect((await put({ vlan_id: '100' })).body.field).toBe('nictype')
    const mapped = await put({ network: 'prod', nictype: 'bridged', vlan_id: '100,200-210' })
    expect(mapped.body).toMatchObject({
      version: 2,
      placement: { network: 'prod', nictype: 'bridged', vlan_id: '100,200-210' },
    })
    expect((await put({ network: 'x', nictype: 'managed' })).status).toBe(412)
    expect((await call('DELETE', `${path}/overrides`)).status).toBe(428)
    expect((await call('DELETE', `${path}/overrides`, { headers: { 'if-match': '"2"' } })).status).toBe(204)
    expect((await get(path)).body.overrides).toEqual({})
    const refused = await call('PUT', `/v1/networks/${there}/overrides`, {
      json: {},
      headers: { 'if-match': '*' },
    })
    expect([refused.status, refused.body.code]).toEqual([409, 'network-of-target'])
    expect((await get(`/v1/networks/${there}`)).body.placement).toBeNull()
    expect(await eventTypes(db)).toEqual(['network.overrides-changed', 'network.overrides-changed'])
  })

  test('know who is wired to them', async () => {
    const paris = await addSite(db, 'paris')
    const shop = await addNetwork(db, paris, sampleNetwork({ ref: 'network-9' }))
    await addInstance(db, paris, { facts: named('web', { nics: [sampleNic({ network_ref: 'network-9' })] }) })
    await addInstance(db, paris, { facts: named('db') })
    const { body } = await get(`/v1/networks/${shop}/instances`)
    expect(body.items.map(({ name }) => name)).toEqual(['web'])
    expect((await get(`/v1/networks/${uuidv7()}/instances`)).status).toBe(404)
  })
})

test('hosts, storage and projects are listed by place, in pages', async () => {
  const lyon = await addSite(db, 'lyon', { role: 'target' })
  for (let at = 0; at < 3; at += 1) {
    await db`
      insert into host (id, site_id, ref, name, hash, revision, facts)
      values (${uuidv7()}, ${lyon}, ${`host-${at}`}, ${`node-${at}`}, 'h', 1,
        ${JSON.stringify({ ref: `host-${at}`, name: `node-${at}`, state: 'connected', cpus: 8 })}::text::jsonb)`
  }
  await db`
    insert into storage (id, site_id, ref, name, hash, revision, facts)
    values (${uuidv7()}, ${lyon}, 's', 'ssd', 'h', 1, '{"ref":"s","name":"ssd","free":5}')`
  await db`
    insert into project (id, site_id, ref, name, hash, revision, facts)
    values (${uuidv7()}, ${lyon}, 'p', 'shop', 'h', 1, '{"ref":"p","name":"shop","limits":{},"used":{}}')`
  const first = (await get('/v1/hosts?limit=2&target=lyon')).body
  const second = (await get(`/v1/hosts?limit=2&target=lyon&cursor=${first.next_cursor}`)).body
  expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(['node-0', 'node-1', 'node-2'])
  expect(first.items[0]).toMatchObject({ target: 'lyon', source: null, cpus: 8 })
  expect((await get('/v1/hosts?source=lyon')).body.items).toEqual([])
  expect((await get('/v1/storage')).body.items).toMatchObject([{ name: 'ssd', free: 5 }])
  expect((await get('/v1/projects')).body.items).toMatchObject([{ name: 'shop', target: 'lyon' }])
})

test('a source that is sent twice with one key is added once; with another password the key is refused', async () => {
  const site = {
    name: 'paris',
    kind: 'lab',
    endpoint: 'http://127.0.0.1:9440',
    username: 'drover',
    password: plantedPassword,
  }
  const headers = { 'idempotency-key': 'add-paris' }
  const post = (json: object) => call('POST', '/v1/sources', { json, headers })
  const both = [await post(site), await post(site)]
  expect(both.map(({ status }) => status)).toEqual([201, 201])
  expect(both[1]?.text).toBe(both[0]?.text)
  expect(both[1]?.headers.get('idempotency-replayed')).toBe('true')
  expect((await post({ ...site, password: 'another' })).body.code).toBe('idempotency-mismatch')
  const sync = () =>
    call('POST', '/v1/sources/paris/:sync', { json: {}, headers: { 'idempotency-key': 's' } })
  expect((await sync()).text).toBe((await sync()).text)
  expect(await db`select 1 from job where kind = 'sync-source'`).toHaveLength(1)
})

describe('secrets', () => {
  const hidden = [
    'hunter2-attribute',
    'hunter3-note',
    'hunter4-tag',
    'hunter5-url',
    'hunter6-error',
    'hunter7-pending',
    'hunter8-override',
  ]

  const plant = async () => {
    const paris = await addSite(db, 'paris')
    const facts = named('web', {
      description: 'front end, password: hunter3-note, ask ann',
      attributes: { 'db.password': 'hunter2-attribute', link: 'https://ann:hunter5-url@example.org/x' },
      tags: { 'api-token': ['hunter4-tag'] },
    })
    const pending = { type: 'facts', facts: { ...facts, attributes: { root_passwd: 'hunter7-pending' } } }
    const id = await addInstance(db, paris, { facts, pending, frozenBy: 'wave-1' })
    await db`update instance set overrides = '{"attributes":{"secret":"hunter8-override"}}' where id = ${id}`
    await addFinding(db, { instanceId: id, rule: 'no-ipv4', evidence: ['None is known.'] })
    await db`update instance set frozen_by = null`
    const check = await call('POST', '/v1/sources/paris/:check')
    await db`
      update job set state = 'failed', finished_at = now(),
        error = '{"code":"x","message":"login failed with pwd=hunter6-error"}' where id = ${check.body.id}`
    return id
  }

  test('are not in a dump, by whatever name they were left there', async () => {
    const id = await plant()
    await addNetwork(db, (await db<{ id: string }[]>`select id from site`)[0]?.id ?? '', sampleNetwork())
    const { text, headers, status } = await get('/v1/sources/paris/:dump')
    expect(status, text).toBe(200)
    expect(headers.get('content-disposition')).toContain('source-paris.ndjson')
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.map(({ type }) => type)).toEqual(['dump', 'source', 'network', 'instance', 'job', 'end'])
    expect(lines.at(-1)?.lines).toBe(lines.length)
    expect(lines[3]).toMatchObject({ id, facts: { name: 'web' }, findings: [{ rule: 'no-ipv4' }] })
    expect(text).toContain('ask ann')
    expect([plantedPassword, ...hidden].filter((secret) => text.includes(secret))).toEqual([])
    expect((await get('/v1/targets/paris/:dump')).status).toBe(404)
  })

  test('of a connection are in no answer, no event, no job, no log line and no stored answer', async () => {
    const written: string[] = []
    const sink = { write: (line: string) => void written.push(line) }
    const log = createLog({ role: 'test-api', level: 'trace', destination: sink })
    const loud = clientOf(depsOver(db, { log }))
    const site = {
      name: 'paris',
      kind: 'lab',
      endpoint: 'http://127.0.0.1:9440',
      username: 'drover',
      password: plantedPassword,
    }
    const seen: string[] = []
    const ask = async (method: string, path: string, json?: object) => {
      const reply = await loud(method, path, {
        json,
        headers: { 'if-match': '*', ...(method === 'POST' ? { 'idempotency-key': uuidv7() } : {}) },
      })
      seen.push(reply.text)
      return reply
    }
    expect((await ask('POST', '/v1/sources', site)).status).toBe(201)
    await ask('POST', '/v1/sources', site)
    await ask('POST', '/v1/sources', { ...site, name: 'x', endpoint: 'nowhere' })
    await ask('POST', '/v1/sources', { ...site, name: 'x', password: plantedPassword.repeat(100) })
    await ask('PATCH', '/v1/sources/paris', { password: plantedPassword })
    await ask('PATCH', '/v1/sources/paris', { password: plantedPassword, settings: { x: 1 } })
    await untilReadable(db)
    for (const path of [
      '/v1/sources',
      '/v1/sources/paris',
      '/v1/jobs',
      '/v1/events',
      '/v1/sources/paris/:dump',
    ])
      await ask('GET', path)
    await ask('DELETE', '/v1/sources/paris')
    const stored = await db<{ text: string }[]>`
      select row_to_json(e)::text as text from event e
      union all select row_to_json(j)::text from job j
      union all select row_to_json(a)::text from api_request a
      union all select row_to_json(s)::text from site s`
    expect(stored.length).toBeGreaterThan(5)
    expect(written.length).toBeGreaterThan(5)
    const everything = [...seen, ...written, ...stored.map(({ text }) => text)].join('\n')
    expect(everything).not.toContain(plantedPassword)
  })
})
