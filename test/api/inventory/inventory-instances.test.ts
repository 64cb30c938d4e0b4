import { v7 as uuidv7 } from 'uuid'
import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createDatabase } from '../../support/postgres.ts'
import { sampleDisk, sampleInstance, sampleNetwork, sampleNic } from '../../unit/inventory/samples.ts'
import { type Body, clientOf, depsOver } from '../setup.ts'
import { addFinding, addInstance, addNetwork, addSite, emptyInventory, eventTypes } from './inventory-rows.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))
const get = (path: string) => call('GET', path)
const filtered = (filter: string) => `filter=${encodeURIComponent(filter)}`

beforeEach(() => emptyInventory(db))

const named = (name: string, changes: Partial<Parameters<typeof sampleInstance>[0]> = {}) =>
  sampleInstance({ name, ref: `vm-${name}`, uuid: uuidv7(), location: `/Paris/vm/shop/${name}`, ...changes })

const names = (body: Body) => body.items.map((item) => item.name)

describe('the list', () => {
  test('shows what counts: gone and ignored instances only when asked for', async () => {
    const paris = await addSite(db, 'paris')
    const lyon = await addSite(db, 'lyon')
    await addInstance(db, paris, { facts: named('web') })
    await addInstance(db, lyon, { facts: named('db'), readiness: 'blocked' })
    await addInstance(db, paris, { facts: named('golden'), ignored: 'template' })
    await addInstance(db, paris, { facts: named('old'), gone: true })
    expect(names((await get('/v1/instances')).body)).toEqual(['web', 'db'])
    expect(names((await get('/v1/instances?source=paris&ignored=any&gone=any')).body)).toEqual([
      'web',
      'golden',
      'old',
    ])
    expect(names((await get('/v1/instances?ignored=true')).body)).toEqual(['golden'])
    expect(names((await get('/v1/instances?gone=true')).body)).toEqual(['old'])
    expect(names((await get('/v1/instances?readiness=blocked')).body)).toEqual(['db'])
    const [web] = (await get('/v1/instances')).body.items
    expect(web).toMatchObject({
      source: 'paris',
      os_type: 'linux',
      distribution: 'ubuntu',
      cpus: 2,
      disks: 1,
      nics: 1,
      tracking: 'unverified',
      has_overrides: false,
      frozen_by: null,
    })
  })

  test('keeps its pages while a sync adds, changes and removes', async () => {
    const paris = await addSite(db, 'paris')
    const ids: string[] = []
    for (let at = 0; at < 6; at += 1) ids.push(await addInstance(db, paris, { facts: named(`vm-${at}`) }))
    const first = (await get('/v1/instances?limit=3')).body
    await db`update instance set name = 'zzz', changed_at = now(), revision = 9 where id = ${ids[0] ?? ''}`
    await db`update instance set gone_at = now() where id = ${ids[1] ?? ''}`
    const added = await addInstance(db, paris, { facts: named('vm-6') })
    const seen = first.items.map(({ id }) => id)
    for (let cursor = first.next_cursor; cursor !== null; ) {
      const { body } = await get(`/v1/instances?limit=2&cursor=${cursor}`)
      seen.push(...body.items.map(({ id }) => id))
      cursor = body.next_cursor
    }
    expect(seen).toEqual([...ids, added])
  })

  test('refuses a cursor of another list', async () => {
    const paris = await addSite(db, 'paris')
    for (let at = 0; at < 3; at += 1) await addInstance(db, paris, { facts: named(`vm-${at}`) })
    const { next_cursor: cursor } = (await get('/v1/instances?limit=1')).body
    expect((await get(`/v1/networks?cursor=${cursor}`)).body.code).toBe('cursor-invalid')
    expect((await get(`/v1/instances/:count?cursor=${cursor}`)).body.code).toBe('cursor-invalid')
  })
})

