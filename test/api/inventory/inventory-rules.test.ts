import { v7 as uuidv7 } from 'uuid'
import { beforeEach, describe, expect, test } from 'vitest'
import { rules, rulesVersion } from '../../../src/domain/inventory/rules/catalogue.ts'
import { printable } from '../../../src/print/printable.mjs'
import { createDatabase } from '../../support/postgres.ts'
import { sampleInstance } from '../../unit/inventory/samples.ts'
import { clientOf, depsOver, tester } from '../setup.ts'
import { addFinding, addInstance, addSite, emptyInventory, eventTypes } from './inventory-rows.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))
const get = (path: string) => call('GET', path)

beforeEach(() => emptyInventory(db))

const named = (name: string, changes: Parameters<typeof sampleInstance>[0] = {}) =>
  sampleInstance({ name, ref: `vm-${name}`, uuid: uuidv7(), ...changes })

const waive = (json: object) => call('POST', '/v1/waivers', { json: { reason: 'agreed', ...json } })

/** An instance that breaks `no-ipv4` and `agent-missing`, judged by the rules themselves. */
const addTroubled = async (source: string, name: string) => {
  const facts = named(name, {
    nics: sampleInstance().nics.map((nic) => ({ ...nic, ipv4_addresses: [] })),
    guest: { agent: 'not-installed', agent_version: '', hostname: name },
  })
  const id = await addInstance(db, source, { facts })
  const path = `/v1/instances/${id}/overrides`
  const done = await call('PUT', path, { json: { comment: 'x' }, headers: { 'if-match': '*' } })
  expect(done.status, done.text).toBe(200)
  return id
}

test('every rule is listed with how many break it', async () => {
  const paris = await addSite(db, 'paris')
  await addTroubled(paris, 'web')
  const gone = await addInstance(db, paris, { facts: named('old'), gone: true })
  const ignored = await addInstance(db, paris, { facts: named('golden'), ignored: 'template' })
  for (const instanceId of [gone, ignored]) await addFinding(db, { instanceId, rule: 'no-ipv4' })
  const { body } = await get('/v1/rules')
  expect(body.version).toBe(rulesVersion)
  expect(body.items.map(({ id }) => id)).toEqual(rules.map(({ id }) => id))
  const counted = (id: string) => body.items.find((item) => item.id === id)
  expect(counted('no-ipv4')).toMatchObject({
    broken: 1,
    waived: 0,
    severity: 'critical',
    allowance: 'allow_no_ipv4',
  })
  expect(counted('agent-missing')).toMatchObject({ broken: 1 })
  expect(counted('disabled')).toMatchObject({ broken: 0, waivable: false, allowance: null })
})

