import { beforeEach, describe, expect, test } from 'vitest'
import { ensureAdminToken } from '../../../src/api/access/tokens.ts'
import { readSession, writeSession } from '../../../src/api/http/session.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'
import { depsOver, sealer, selfTestJob, strangerOf, tokensFor } from '../setup.ts'

const database = await createDatabase()
const { db } = database
const deps = () => depsOver(db)

beforeEach(async () => {
  await db`truncate access_token`
})

describe('before any token exists', () => {
  test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.7', 'unknown'])(
    'nobody gets in, also not on this machine: %s',
    async (peer) => {
      const refused = await strangerOf(deps())('GET', '/v1/tokens', { peer })
      expect([refused.status, refused.body.code]).toEqual([401, 'unauthenticated'])
      expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer /)
    },
  )

  test('a name of another site that was made to point here is not answered', async () => {
    const call = strangerOf(deps())
    for (const host of ['evil.example', 'evil.example:7070', '127.0.0.1.evil.example', 'localhost.evil'])
      expect((await call('GET', '/login', { headers: { host } })).body.code).toBe('host-not-allowed')
    for (const host of ['localhost:7070', '127.0.0.1', '[::1]:7070', 'drover.localhost'])
      expect((await call('GET', '/login', { headers: { host } })).status).toBe(200)
    const open = strangerOf(depsOver(db, { host: '0.0.0.0' }))
    expect((await open('GET', '/login', { headers: { host: 'drover.example.org' } })).status).toBe(200)
  })
})

describe('once a token exists', () => {
  test('it is needed everywhere but for health and the way in', async () => {
    const call = strangerOf(deps())
    await tokensFor(db)
    for (const path of ['/v1/jobs', '/v1/openapi.json', '/metrics', '/docs', '/queues', '/', '/nothing'])
      expect([path, (await call('GET', path)).status]).toEqual([path, 401])
    for (const path of ['/healthz', '/login', '/assets/api.css'])
      expect([path, (await call('GET', path)).status]).toEqual([path, 200])
    expect((await call('GET', '/readyz')).status).toBe(503)
  })

  test('a revoked, expired, unknown or malformed token is 401', async () => {
    const call = strangerOf(deps())
    const { admin, operator, viewer } = await tokensFor(db)
    await db`update access_token set expires_at = now() - interval '1 second' where role = 'viewer'`
    const { body } = await call('GET', '/v1/tokens', { as: admin })
    const target = body.items.find((token) => token.role === 'operator')
    expect((await call('GET', '/v1/jobs', { as: operator })).status).toBe(200)
    expect((await call('DELETE', `/v1/tokens/${target?.id}`, { as: admin })).status).toBe(204)
    for (const as of [operator, viewer, `${admin}x`, 'drv_0000_not-a-token-of-ours'])
      expect((await call('GET', '/v1/jobs', { as })).body.code).toBe('unauthenticated')
    for (const authorization of ['Basic YTpi', `Bearer  ${admin}`, admin])
      expect((await call('GET', '/v1/jobs', { headers: { authorization } })).status).toBe(401)
  })

  test('the last use is written, but not for every request', async () => {
    const call = strangerOf(deps())
    const { viewer } = await tokensFor(db)
    const lastUse = async () => {
      const [row] = await db<
        { at: Date | null }[]
      >`select last_used_at as at from access_token where role = 'viewer'`
      return row?.at ?? undefined
    }
    await call('GET', '/v1/jobs', { as: viewer })
    const first = await until(lastUse, { what: 'the last use to be written' })
    await call('GET', '/v1/jobs', { as: viewer })
    await call('GET', '/v1/jobs', { as: viewer })
    expect(await lastUse()).toEqual(first)
  })

  test('guessing is slowed down for the guesser, not for who is known', async () => {
    const call = strangerOf(depsOver(db, { limits: { failuresBurst: 3, failureRefillMs: 60_000 } }))
    const { viewer } = await tokensFor(db)
    expect((await call('GET', '/v1/jobs', { as: viewer, peer: '10.0.0.1' })).status).toBe(200)
    const guess = () => call('GET', '/v1/jobs', { as: 'drv_00000000_guess-guess', peer: '10.0.0.1' })
    const statuses = [await guess(), await guess(), await guess(), await guess()].map((reply) => reply.status)
    expect(statuses).toEqual([401, 401, 401, 429])
    const refused = await guess()
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30)
    expect((await call('GET', '/v1/jobs', { as: viewer, peer: '10.0.0.1' })).status).toBe(200)
    expect((await call('GET', '/v1/jobs', { peer: '10.0.0.2' })).status).toBe(401)
  })
})