describe('a filter', () => {
  test('sees facts after overrides, tags, and the rules that count', async () => {
    const paris = await addSite(db, 'paris')
    const web = await addInstance(db, paris, { facts: named('web', { tags: { env: ['prod'] } }) })
    await addInstance(db, paris, { facts: named('db', { cpus: 8, tags: {} }) })
    await db`update instance set overrides = '{"cpus": 32}' where id = ${web}`
    await addFinding(db, { instanceId: web, rule: 'no-ipv4' })
    await addFinding(db, { instanceId: web, rule: 'agent-missing', waived: true })
    const match = async (filter: string) => names((await get(`/v1/instances?${filtered(filter)}`)).body)
    expect(await match('cpus > 16')).toEqual(['web'])
    expect(await match('has_tag("env", "prod")')).toEqual(['web'])
    expect(await match('path_dir(location) == "/Paris/vm/shop"')).toEqual(['web', 'db'])
    expect(await match('"no-ipv4" in findings')).toEqual(['web'])
    expect(await match('"agent-missing" in findings')).toEqual([])
    expect(await match('source == "lyon"')).toEqual([])
  })

  test('that is wrong is refused with the place, and what would fit', async () => {
    const refused = await get(`/v1/instances?${filtered('cpus > 4 &&\n nmae == "x"')}`)
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([422, 'filter-invalid', 'filter'])
    expect(refused.body.position).toBe(13)
    expect(refused.body.detail).toContain('line 2, column 2')
    expect(refused.body.detail.split('\n').slice(-2)).toEqual([' nmae == "x"', ' ^'])
    for (const path of ['/v1/instances/:count', '/v1/networks', '/v1/assessment', '/v1/assessment/instances'])
      expect((await get(`${path}?${filtered('cpus >')}`)).body.code, path).toBe('filter-invalid')
  })

  test('that fails on one instance is that one trouble, not the others', async () => {
    const paris = await addSite(db, 'paris')
    await addInstance(db, paris, { facts: named('web', { attributes: { owner: 'ann' } }) })
    const bare = await addInstance(db, paris, { facts: named('db', { attributes: {} }) })
    const { body } = await get(`/v1/instances?${filtered('attributes["owner"] == "ann"')}`)
    expect(names(body)).toEqual(['web'])
    expect(body).toMatchObject({ scanned: 2, error_count: 1, errors: [{ id: bare }] })
    const counted = await get(`/v1/instances/:count?${filtered('attributes["owner"] == "ann"')}`)
    expect(counted.body).toMatchObject({ matched: 1, scanned: 2, error_count: 1, next_cursor: null })
  })

  test('over many instances answers what it found in its time, and goes on from there', async () => {
    const paris = await addSite(db, 'paris')
    await db`
      insert into instance (id, site_id, ref, name, hash, revision, uuid, location, facts, os_type, distribution,
        distribution_version)
      select gen_random_uuid(), ${paris}, 'vm-' || n, 'vm-' || n, 'h', 1, 'u' || n, '/x/vm-' || n,
        ${JSON.stringify(sampleInstance())}::text::jsonb || jsonb_build_object('name', 'vm-' || n, 'cpus', n % 8 + 1),
        'linux', 'ubuntu', '22.04'
      from generate_series(1, 20000) n`
    // A clock by which every look at an instance takes a while: no answer can be whole, and no real one is late.
    let lookedMs = 0
    const clock = { ...systemClock, monotonicMs: () => (lookedMs += 20) }
    const slow = clientOf(depsOver(db, { clock, limits: { requestMs: 100_000 } }))
    let [matched, scanned, rounds] = [0, 0, 0]
    for (let cursor: string | null = ''; cursor !== null; rounds += 1) {
      const path = `/v1/instances/:count?${filtered('cpus == 3')}${cursor && `&cursor=${cursor}`}`
      const { body, text } = await slow('GET', path)
      expect(body.next_cursor, text).toBeDefined()
      matched += body.matched as number
      scanned += body.scanned as number
      cursor = body.next_cursor
    }
    expect({ matched, scanned }).toEqual({ matched: 2_500, scanned: 20_000 })
    expect(rounds).toBeGreaterThan(3)
    const page = (await slow('GET', `/v1/instances?limit=200&${filtered('cpus == 9')}`)).body
    expect(page.items).toEqual([])
    expect(page.next_cursor).not.toBeNull()
    const whole = await get(`/v1/instances/:count?${filtered('cpus == 3')}`)
    expect(whole.body.scanned).toBeGreaterThan(0)
  })
})

