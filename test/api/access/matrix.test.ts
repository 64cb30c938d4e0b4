import { describe, expect, test } from 'vitest'
import { createApi } from '../../../src/api/app.ts'
import { type Role, roles } from '../../../src/api/http/env.ts'
import { describeApi } from '../../../src/api/http/openapi.ts'
import { writeSession } from '../../../src/api/http/session.ts'
import { createConsole } from '../../../src/console/console.ts'
import { createDatabase } from '../../support/postgres.ts'
import { depsOver, sealer, startFeed, strangerOf, tokensFor } from '../setup.ts'

const { db } = await createDatabase()
const limitless = 1e9
const deps = () => {
  const bare = depsOver(db, {
    events: startFeed(db),
    limits: {
      ...{ failuresBurst: limitless, anonymousBurst: limitless, requestsBurst: limitless },
      ...{ streams: limitless, streamsPerActor: limitless },
    },
  })
  return { ...bare, console: createConsole(bare) }
}
const document = describeApi(createApi(depsOver(db)))
const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  Object.entries(item as Record<string, { 'x-role'?: Role }>).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    role: operation['x-role'],
  })),
)

type Headers = Record<string, string>
interface Credential {
  readonly name: string
  readonly headers: Headers
  /** Undefined: nobody. */
  readonly role: Role | undefined
  /** Whether a browser sends it by itself, for a page of another site. */
  readonly lured?: boolean
}

const tokenIds = async (): Promise<Map<string, string>> => {
  const rows = await db<{ id: string; name: string }[]>`select id, name from access_token order by created_at`
  return new Map(rows.map(({ id, name }) => [name, id]))
}

const cookieOf = (tokenId: string, expiresInMs = 12 * 3_600_000) =>
  `drover_session=${writeSession(sealer, { tokenId, expiresAtMs: Date.now() + expiresInMs })}`

/** Every kind of credential that somebody may come with. */
const makeCredentials = async (): Promise<Credential[]> => {
  await db`truncate access_token, ended_session`
  const dead = await tokensFor(db)
  await db`update access_token set role = 'admin', name = 'dead-' || role`
  const deadIds = await tokenIds()
  await db`update access_token set revoked_at = now() where name = 'dead-viewer'`
  await db`update access_token set expires_at = now() where name = 'dead-operator'`
  const live = await tokensFor(db)
  const ids = await tokenIds()
  const idOf = (role: Role) => [...ids].find(([name]) => name.startsWith(`test-${role}-`))?.[1] ?? ''
  const host = '127.0.0.1:7070'
  const ours = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const ended = cookieOf(deadIds.get('dead-admin') ?? '')
  const out = await strangerOf(depsOver(db))('POST', '/logout', { headers: { cookie: ended } })
  expect(out.status).toBe(303)
  return [
    { name: 'no credential', headers: {}, role: undefined },
    { name: 'a malformed header', headers: { authorization: 'Basic YWRtaW46YWRtaW4=' }, role: undefined },
    { name: 'a wrong token', headers: bearer('drv_00000000_guess-guess-guess'), role: undefined },
    { name: 'a revoked token', headers: bearer(dead.viewer), role: undefined },
    { name: 'an expired token', headers: bearer(dead.operator), role: undefined },
    { name: 'an ended session', headers: { ...ours, cookie: ended }, role: undefined },
    {
      name: 'a forged session',
      headers: { ...ours, cookie: `${cookieOf(idOf('admin'))}x` },
      role: undefined,
    },
    {
      name: 'a session that is over',
      headers: { ...ours, cookie: cookieOf(idOf('admin'), -1) },
      role: undefined,
    },
    ...(['viewer', 'operator'] as const).map((was) => ({
      name: `a session of a dead token (${was})`,
      headers: { ...ours, cookie: cookieOf(deadIds.get(`dead-${was}`) ?? '') },
      role: undefined,
    })),
    ...roles.flatMap((role): Credential[] => [
      { name: `${role} by token`, headers: bearer(live[role]), role },
      { name: `${role} by session`, headers: { ...ours, cookie: cookieOf(idOf(role)) }, role },
      ...[{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }].map(
        (foreign) => ({
          ...{ name: `${role} by session, lured by ${JSON.stringify(foreign)}`, role, lured: true },
          headers: { host, cookie: cookieOf(idOf(role)), ...foreign } as Headers,
        }),
      ),
    ]),
  ]
}

const credentials = await makeCredentials()

/** Asks and leaves: the answer of a stream never ends. */
const asker = () => {
  const api = createApi(deps())
  return async (method: string, path: string, headers: Headers): Promise<number> => {
    const response = await api.request(
      `http://127.0.0.1:7070${path}`,
      { method, headers },
      { incoming: { socket: { remoteAddress: '127.0.0.1' } } },
    )
    await response.body?.cancel()
    return response.status
  }
}

const addressOf = (path: string): string =>
  path
    .replace('{id}', '0199c0de-0000-7000-8000-000000000000')
    .replace('{scope}', 'kind')
    .replace(/\{\w+\}/g, 'nothing')