describe('tokens', () => {
  test('the secret is shown once and stored only as a hash', async () => {
    const call = strangerOf(deps())
    const { admin } = await tokensFor(db)
    const made = await call('POST', '/v1/tokens', { json: { name: 'ci', role: 'admin' }, as: admin })
    expect(made.status).toBe(201)
    expect(made.body.secret).toMatch(/^drv_[0-9a-f]{8}_[\w-]{43}$/)
    const list = await call('GET', '/v1/tokens', { as: made.body.secret })
    expect(list.text).not.toContain(made.body.secret)
    const [row] = await db`select string_agg(row_to_json(access_token)::text, ' ') as text from access_token`
    expect(row?.text).not.toContain(made.body.secret.slice(13))
  })

  test('a name is taken once among the living', async () => {
    const call = strangerOf(deps())
    const { admin } = await tokensFor(db)
    const json = { name: 'ci', role: 'viewer' }
    const first = await call('POST', '/v1/tokens', { json, as: admin })
    const second = await call('POST', '/v1/tokens', { json, as: admin })
    expect([second.status, second.body.code, second.body.field]).toEqual([409, 'name-taken', 'name'])
    await call('DELETE', `/v1/tokens/${first.body.id}`, { as: admin })
    expect((await call('POST', '/v1/tokens', { json, as: admin })).status).toBe(201)
  })

  test('the last admin token cannot be revoked', async () => {
    const call = strangerOf(deps())
    const { admin } = await tokensFor(db)
    const mine = (await call('GET', '/v1/tokens', { as: admin })).body.items.find(
      (token) => token.role === 'admin',
    )
    const refused = await call('DELETE', `/v1/tokens/${mine?.id}`, { as: admin })
    expect([refused.status, refused.body.code]).toEqual([409, 'last-admin'])
    await call('POST', '/v1/tokens', { json: { name: 'second', role: 'admin' }, as: admin })
    expect((await call('DELETE', `/v1/tokens/${mine?.id}`, { as: admin })).status).toBe(204)
  })

  test('an expiry in the past is refused', async () => {
    const json = { name: 'late', role: 'viewer', expires_at: '2020-01-01T00:00:00Z' }
    const { admin } = await tokensFor(db)
    const refused = await strangerOf(deps())('POST', '/v1/tokens', { json, as: admin })
    expect([refused.status, refused.body.field]).toEqual([422, 'expires_at'])
  })

  test('the first start makes an admin token, the next one none', async () => {
    const first = await ensureAdminToken(db, undefined)
    expect(first.created).toBe(true)
    expect((await strangerOf(deps())('GET', '/v1/tokens', { as: first.token })).status).toBe(200)
    expect(await ensureAdminToken(db, undefined)).toEqual({ created: false, admins: 1 })
  })

  test('a preset token is kept, and replaced when it changed', async () => {
    const call = strangerOf(deps())
    const works = async (as: string) => (await call('GET', '/v1/tokens', { as })).status === 200
    const [one, two] = ['preset-one-preset-one', 'preset-two-preset-two']
    expect((await ensureAdminToken(db, one)).created).toBe(true)
    expect((await ensureAdminToken(db, one)).created).toBe(false)
    expect([await works(one), await works(two)]).toEqual([true, false])
    await ensureAdminToken(db, two)
    expect([await works(one), await works(two)]).toEqual([false, true])
  })

  // promise: token-ends
  test('a preset token that was revoked stays dead, whatever starts with it', async () => {
    const call = strangerOf(deps())
    const works = async (as: string) => (await call('GET', '/v1/tokens', { as })).status === 200
    const [one, two] = ['preset-one-preset-one', 'preset-two-preset-two']
    await ensureAdminToken(db, one)
    await db`update access_token set revoked_at = now()`
    const again = await ensureAdminToken(db, one)
    expect(await works(one)).toBe(false)
    expect(again).toMatchObject({ preset: 'revoked', admins: 0 })
    expect(await ensureAdminToken(db, two)).toMatchObject({ preset: 'stored', admins: 1 })
    // The one that `two` took the place of, too: going back to it changes nothing.
    expect(await ensureAdminToken(db, one)).toMatchObject({ preset: 'revoked', admins: 1 })
    expect([await works(one), await works(two)]).toEqual([false, true])
  })

  test.each(['expired', 'not an admin'])('a preset token that is %s opens nothing', async (how) => {
    const preset = 'preset-one-preset-one'
    await ensureAdminToken(db, preset)
    if (how === 'expired') await db`update access_token set expires_at = now() - interval '1 second'`
    else await db`update access_token set role = 'viewer'`
    expect(await ensureAdminToken(db, preset)).toMatchObject({ preset: how, admins: 0 })
    expect((await strangerOf(deps())('GET', '/v1/tokens', { as: preset })).status).not.toBe(200)
  })
})