describe('an instance', () => {
  test('is shown with facts, overrides, findings, waivers and where its cards land', async () => {
    const paris = await addSite(db, 'paris')
    const network = await addNetwork(db, paris, sampleNetwork({ ref: 'network-7' }))
    const id = await addInstance(db, paris, {
      facts: named('web', { nics: [sampleNic({ network_ref: 'network-7' }), sampleNic({ key: '4001' })] }),
    })
    await addFinding(db, { instanceId: id, rule: 'agent-missing', evidence: ['None.'] })
    const waived = await call('POST', '/v1/waivers', {
      json: { rule: 'default-host-name', reason: 'known' },
    })
    await addFinding(db, { instanceId: id, rule: 'default-host-name', waived: true })
    const shown = await get(`/v1/instances/${id}`)
    expect(shown.status, shown.text).toBe(200)
    expect(shown.headers.get('etag')).toBe('"1"')
    expect(shown.body).toMatchObject({
      name: 'web',
      facts: { name: 'web' },
      effective: { name: 'web', target_name: 'web', os_type: 'linux' },
      overrides: {},
      pending: null,
      findings: [
        { rule: 'agent-missing', evidence: ['None.'], waived: false, waiver: null, waivable: true },
        { rule: 'default-host-name', waived: true, waiver: { id: waived.body.id, fleet_wide: true } },
      ],
      networks: [{ nic: '4000', network_id: network, placement: { nictype: expect.any(String) } }, {}],
    })
    expect((await get(`/v1/instances/${uuidv7()}`)).status).toBe(404)
  })

  test('that a batch holds shows what the source says now, beside the record', async () => {
    const paris = await addSite(db, 'paris')
    const facts = named('web')
    const pending = { type: 'facts', facts: { ...facts, cpus: 16, disks: [sampleDisk({ capacity: 5 })] } }
    const id = await addInstance(db, paris, { facts, frozenBy: 'wave-1', pending })
    const { body } = await get(`/v1/instances/${id}`)
    expect(body).toMatchObject({ cpus: 2, frozen_by: 'wave-1', has_pending: true })
    expect(body.pending).toMatchObject({
      type: 'facts',
      changes: [
        { path: 'cpus', from: 2, to: 16 },
        { path: 'disks[2000].capacity', to: 5 },
      ],
    })
    const gone = await addInstance(db, paris, {
      facts: named('db'),
      frozenBy: 'wave-1',
      pending: { type: 'gone' },
    })
    expect((await get(`/v1/instances/${gone}`)).body.pending).toMatchObject({ type: 'gone', changes: [] })
  })
})

describe('overrides', () => {
  const setUp = async () => {
    const paris = await addSite(db, 'paris')
    const id = await addInstance(db, paris, { facts: named('web') })
    const path = `/v1/instances/${id}/overrides`
    const put = (json: object, etag = '*') => call('PUT', path, { json, headers: { 'if-match': etag } })
    return { id, path, put }
  }

  test('are put, seen everywhere, judged at once, and taken away', async () => {
    const { id, path, put } = await setUp()
    expect((await get(path)).body).toMatchObject({ version: 1, overrides: {} })
    const done = await put({ cpus: 12, disable_migration: true, comment: 'not yet' }, '"1"')
    expect(done.status, done.text).toBe(200)
    expect(done.headers.get('etag')).toBe('"2"')
    const { body } = await get(`/v1/instances/${id}`)
    expect(body).toMatchObject({ cpus: 12, facts: { cpus: 2 }, readiness: 'blocked', has_overrides: true })
    expect(body.findings).toContainEqual(expect.objectContaining({ rule: 'disabled', waivable: false }))
    expect((await call('DELETE', path)).status).toBe(428)
    expect((await call('DELETE', path, { headers: { 'if-match': '"2"' } })).status).toBe(204)
    expect((await get(`/v1/instances/${id}`)).body).toMatchObject({ cpus: 2, overrides: {} })
    expect(await eventTypes(db)).toContain('instance.overrides-changed')
  })

  test.each([
    [{ cpus: 0 }, 'cpus'],
    [{ name: 'not a host name' }, 'name'],
    [{ colour: 'red' }, 'colour'],
    [{ started_after: true, stopped_after: true }, 'stopped_after'],
    [{ distribution_version: 'Bookworm' }, 'distribution_version'],
    [{ os_type: 'windows', distribution: 'debian' }, 'distribution'],
  ])('such as %j are refused by the name of the field', async (overrides, field) => {
    const { put } = await setUp()
    const refused = await put(overrides)
    expect([refused.status, refused.body.field]).toEqual([422, field])
  })

  test('of two who change at once one wins, and none while a batch holds the instance', async () => {
    const { id, put } = await setUp()
    const both = await Promise.all([put({ cpus: 3 }, '"1"'), put({ cpus: 4 }, '"1"')])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412])
    await db`update instance set frozen_by = 'wave-1' where id = ${id}`
    const refused = await put({ cpus: 5 })
    expect([refused.status, refused.body.code]).toEqual([409, 'instance-frozen'])
    expect(refused.body.detail).toContain('wave-1')
  })
})
