import { onTestFinished } from 'vitest'
import type { Db } from '../../db/client.ts'
import { type ApiLimits, apiLimits } from '../../src/api/api-limits.ts'
import { createApi } from '../../src/api/app.ts'
import type { ApiDeps, Role } from '../../src/api/env.ts'
import { Streams } from '../../src/api/streams.ts'
import { createToken, newSecret } from '../../src/api/tokens.ts'
import { systemClock } from '../../src/clock.ts'
import { EventFeed } from '../../src/ledger/event-feed.ts'
import { createLog } from '../../src/log.ts'
import { createSealer } from '../../src/seal.ts'

export const sealer = createSealer('5'.repeat(64))
export const log = createLog({ role: 'test-api', level: 'silent' })

export type Overrides = Partial<Omit<ApiDeps, 'limits'>> & { limits?: Partial<ApiLimits> }

/** A machine with much to do is slow, and tests that want a request to end early say so. */
const patienceMs = 60_000

/** What the API needs, over a test's database. The feed is started by those who stream. */
export const depsOver = (db: Db, overrides: Overrides = {}): ApiDeps => {
  const limits = { ...apiLimits, requestMs: patienceMs, ...overrides.limits }
  return {
    db,
    clock: systemClock,
    log,
    sealer,
    leaseMs: 15_000,
    host: '127.0.0.1',
    bell: undefined,
    events: new EventFeed({ db, clock: systemClock, log, pollMs: 20 }),
    streams: new Streams(limits),
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

/** Sends requests to an API in this process, from a peer of the test's choice (loopback by default). */
export const clientOf = (deps: ApiDeps): Client => {
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
