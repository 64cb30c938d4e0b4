import { type LabOptions, type RunningLab, startLab } from '../../src/lab/lab.ts'
import type { WireTask } from '../../src/platforms/lab/protocol.ts'
import { atEnd } from './cleanup.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'

/** An answer of the lab, with its body read. */
export interface LabAnswer {
  readonly status: number
  readonly json: never
  readonly bytes: Buffer
}

/** Calls one site as the lab's own driver would, but raw: a test sees every status and every byte. */
export interface SiteClient {
  /** `GET /instances/vm-101`; a Buffer goes as bytes, anything else as JSON. */
  call(request: string, body?: unknown, options?: { name?: string; signal?: AbortSignal }): Promise<LabAnswer>
  /** Starts a task and lets time pass until it has ended. */
  done(request: string, body?: unknown, options?: { name?: string }): Promise<WireTask>
}

export interface TestLab {
  readonly url: string
  readonly password: string
  readonly adminToken: string
  readonly database: TestDatabase
  /** The endpoint of a site, as a source or target has it. */
  endpoint(site: string): string
  signIn(site: string, options?: { caller?: string; password?: string }): Promise<SiteClient>
  admin(request: string, body?: unknown): Promise<LabAnswer>
  /** Lets time pass in the lab alone. */
  pass(ms: number): Promise<void>
  /** Stops the lab and starts it anew on the same database and port. */
  restart(options?: Partial<LabOptions>): Promise<void>
}

const send = async (
  url: string,
  request: string,
  options: { body?: unknown; headers: Record<string, string>; signal?: AbortSignal },
): Promise<LabAnswer> => {
  const [method = 'GET', path = '/'] = request.split(' ')
  const raw = Buffer.isBuffer(options.body)
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...options.headers,
      ...(options.body === undefined
        ? {}
        : { 'content-type': raw ? 'application/octet-stream' : 'application/json' }),
    },
    ...(options.body === undefined
      ? {}
      : { body: raw ? (options.body as never) : JSON.stringify(options.body) }),
    ...(options.signal ? { signal: options.signal } : {}),
    redirect: 'manual',
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  const json = response.headers.get('content-type')?.includes('json')
    ? JSON.parse(bytes.toString())
    : undefined
  return { status: response.status, json: json as never, bytes }
}

/**
 * A lab in this process, in a fresh database of the test's or file's own. Tasks and boots take no time unless
 * `pace` says otherwise; then `pass` lets time go by. Everything is stopped at the end.
 */
export const createLab = async (options: Partial<LabOptions> = {}): Promise<TestLab> => {
  const database = await createDatabase()
  const start = (more: Partial<LabOptions>): Promise<RunningLab> =>
    startLab({ databaseUrl: database.socketUrl, world: 'small', pace: 0, ...options, ...more })
  let running = await start({})
  atEnd(() => running.stop())
  const { adminToken, password } = running
  const admin: TestLab['admin'] = (request, body) =>
    send(running.url, request, { body, headers: { authorization: `Bearer ${adminToken}` } })
  const pass = async (ms: number): Promise<void> => {
    const { status } = await admin('POST /lab/clock', { ms })
    if (status !== 200) throw new Error(`The lab's clock answered ${status}.`)
  }
  return {
    get url() {
      return running.url
    },
    password,
    adminToken,
    database,
    endpoint: (site) => `${running.url}/sites/${site}`,
    admin,
    pass,
    signIn: async (site, who = {}) => {
      const caller = who.caller ?? 'test'
      const login = await send(`${running.url}/sites/${site}`, 'POST /session', {
        body: { username: 'drover', password: who.password ?? password },
        headers: { 'x-drover-caller': caller },
      })
      if (login.status !== 201) throw new Error(`The lab answered ${login.status}: ${login.bytes.toString()}`)
      const { token } = login.json as { token: string }
      return siteClient({ url: () => `${running.url}/sites/${site}`, token, caller, pass })
    },
    restart: async (more = {}) => {
      const { port } = running
      await running.stop()
      running = await start({ port, adminToken, ...more })
    },
  }
}

const siteClient = (site: {
  url: () => string
  token: string
  caller: string
  pass: (ms: number) => Promise<void>
}): SiteClient => {
  const call: SiteClient['call'] = (request, body, options = {}) =>
    send(site.url(), request, {
      body,
      headers: {
        authorization: `Bearer ${site.token}`,
        'x-drover-caller': site.caller,
        ...(options.name === undefined ? {} : { 'idempotency-key': options.name }),
      },
      ...(options.signal ? { signal: options.signal } : {}),
    })
  return {
    call,
    done: async (request, body, options) => {
      const begun = await call(request, body, options)
      if (begun.status !== 202)
        throw new Error(`${request} answered ${begun.status}: ${begun.bytes.toString()}`)
      const { id } = begun.json as WireTask
      for (let tries = 0; tries < 20; tries += 1) {
        const task = (await call(`GET /tasks/${id}`)).json as WireTask
        if (task.state === 'succeeded' || task.state === 'failed') return task
        await site.pass(1_000)
      }
      throw new Error(`Task ${id} did not end.`)
    },
  }
}