describe('a waiver', () => {
  test('of one instance counts at once, is seen with it, and goes', async () => {
    const paris = await addSite(db, 'paris')
    const id = await addTroubled(paris, 'web')
    expect((await get(`/v1/instances/${id}`)).body.readiness).toBe('blocked')
    const waived = await waive({ rule: 'no-ipv4', instance_id: id })
    expect(waived.status, waived.text).toBe(201)
    expect(waived.body).toMatchObject({ instance: 'web', source: 'paris', until: null, over: false })
    const { body } = await get(`/v1/instances/${id}`)
    expect(body.readiness).toBe('warning')
    expect(body.findings).toContainEqual(
      expect.objectContaining({
        rule: 'no-ipv4',
        waived: true,
        waiver: expect.objectContaining({ id: waived.body.id, by: tester, fleet_wide: false }),
      }),
    )
    expect((await waive({ rule: 'no-ipv4', instance_id: id })).status).toBe(409)
    expect((await get(`/v1/waivers?instance_id=${id}`)).body.items).toHaveLength(1)
    expect((await call('DELETE', `/v1/waivers/${waived.body.id}`)).status).toBe(204)
    expect((await get(`/v1/instances/${id}`)).body.readiness).toBe('blocked')
    expect((await call('DELETE', `/v1/waivers/${waived.body.id}`)).status).toBe(404)
    const types = await eventTypes(db)
    expect(types.filter((type) => type.startsWith('waiver.'))).toEqual(['waiver.created', 'waiver.deleted'])
  })

  test('of the fleet marks those that break the rule, and only those', async () => {
    const paris = await addSite(db, 'paris')
    const troubled = await addTroubled(paris, 'web')
    const fine = await addInstance(db, paris, { facts: named('db') })
    await db`update instance set rules_version = 'v'`
    expect((await waive({ rule: 'no-ipv4' })).body).toMatchObject({ instance_id: null, instance: null })
    const stale = await db<{ id: string }[]>`select id from instance where rules_version = ''`
    expect(stale.map(({ id }) => id)).toEqual([troubled])
    expect(stale.map(({ id }) => id)).not.toContain(fine)
  })

  test('that is over makes room for the next', async () => {
    const until = new Date(Date.now() + 60_000).toISOString()
    expect((await waive({ rule: 'no-ipv4', until })).status).toBe(201)
    expect((await waive({ rule: 'no-ipv4' })).body.code).toBe('waiver-exists')
    await db`update waiver set until = now() - interval '1 second'`
    expect((await get('/v1/waivers')).body.items).toMatchObject([{ over: true }])
    expect((await waive({ rule: 'no-ipv4' })).status).toBe(201)
  })

  test.each([
    [{ rule: 'no-such-rule' }, 'rule', 'validation-failed'],
    [{ rule: 'disabled' }, 'rule', 'rule-not-waivable'],
    [{ rule: 'no-ipv4', reason: ' ' }, 'reason', 'validation-failed'],
    [{ rule: 'no-ipv4', until: '2020-01-01T00:00:00Z' }, 'until', 'validation-failed'],
    [{ rule: 'no-ipv4', until: 'tomorrow' }, 'until', 'validation-failed'],
    [{ rule: 'no-ipv4', instance_id: uuidv7() }, 'instance_id', 'validation-failed'],
  ])('such as %j is refused', async (json, field, code) => {
    const refused = await waive(json)
    expect([refused.status, refused.body.field, refused.body.code]).toEqual([422, field, code])
  })
})

