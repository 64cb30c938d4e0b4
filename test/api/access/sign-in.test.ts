import { BlockList } from 'node:net'
import { beforeEach, describe, expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'
import { depsOver, strangerOf, tokensFor } from '../setup.ts'

const database = await createDatabase()
const { db } = database
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const signIn = (token: string) => ({ raw: new URLSearchParams({ token }).toString(), headers: form })
const cookieOf = (headers: Headers) => (headers.get('set-cookie') ?? '').split(';')[0] ?? ''
const few = { failuresBurst: 3, failureRefillMs: 60_000 }
const wrong = 'drv_00000000_guess-guess'

beforeEach(async () => {
  await db`truncate access_token, ended_session, event`
})

describe('what a neighbour at the same address does', () => {
  // promise: noisy-neighbour
  test('requests without a token take nothing from those who sign in', async () => {
    const call = strangerOf(depsOver(db, { limits: few }))
    const { viewer, operator } = await tokensFor(db)
    for (let round = 0; round < 10; round += 1) expect((await call('GET', '/v1/jobs')).status).toBe(401)
    expect((await call('POST', '/login', signIn(viewer))).status).toBe(303)
    expect((await call('GET', '/v1/jobs', { as: operator })).status).toBe(200)
  })

  // promise: noisy-neighbour
  test('a good token that this process has not seen yet works while somebody guesses', async () => {
    const call = strangerOf(depsOver(db, { limits: few }))
    const { viewer, operator } = await tokensFor(db)
    const guesses = [1, 2, 3, 4, 5].map(async () => (await call('GET', '/v1/jobs', { as: wrong })).status)
    expect((await Promise.all(guesses)).filter((status) => status === 429)).toHaveLength(2)
    expect((await call('GET', '/v1/jobs', { as: viewer })).status).toBe(200)
    expect((await call('POST', '/login', signIn(operator))).status).toBe(303)
    expect((await call('POST', '/login', signIn(wrong))).status).toBe(429)
  })

  test('a flood without a token is slowed down, and nobody with a token is', async () => {
    const limits = { anonymousPerSecond: 0.001, anonymousBurst: 5 }
    const call = strangerOf(depsOver(db, { limits }))
    const { viewer } = await tokensFor(db)
    const statuses: number[] = []
    for (let round = 0; round < 7; round += 1) statuses.push((await call('GET', '/v1/jobs')).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429])
    expect((await call('POST', '/login', signIn(viewer))).status).toBe(303)
    expect((await call('GET', '/v1/jobs', { peer: '10.0.0.2' })).status).toBe(401)
  })
})

describe('a sign-out', () => {
  // promise: token-ends
  test('ends the session on the server, in every API, and no other session of the token', async () => {
    const [one, other] = [strangerOf(depsOver(db)), strangerOf(depsOver(db))]
    const { viewer } = await tokensFor(db)
    const cookie = cookieOf((await one('POST', '/login', signIn(viewer))).headers)
    const later = depsOver(db).clock.now() + 1
    while (depsOver(db).clock.now() <= later) await Promise.resolve()
    const second = cookieOf((await one('POST', '/login', signIn(viewer))).headers)
    for (const api of [one, other])
      expect((await api('GET', '/v1/jobs', { headers: { cookie } })).status).toBe(200)
    expect((await one('POST', '/logout', { headers: { cookie } })).status).toBe(303)
    for (const api of [one, other]) {
      expect((await api('GET', '/v1/jobs', { headers: { cookie } })).status).toBe(401)
      expect((await api('GET', '/v1/jobs', { headers: { cookie: second } })).status).toBe(200)
    }
    expect((await one('GET', '/v1/jobs', { as: viewer })).status).toBe(200)
  })
})

interface Told {
  readonly type: string
  readonly subject: string
  readonly actor: string
  readonly detail: Record<string, unknown>
}

const told = () => db<Told[]>`
  select type, subject_type || '/' || subject_id as subject, actor, detail from event
  where type like 'session.%' or type like 'sign-in.%' order by era, xid, id`