describe('the browser', () => {
  const cookieOf = (headers: Headers) => (headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const form = { 'content-type': 'application/x-www-form-urlencoded' }

  test('signs in with a token, acts by a cookie from our pages alone, and out again', async () => {
    const call = strangerOf(deps())
    const { operator } = await tokensFor(db)
    const raw = new URLSearchParams({ token: operator, next: '/docs?x=1' }).toString()
    const entered = await call('POST', '/login', { raw, headers: form })
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/docs?x=1'])
    const setCookie = entered.headers.get('set-cookie') ?? ''
    expect(setCookie).toMatch(/HttpOnly/)
    expect(setCookie).toMatch(/SameSite=Strict/)
    expect(setCookie).not.toContain(operator)
    const cookie = cookieOf(entered.headers)
    expect((await call('GET', '/v1/jobs', { headers: { cookie } })).status).toBe(200)
    const foreign = await call('POST', '/v1/jobs', {
      json: selfTestJob,
      headers: { cookie, origin: 'https://evil.example' },
    })
    expect([foreign.status, foreign.body.code]).toEqual([403, 'cross-origin'])
    const own = { cookie, origin: 'http://127.0.0.1:7070', host: '127.0.0.1:7070' }
    expect((await call('POST', '/v1/jobs', { json: selfTestJob, headers: own })).status).toBe(202)
    expect((await call('POST', '/logout', { headers: { cookie } })).headers.get('set-cookie')).toMatch(
      /Max-Age=0/,
    )
    await db`update access_token set revoked_at = now() where role = 'operator'`
    expect((await call('GET', '/v1/jobs', { headers: { cookie } })).status).toBe(401)
  })

  test('a wrong token shows the form again with a reason, and a page leads to the form', async () => {
    const call = strangerOf(deps())
    await tokensFor(db)
    const wrong = await call('POST', '/login', { raw: 'token=drv_00000000_wrong', headers: form })
    expect(wrong.status).toBe(401)
    expect(wrong.text).toContain('role="alert"')
    expect(wrong.headers.has('set-cookie')).toBe(false)
    const page = await call('GET', '/docs', { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('location')]).toEqual([303, '/login?next=%2Fdocs'])
  })

  test('a session that was changed, is over, or is of another installation counts for nothing', () => {
    const session = { tokenId: '0199c0de-0000-7000-8000-000000000000', expiresAtMs: 2_000 }
    const value = writeSession(sealer, session)
    expect(readSession(sealer, value, 1_999)).toMatchObject(session)
    expect(readSession(sealer, value, 2_000)).toBeUndefined()
    expect(readSession(sealer, value.replace('.2000.', '.9000.'), 1_000)).toBeUndefined()
    expect(readSession(sealer, `${value}x`, 1_000)).toBeUndefined()
    expect(readSession(sealer, 'nonsense', 1_000)).toBeUndefined()
  })
})