describe('the assessment', () => {
  const setUp = async () => {
    const paris = await addSite(db, 'paris')
    const lyon = await addSite(db, 'lyon')
    await addTroubled(paris, 'web')
    await addTroubled(lyon, 'db')
    await addInstance(db, paris, { facts: named('good') })
    await addInstance(db, paris, { facts: named('golden'), ignored: 'template' })
  }

  test('counts by readiness, source and rule; with a filter the same way', async () => {
    await setUp()
    const all = (await get('/v1/assessment')).body
    expect(all).toMatchObject({
      totals: { instances: 3, ready: 1, warning: 0, blocked: 2 },
      sources: [
        { source: 'lyon', instances: 1, blocked: 1 },
        { source: 'paris', instances: 2, blocked: 1 },
      ],
      synced: { never: 2 },
      next_cursor: null,
    })
    const everything = (await get(`/v1/assessment?filter=${encodeURIComponent('cpus > 0')}`)).body
    expect({ ...everything, synced: null }).toEqual({ ...all, synced: null })
    const one = (await get(`/v1/assessment?filter=${encodeURIComponent('name == "web"')}`)).body
    expect(one).toMatchObject({ totals: { instances: 1, blocked: 1 }, scanned: 3 })
    expect((await get('/v1/assessment?source=lyon')).body).toMatchObject({ totals: { instances: 1 } })
  })

  test('leads to the instances behind a rule', async () => {
    await setUp()
    const { body } = await get('/v1/assessment/instances?rule=no-ipv4&source=paris')
    expect(body.items).toMatchObject([
      { name: 'web', findings: expect.arrayContaining([expect.objectContaining({ rule: 'no-ipv4' })]) },
    ])
    const first = (await get('/v1/assessment/instances?rule=no-ipv4&limit=1')).body
    const second = await get(`/v1/assessment/instances?rule=no-ipv4&limit=1&cursor=${first.next_cursor}`)
    expect(second.body.items.map(({ name }) => name)).not.toEqual(first.items.map(({ name }) => name))
    expect(second.body.next_cursor).toBeNull()
  })

  /** As a spreadsheet reads it. */
  const parseCsv = (text: string): string[][] =>
    text
      .split('\r\n')
      .filter((line) => line !== '')
      .map((line) =>
        [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map((match) => (match[1] ?? '').replaceAll('""', '"')),
      )

  test.each([
    ['format=csv', {}],
    ['', { accept: 'text/csv' }],
  ])('is a line for each instance and rule as CSV (%j, %j)', async (query, headers) => {
    await setUp()
    const reply = await call('GET', `/v1/assessment?${query}`, { headers })
    expect(reply.headers.get('content-type')).toContain('text/csv')
    const [head, ...lines] = parseCsv(reply.text)
    const at = (name: string) => head?.indexOf(name) ?? -1
    const rulesOf = (name: string) =>
      lines.filter((line) => line[at('name')] === name).map((line) => line[at('rule')])
    expect(rulesOf('web')).toEqual(expect.arrayContaining(['no-ipv4', 'agent-missing']))
    expect(rulesOf('good')).toEqual([''])
    expect(rulesOf('golden')).toEqual([])
    expect(lines.every((line) => line.length === head?.length)).toBe(true)
  })

  // promise: hostile-words
  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', ' =1', 'a","=1', 'a"\r\n=1'])(
    'is no way into a spreadsheet for a machine called %j',
    async (name) => {
      const paris = await addSite(db, 'paris')
      await addInstance(db, paris, { facts: named(name) })
      const { text } = await get('/v1/assessment?format=csv')
      const cells = [...text.matchAll(/"((?:[^"]|"")*)"/g)].map((match) => match[1] ?? '')
      expect(cells.length % 20).toBe(0)
      expect(cells.filter((cell) => /^\s*[=+\-@\t\r]/.test(cell))).toEqual([])
      expect(text).toContain(printable(name).replaceAll('"', '""'))
    },
  )

  test('as CSV names what a filter could not judge', async () => {
    await setUp()
    const filter = encodeURIComponent('attributes["no-such"] == "x"')
    const [, ...lines] = parseCsv((await get(`/v1/assessment?format=csv&filter=${filter}`)).text)
    expect(lines).toHaveLength(3)
    expect(lines.every((line) => (line.at(-1) ?? '').length > 0)).toBe(true)
  })
})

describe('warnings', () => {
  const addWarning = async (type: string) => {
    const id = uuidv7()
    await db`
      insert into warning (id, type, entity_type, entity_id, entity_name, messages)
      values (${id}, ${type}, 'source', 'paris', 'paris',
        '[{"text":"two were left out","first_seen_at":"2026-11-18T14:00:00.000Z","last_seen_at":"2026-11-18T15:00:00.000Z"}]')`
    return id
  }

  test('are listed, acknowledged by name, and opened again', async () => {
    const id = await addWarning('instances-ignored')
    await addWarning('sync-failed')
    expect((await get('/v1/warnings')).body.items).toHaveLength(2)
    expect((await get('/v1/warnings?type=sync-failed')).body.items).toHaveLength(1)
    expect((await get('/v1/warnings?entity=source/paris')).body.items).toHaveLength(2)
    expect((await get('/v1/warnings?entity=source/lyon')).body.items).toEqual([])
    const act = (verb: string) => call('POST', `/v1/warnings/${id}/:${verb}`)
    expect((await act('acknowledge')).body).toMatchObject({
      status: 'acknowledged',
      acknowledged_by: tester,
      messages: [{ text: 'two were left out' }],
    })
    await act('acknowledge')
    expect((await get('/v1/warnings?status=new')).body.items).toHaveLength(1)
    expect((await act('reopen')).body).toMatchObject({ status: 'new', acknowledged_by: null })
    expect(await eventTypes(db)).toEqual(['warning.acknowledged', 'warning.reopened'])
    expect((await call('POST', `/v1/warnings/${uuidv7()}/:acknowledge`)).status).toBe(404)
    expect((await get(`/v1/warnings/${id}`)).body).toMatchObject({ type: 'instances-ignored', count: 1 })
  })
})
