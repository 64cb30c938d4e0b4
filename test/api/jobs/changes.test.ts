import { v7 as uuidv7 } from 'uuid'
import { beforeEach, describe, expect, test } from 'vitest'
import { settings } from '../../../src/domain/settings.ts'
import { webhookKey } from '../../../src/ledger/events/webhook-signature.ts'
import { webhookSecretPlace, webhookUrlPlace } from '../../../src/seal/seal-places.ts'
import { untilReadable } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver, sealer, tester } from '../setup.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))
const hook = { name: 'chat', url: 'https://example.org/hook', types: ['job.failed', 'effect.*'] }

beforeEach(async () => {
  await db`truncate setting, admission_limit, webhook, event`
})

const eventTypes = async () =>
  (await db<{ type: string }[]>`select type from event order by era, xid, id`).map((row) => row.type)

const limit = `/v1/limits/${encodeURIComponent('target-imports/lab')}`

describe.each([
  ['a setting', 'PUT', '/v1/settings/retention-jobs-days', { value: 7 }, { value: 9 }],
  ['a limit', 'PUT', limit, { capacity: 3 }, { capacity: 4 }],
])('%s', (_what, method, path, one, two) => {
  test('is changed only by who has seen what it is now', async () => {
    const before = await call('GET', path)
    const etag = before.headers.get('etag') ?? ''
    expect(etag).toBe('"0"')
    const blind = await call(method, path, { json: one })
    expect([blind.status, blind.body.code]).toEqual([428, 'if-match-required'])
    const first = await call(method, path, { json: one, headers: { 'if-match': etag } })
    expect(first.status, first.text).toBe(200)
    expect(first.body).toMatchObject(one)
    expect(first.body.updated_by).toBe(tester)
    const late = await call(method, path, { json: two, headers: { 'if-match': etag } })
    expect([late.status, late.body.code]).toEqual([412, 'version-mismatch'])
    const current = (await call('GET', path)).headers.get('etag') ?? ''
    expect(current).toBe(first.headers.get('etag'))
    expect((await call(method, path, { json: two, headers: { 'if-match': `"x", ${current}` } })).status).toBe(
      200,
    )
    expect((await call(method, path, { json: one, headers: { 'if-match': '*' } })).status).toBe(200)
    expect(await eventTypes()).toHaveLength(3)
  })

  test('is changed once by two at the same time', async () => {
    const change = () => call(method, path, { json: one, headers: { 'if-match': '"0"' } })
    const statuses = (await Promise.all([change(), change(), change()])).map((reply) => reply.status)
    expect(statuses.sort()).toEqual([200, 412, 412])
  })
})

test('a setting refuses a value out of its bounds, and an unknown one is 404', async () => {
  const headers = { 'if-match': '"0"' }
  const refused = await call('PUT', '/v1/settings/retention-jobs-days', { json: { value: 0 }, headers })
  expect([refused.status, refused.body.field]).toEqual([422, 'value'])
  expect((await call('PUT', '/v1/settings/colour', { json: { value: 0 }, headers })).status).toBe(404)
  expect((await call('GET', '/v1/settings/__proto__')).status).toBe(404)
  const { body } = await call('GET', '/v1/settings')
  expect(body.items).toHaveLength(settings.length)
  expect(body.items.find((item) => item.name === 'retention-jobs-days')).toMatchObject({
    value: 30,
    default: 30,
    unit: 'days',
    version: 0,
  })
})

test('a limit of a thing follows its class until it has its own, and goes back', async () => {
  const capacity = async () => (await call('GET', limit)).body
  await call('PUT', '/v1/limits/target-imports', { json: { capacity: 2 }, headers: { 'if-match': '"0"' } })
  expect(await capacity()).toMatchObject({ capacity: 2, origin: 'class' })
  await call('PUT', limit, { json: { capacity: 1 }, headers: { 'if-match': '*' } })
  expect(await capacity()).toMatchObject({ capacity: 1, origin: 'set' })
  expect((await call('DELETE', limit)).status).toBe(428)
  expect((await call('DELETE', limit, { headers: { 'if-match': '*' } })).status).toBe(204)
  expect(await capacity()).toMatchObject({ capacity: 2, origin: 'class' })
  expect((await call('GET', '/v1/limits/coffee')).status).toBe(404)
  expect((await call('GET', '/v1/limits')).body.items.map((item) => item.name)).toContain('link')
})