describe('who comes in and who goes', () => {
  test('is an event each, with the address and without anything secret', async () => {
    const call = strangerOf(depsOver(db))
    const { viewer } = await tokensFor(db)
    const ask = { ...signIn(viewer), peer: '10.1.2.3' }
    const cookie = cookieOf((await call('POST', '/login', ask)).headers)
    for (let twice = 0; twice < 2; twice += 1) await call('POST', '/logout', { headers: { cookie } })
    const events = await told()
    const [token] = await db<{ id: string; name: string; hash: Buffer }[]>`
      select id, name, hash from access_token where role = 'viewer'`
    const who = { subject: `token/${token?.id}`, actor: `token/${token?.name}` }
    expect(events).toEqual([
      { type: 'session.started', ...who, detail: { peer: '10.1.2.3' } },
      { type: 'session.ended', ...who, detail: { peer: '127.0.0.1' } },
    ])
    const all = JSON.stringify(events)
    for (const secret of [
      viewer,
      viewer.slice(13),
      token?.hash.toString('hex') ?? '',
      cookie.split('.')[2] ?? '',
    ])
      expect(all).not.toContain(secret)
  })

  test('very many failed sign-ins of very many addresses are one event, and none is lost', async () => {
    const deps = depsOver(db)
    const call = strangerOf(deps)
    await tokensFor(db)
    for (let at = 0; at < 30; at += 1) {
      const peer = `10.0.0.${at}`
      await call('GET', '/v1/jobs', { as: wrong, peer })
      await call('POST', '/login', { ...signIn(wrong), peer })
    }
    await call('GET', '/v1/jobs')
    expect(await told()).toEqual([])
    await deps.signIns.tell()
    await deps.signIns.tell()
    const peers = Array.from({ length: 10 }, (_, at) => ({ peer: `10.0.0.${at}`, attempts: 2 }))
    expect(await told()).toEqual([
      {
        ...{ type: 'sign-in.failed', subject: 'api/sign-in', actor: 'anonymous' },
        detail: { attempts: 60, peers, of_other_addresses: 40 },
      },
    ])
    expect(JSON.stringify(await told())).not.toContain('guess')
  })

  test('a failed sign-in is told of by itself after a while', async () => {
    const call = strangerOf(depsOver(db, { limits: { failedSignInsMs: 20 } }))
    await call('GET', '/v1/jobs', { as: wrong })
    const [event] = await until(async () => ((await told()).length > 0 ? await told() : undefined), {
      what: 'the event',
    })
    expect(event).toMatchObject({ type: 'sign-in.failed', detail: { attempts: 1 } })
  })

  test('who signs in again and again with one token has to wait, and others do not', async () => {
    const call = strangerOf(depsOver(db, { limits: { signInsBurst: 2, signInRefillMs: 60_000 } }))
    const { viewer, operator } = await tokensFor(db)
    const statuses: number[] = []
    for (let round = 0; round < 3; round += 1)
      statuses.push((await call('POST', '/login', signIn(viewer))).status)
    expect(statuses).toEqual([303, 303, 429])
    expect((await call('POST', '/login', signIn(operator))).status).toBe(303)
    expect((await told()).filter(({ type }) => type === 'session.started')).toHaveLength(3)
  })
})

test('whether the cookie needs TLS says the operator, not a header', async () => {
  const { viewer } = await tokensFor(db)
  const lie = { ...signIn(viewer), headers: { ...form, 'x-forwarded-proto': 'https' } }
  const plain = await strangerOf(depsOver(db))('POST', '/login', lie)
  expect(plain.headers.get('set-cookie')).toMatch(/^drover_session=(?!.*Secure)/)
  const front = { publicUrl: new URL('https://drover.example.com'), trustedProxies: new BlockList() }
  const call = strangerOf(depsOver(db, { front }))
  const own = { host: 'drover.example.com', origin: 'https://drover.example.com' }
  const secure = await call('POST', '/login', { ...signIn(viewer), headers: { ...form, ...own } })
  expect(secure.headers.get('set-cookie')).toMatch(/^__Host-drover_session=.*Secure/)
  const cookie = cookieOf(secure.headers)
  expect((await call('GET', '/v1/jobs', { headers: { ...own, cookie } })).status).toBe(200)
  const tossed = { ...own, cookie: cookie.replace('__Host-', '') }
  expect((await call('GET', '/v1/jobs', { headers: tossed })).status).toBe(401)
})