const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** 401 for nobody, 403 for who may not, 0 for who may: whatever it then answers. */
const expected = (method: string, least: Role, { role, lured }: Credential): number => {
  if (role === undefined) return 401
  if (lured === true && !isSafe(method)) return 403
  return roles.indexOf(role) < roles.indexOf(least) ? 403 : 0
}

const classOf = (status: number): number => ([401, 403, 429, 500].includes(status) ? status : 0)

const compare = async (method: string, path: string, least: Role) => {
  const ask = asker()
  const [got, wanted]: [string[], string[]] = [[], []]
  for (const credential of credentials) {
    got.push(`${credential.name}: ${classOf(await ask(method, path, credential.headers))}`)
    wanted.push(`${credential.name}: ${expected(method, least, credential)}`)
  }
  return { got, wanted }
}

describe('every operation of the document, for every kind of credential', () => {
  // promise: roles
  test('no operation is without a role', () => {
    expect(operations.length).toBeGreaterThan(100)
    expect(operations.filter(({ role }) => role === undefined || !roles.includes(role))).toEqual([])
  })

  // promise: roles
  test.each(operations)('$method $path needs $role', async ({ method, path, role }) => {
    const { got, wanted } = await compare(method, addressOf(path), role ?? 'admin')
    expect(got).toEqual(wanted)
  })
})

/** What is not in the document: pages, their forms, the board, files. The way in and the health are open. */
const others = (() => {
  const api = createApi({ ...depsOver(db), console: createConsole(depsOver(db)) })
  const documented = new Set(operations.map(({ method, path }) => `${method} ${path}`))
  const routes = api.routes
    .filter(({ method, path }) => method !== 'ALL' && !path.includes('*'))
    .map(({ method, path }) => ({
      method,
      path: path.replace(/:(\w+)(?:\{([^}]*)\})?/g, (_all, name, literal) => literal ?? `{${name}}`),
    }))
    .filter(({ method, path }) => !documented.has(`${method} ${path.replace(/\/$/, '') || '/'}`))
  return [...new Map(routes.map((route) => [`${route.method} ${route.path}`, route])).values()]
})()

const isOpen = (path: string): boolean =>
  ['/healthz', '/readyz', '/login', '/logout'].includes(path) || path.startsWith('/assets/')

describe('what the document does not name', () => {
  const closed = others.filter(({ path }) => !isOpen(path) && !path.startsWith('/v1/'))
  const open = others.filter(({ path }) => isOpen(path))

  test('pages, forms, the board and the metrics are among it', () => {
    const known = others.map(({ method, path }) => `${method} ${path}`)
    for (const one of ['GET /', 'GET /jobs', 'GET /docs', 'GET /metrics', 'GET /healthz', 'POST /login'])
      expect(known).toContain(one)
    expect(closed.filter(({ method }) => method === 'POST').length).toBeGreaterThan(10)
    expect(closed.filter(({ method }) => method === 'GET').length).toBeGreaterThan(40)
    expect(others.filter(({ path }) => path.startsWith('/v1/'))).toEqual([
      { method: 'GET', path: '/v1/openapi.json' },
    ])
  })

  // promise: roles
  test.each([
    ...closed,
    ...['/queues', '/queues/api/queues', '/v1/openapi.json', '/nothing'].map((path) => ({
      method: 'GET',
      path,
    })),
  ])(
    '$method $path lets nobody in who has no live credential, and no page of another site',
    async ({ method, path }) => {
      const ask = asker()
      for (const credential of credentials) {
        const status = await ask(method, addressOf(path), credential.headers)
        const { name, role, lured } = credential
        if (role === undefined) expect([name, status]).toEqual([name, 401])
        else if (lured === true && !isSafe(method)) expect([name, status]).toEqual([name, 403])
        else if (role === 'viewer' && !isSafe(method)) expect([name, status]).toEqual([name, 403])
        else if (role === 'admin') expect([name, classOf(status)]).toEqual([name, 0])
        else expect([0, 403]).toContain(classOf(status))
      }
    },
  )

  test.each(open)('$method $path is open, but for a form of another site', async ({ method, path }) => {
    const ask = asker()
    // A sign-in and a sign-out are told of in sign-in.test.ts: here nobody sends a form.
    for (const { name, headers, lured } of credentials.filter(
      ({ role }) => role !== 'admin' || isSafe(method),
    )) {
      if (path === '/logout' && lured !== true) continue
      const status = await ask(method, path, headers)
      const foreign = lured === true && !isSafe(method)
      if (foreign) expect([name, status]).toEqual([name, 403])
      else expect([name, classOf(status)]).toEqual([name, 0])
    }
  })

  test('a page that is opened without being signed in leads to the way in', async () => {
    const ask = asker()
    for (const path of ['/', '/jobs', '/docs', '/queues', '/events'])
      expect([path, await ask('GET', path, { accept: 'text/html' })]).toEqual([path, 303])
  })
})