describe('webhooks', () => {
  const create = async () => await call('POST', '/v1/webhooks', { json: hook })

  test('the secret is shown once, works for signing, and is stored sealed', async () => {
    const made = await create()
    expect(made.status, made.text).toBe(201)
    expect(webhookKey(made.body.secret)).toBeDefined()
    const shown = await call('GET', `/v1/webhooks/${made.body.id}`)
    expect(shown.text).not.toContain('whsec')
    const { url, ...rest } = hook
    expect(shown.body).toMatchObject({
      ...rest,
      origin: new URL(url).origin,
      state: 'active',
      version: 1,
      delivery: { failures: 0 },
    })
    const [row] = await db<{ secret: Buffer }[]>`select secret from webhook`
    expect(sealer.open(row?.secret ?? Buffer.alloc(0), webhookSecretPlace(made.body.id))).toBe(
      made.body.secret,
    )
    const twice = await create()
    expect([twice.status, twice.body.code]).toEqual([409, 'name-taken'])
  })

  test('of its URL only the origin is anywhere but under seal: not in answers, rows, events or kept answers', async () => {
    const [path, query] = ['very-hidden-path', 'very-hidden-query']
    const url = (more: string) => `https://hooks.example.org/services/${path}${more}?token=${query}`
    const made = await call('POST', '/v1/webhooks', {
      json: { name: 'secretive', url: url('') },
      headers: { 'idempotency-key': 'secretive' },
    })
    expect(made.body).toMatchObject({ origin: 'https://hooks.example.org' })
    const changed = await call('PATCH', `/v1/webhooks/${made.body.id}`, {
      json: { url: url('/2') },
      headers: { 'if-match': '*' },
    })
    await untilReadable(db)
    const shown = [made, changed, await call('GET', '/v1/webhooks'), await call('GET', '/v1/events')]
    const rows = await db<{ row: string }[]>`
      select row_to_json(w)::text as row from webhook w union all select row_to_json(e)::text from event e
      union all select row_to_json(a)::text from api_request a`
    const told = [...shown.map(({ text }) => text), ...rows.map(({ row }) => row)].join('\n')
    for (const hidden of [path, query]) {
      expect(told).not.toContain(hidden)
      expect(told).not.toContain(Buffer.from(hidden).toString('hex'))
    }
    const [row] = await db<{ url: string; sealedUrl: Buffer }[]>`
      select url, sealed_url from webhook where id = ${made.body.id}`
    if (!row) throw new Error('The webhook is gone.')
    expect(sealer.open(row.sealedUrl, webhookUrlPlace(made.body.id, row.url))).toBe(url('/2'))
  })

  test('is changed and deleted only with its ETag', async () => {
    const { body, headers } = await create()
    const path = `/v1/webhooks/${body.id}`
    const etag = headers.get('etag') ?? ''
    expect((await call('PATCH', path, { json: { types: [] } })).status).toBe(428)
    const changed = await call('PATCH', path, { json: { types: [] }, headers: { 'if-match': etag } })
    expect(changed.body).toMatchObject({ name: 'chat', types: [], version: 2 })
    expect((await call('PATCH', path, { json: { name: 'x' }, headers: { 'if-match': etag } })).status).toBe(
      412,
    )
    expect((await call('PATCH', path, { json: {}, headers: { 'if-match': '*' } })).status).toBe(422)
    expect((await call('DELETE', path)).status).toBe(428)
    expect((await call('DELETE', path, { headers: { 'if-match': etag } })).status).toBe(412)
    expect((await call('DELETE', path, { headers: { 'if-match': '"2"' } })).status).toBe(204)
    expect((await call('GET', path)).status).toBe(404)
    expect(await eventTypes()).toEqual(['webhook.created', 'webhook.changed', 'webhook.deleted'])
  })

  test('is paused, resumed and replayed from a cursor', async () => {
    const { body } = await create()
    const act = (verb: string, json?: unknown) => call('POST', `/v1/webhooks/${body.id}/${verb}`, { json })
    expect((await act(':pause')).body.state).toBe('paused')
    expect((await act(':resume')).body.state).toBe('active')
    expect((await act(':replay', { from: '1-7-3' })).body).toMatchObject({ delivery: { cursor: '1-7-3' } })
    expect((await act(':replay', { from: 'start' })).body).toMatchObject({ delivery: { cursor: '0-0-0' } })
    const refused = await act(':replay', { from: '1-99999999999999999999-3' })
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([422, 'cursor-invalid', 'from'])
    expect((await call('POST', `/v1/webhooks/${uuidv7()}/:pause`)).status).toBe(404)
  })

  test.each([
    'http://example.org/hook',
    'https://user:secret@example.org/hook',
    'https://169.254.169.254/latest/meta-data',
    'https://[fe80::1]/',
    'https://[::ffff:169.254.169.254]/',
    'http://127.0.0.1.example.org/',
    'ftp://example.org/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'example.org',
    '//example.org',
    'http://0.0.0.0/',
    'https://0/',
  ])('an address that Drover must not call is refused: %s', async (url) => {
    const refused = await call('POST', '/v1/webhooks', { json: { ...hook, url } })
    expect([refused.status, refused.body.field]).toEqual([422, 'url'])
    expect(refused.text).not.toContain('user:secret')
  })

  test.each([
    'http://127.0.0.1:9999/hook',
    'http://localhost/hook',
    'http://[::1]:9/',
    'https://example.org:8443/a?b=c',
  ])('an address that is fine is taken: %s', async (url) => {
    expect((await call('POST', '/v1/webhooks', { json: { ...hook, url } })).status).toBe(201)
  })
})
