import { BlockList } from 'node:net'
import { types } from 'node:util'
import { onTestFinished } from 'vitest'
import { type Db, openDb } from '../../db/client.ts'
import { createToken, hashSecret, newSecret } from '../../src/api/access/tokens.ts'
import { createApi } from '../../src/api/app.ts'
import type { ApiDeps, Role } from '../../src/api/http/env.ts'
import { FilterTurns } from '../../src/api/http/filter-turns.ts'
import { SignIns } from '../../src/api/http/sign-ins.ts'
import { Streams } from '../../src/api/http/streams.ts'
import { type ApiLimits, apiLimits } from '../../src/api/wire/api-limits.ts'
import { systemClock } from '../../src/clock.ts'
import { EventFeed } from '../../src/ledger/events/event-feed.ts'
import { createLog } from '../../src/process/log.ts'
import { createSealer } from '../../src/seal/seal.ts'
import { clusterUser } from '../../src/standalone/postgres/postgres-cluster.ts'
import { adminToken } from '../support/admin-token.ts'
import { atEnd } from '../support/cleanup.ts'
import { loginUrl } from '../support/logins.ts'
import { overSocket } from '../support/shared-postgres.ts'

export const sealer = createSealer('5'.repeat(64))
export const log = createLog({ role: 'test-api', level: 'silent' })

export type Overrides = Partial<Omit<ApiDeps, 'limits'>> & { limits?: Partial<ApiLimits> }

/** A machine with much to do is slow, and tests that want a request to end early say so. */
const patienceMs = 60_000

const pools = new WeakMap<Db, Db>()

/**
 * The same database under the API's own login: what it may not do fails here too. One that a test has made to fail stays
 * what it is.
 */
const asTheApi = (db: Db): Db => {
  if (types.isProxy(db)) return db
  const { host, port, database, user } = db.options
  const known = pools.get(db)
  if (known || user !== clusterUser) return known ?? db
  const [at = ''] = host
  const tcp = `postgres://127.0.0.1:${port[0]}/${database}`
  const url = loginUrl(at.startsWith('/') ? overSocket(tcp, at) : tcp, 'api')
  const pool = openDb({ url, max: 6, applicationName: 'drover-api' })
  pools.set(db, pool)
  // A database may outlive the test that first asked it as the API.
  atEnd(async () => {
    pools.delete(db)
    await pool.end({ timeout: 5 })
  })
  return pool
}

/** What the API needs, over a test's database. The feed is started by those who stream. */
export const depsOver = (db: Db, overrides: Overrides = {}): ApiDeps => {
  const limits = { ...apiLimits, requestMs: patienceMs, ...overrides.limits }
  const parts = { db: asTheApi(db), clock: systemClock, log, limits }
  return {
    ...parts,
    sealer,
    leaseMs: 15_000,
    eventsKeptDaysMin: 30,
    host: '127.0.0.1',
    front: { publicUrl: undefined, trustedProxies: new BlockList() },
    bell: undefined,
    events: new EventFeed({ ...parts, pollMs: 20 }),
    streams: new Streams(parts),
    filters: new FilterTurns({ clock: systemClock }),
    signIns: new SignIns(parts),
    ...overrides,
    limits,
  }
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Body
}

/** The fields of answers that tests look into one by one. */
export interface Body {
  readonly id: string
  readonly name: string
  readonly code: string
  readonly detail: string
  readonly field: string
  readonly lane: string
  readonly secret: string
  readonly state: string
  readonly next: string
  readonly end: boolean
  readonly value: number
  readonly next_cursor: string | null
  readonly items: readonly Body[]
  readonly errors: readonly { readonly field: string; readonly message: string }[]
  readonly wait: { readonly reason: string; readonly ends_when: string; readonly detail: string }
  readonly reasons: readonly string[]
  readonly [other: string]: unknown
}

export interface Ask {
  readonly headers?: Record<string, string>
  readonly json?: unknown
  readonly raw?: string | Uint8Array<ArrayBuffer>
  /** A bearer token. */
  readonly as?: string | undefined
  readonly peer?: string
}

export type Client = (method: string, path: string, ask?: Ask) => Promise<Reply>

/** Who `clientOf` is, in events and rows. */
export const tester = 'token/tester'

/** Stores the token of `clientOf`, once in a database; as used a moment ago, so that no request writes that. */
export const letTesterIn = async (db: Db): Promise<void> => {
  await db`
    insert into access_token (id, name, role, hash, hint, created_by, last_used_at)
    values (gen_random_uuid(), 'tester', 'admin', ${hashSecret(adminToken)}, 'drv_7e57e700', 'test', now())
    on conflict do nothing`
}

/** An admin who sends requests to an API in this process, from a peer of the test's choice. */
export const clientOf = (deps: ApiDeps): Client => {
  const stranger = strangerOf(deps)
  let known: Promise<void> | undefined
  return async (method, path, ask = {}) => {
    if (ask.as !== undefined || ask.headers?.authorization !== undefined || ask.headers?.cookie !== undefined)
      return await stranger(method, path, ask)
    known ??= letTesterIn(deps.db)
    await known
    return await stranger(method, path, { ...ask, as: adminToken })
  }
}

/** Sends requests to an API in this process, without a credential that the test does not give. */
export const strangerOf = (deps: ApiDeps): Client => {
  const app = createApi(deps)
  return async (method, path, ask = {}) => {
    const body = ask.raw ?? (ask.json === undefined ? undefined : JSON.stringify(ask.json))
    const response = await app.request(
      `http://127.0.0.1:7070${path}`,
      {
        method,
        headers: {
          ...(ask.json === undefined ? {} : { 'content-type': 'application/json' }),
          ...(ask.as === undefined ? {} : { authorization: `Bearer ${ask.as}` }),
          ...ask.headers,
        },
        ...(body === undefined ? {} : { body }),
      },
      { incoming: { socket: { remoteAddress: ask.peer ?? '127.0.0.1' } } },
    )
    const text = await response.text()
    const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '')
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : {}) as Body,
    }
  }
}

/** A token of its own for each role. */
export const tokensFor = async (db: Db): Promise<Record<Role, string>> => {
  const make = async (role: Role) => {
    const secret = newSecret()
    await db.begin((tx) =>
      createToken(tx, {
        name: `test-${role}-${secret.slice(4, 12)}`,
        role,
        expiresAt: null,
        createdBy: 'test',
        secret,
      }),
    )
    return secret
  }
  return { viewer: await make('viewer'), operator: await make('operator'), admin: await make('admin') }
}

/** A feed that runs until the test ends. */
export const startFeed = (db: Db): EventFeed => {
  const feed = new EventFeed({ db, clock: systemClock, log, pollMs: 20 })
  feed.start()
  onTestFinished(() => feed.stop())
  return feed
}

export const selfTestJob = { kind: 'self-test', payload: {}, subject: { type: 'self-test', id: 'one' } }
