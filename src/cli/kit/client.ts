import { randomUUID } from 'node:crypto'
import { requestApi } from '../../api-request.ts'
import { boundedSignal } from '../../bounded-signal.ts'
import { systemClock } from '../../clock.ts'
import { NoLocalDoor } from '../../standalone/local-door.ts'
import type { Connection } from './connection.ts'

/** What a person types: the API speaks of headers. A wrong token is not mended by saying where one is set. */
const tokenRemedy = ({ token, tokenFrom, where }: Connection): string => {
  if (token !== undefined)
    return `The token in ${tokenFrom} is refused at ${where}: it is mistyped, was revoked, has ended, or is another Drover's. Set DROVER_TOKEN to one that is good there.`
  return 'Set DROVER_TOKEN. On the machine where npm start runs none is needed without DROVER_URL (with a data directory of its own: DROVER_DATA_DIR).'
}

/** The API refused: what happened, and what to do about it. */
export class ApiRefusal extends Error {
  readonly status: number
  readonly code: string
  readonly remedy: string
  readonly errors: readonly { field: string; message: string }[]
  /** How many there are, where another number was confirmed, and the first of them. */
  readonly matched: number | undefined
  readonly sample: readonly string[]

  constructor(
    status: number,
    problem: Partial<Record<'code' | 'detail' | 'title' | 'remedy', string>> & {
      errors?: unknown
      matched?: unknown
      sample?: unknown
    },
    asked: Connection,
  ) {
    super(problem.detail ?? problem.title ?? `The API answered ${status}.`)
    this.status = status
    this.code = problem.code ?? `http-${status}`
    this.remedy =
      this.code === 'unauthenticated' ? tokenRemedy(asked) : (problem.remedy ?? 'Look at the log of the API.')
    this.errors = Array.isArray(problem.errors) ? problem.errors : []
    this.matched = typeof problem.matched === 'number' ? problem.matched : undefined
    this.sample = Array.isArray(problem.sample) ? problem.sample : []
  }

  /** Of an answer whose body nobody has read yet. */
  static async of(response: Response, asked: Connection): Promise<ApiRefusal> {
    return new ApiRefusal(response.status, parse(await response.text().catch(() => '')), asked)
  }
}

/** Nobody answers, or nobody who can be trusted. */
export class Unreachable extends Error {
  readonly remedy: string

  constructor(message: string, remedy: string, cause?: unknown) {
    super(message, { cause })
    this.remedy = remedy
  }
}

const unanswered = ({ who = 'Drover', where }: Connection, cause: unknown): Unreachable =>
  new Unreachable(
    `${who} does not answer at ${where}: ${reasonOf(cause)}.`,
    'Is it running (npm start)? Set DROVER_URL to where it is.',
    cause,
  )

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const { code, message } = (cause.cause ?? cause) as NodeJS.ErrnoException
  if (cause.name === 'TimeoutError') return 'no answer in time'
  return code ?? message
}

export interface Ask {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Reply<Body = Json> {
  readonly status: number
  readonly headers: Headers
  /** The JSON of the answer; no fields when it has none. */
  readonly body: Body
}

/** JSON whose shape the API's own schemas promise; commands pick fields and print them. */
export interface Json {
  readonly [field: string]: unknown
}

const answerMs = 30_000
/** A 429 or 503 says when to come back; this often we do, when nothing can be done twice by it. */
const retryMax = 3

/** Speaks to the API. POSTs carry an Idempotency-Key, so that a try again is never a second job. */
export class Client {
  readonly #find: () => Connection
  readonly #signal: AbortSignal

  /** `find` is asked before each request: a local Drover that was started again is another process. */
  constructor(find: () => Connection, signal: AbortSignal) {
    this.#find = find
    this.#signal = signal
  }

  /** Where requests go now. Throws `Unreachable` when there is nobody who may be asked. */
  get connection(): Connection {
    try {
      return this.#find()
    } catch (error) {
      if (error instanceof NoLocalDoor) throw new Unreachable(error.message, error.remedy, error)
      throw error
    }
  }

  async get<Body = Json>(path: string, query?: Ask['query']): Promise<Body> {
    return (await this.ask<Body>('GET', path, query === undefined ? {} : { query })).body
  }

  async post<Body = Json>(path: string, body?: unknown): Promise<Body> {
    return (await this.ask<Body>('POST', path, body === undefined ? {} : { body })).body
  }

  /** The same; undefined when there is no such thing. */
  async find<Body = Json>(path: string): Promise<Body | undefined> {
    try {
      return await this.get<Body>(path)
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 404) return undefined
      throw error
    }
  }

  /** Any request. Throws `ApiRefusal` for an answer that is not a success, `Unreachable` when none comes. */
  async ask<Body = Json>(method: string, path: string, ask: Ask = {}): Promise<Reply<Body>> {
    const key = method === 'POST' ? { 'idempotency-key': randomUUID() } : {}
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.fetch(method, path, { ...ask, headers: { ...key, ...ask.headers } })
      const body = parse(await this.#readText(response))
      if (response.ok) return { status: response.status, headers: response.headers, body: body as Body }
      const waitMs = Number(response.headers.get('retry-after')) * 1_000
      if (![429, 503].includes(response.status) || !(waitMs > 0) || attempt > retryMax)
        throw new ApiRefusal(response.status, body, this.connection)
      await this.sleep(Math.min(waitMs, 5_000))
    }
  }

  /** A request whose answer is read by the caller, such as a stream or a health page. */
  async fetch(method: string, path: string, ask: Ask & { endless?: boolean } = {}): Promise<Response> {
    const { connection } = this
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(ask.query ?? {}))
      if (value !== undefined) query.set(name, String(value))
    const { token } = connection
    try {
      return await requestApi(connection.door, query.size === 0 ? path : `${path}?${query}`, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...ask.headers,
        },
        body: ask.body === undefined ? undefined : JSON.stringify(ask.body),
        signal: ask.endless ? this.#signal : boundedSignal(this.#signal, answerMs),
      })
    } catch (error) {
      if (this.#signal.aborted) throw error
      throw unanswered(connection, error)
    }
  }

  async #readText(response: Response): Promise<string> {
    try {
      return await response.text()
    } catch (error) {
      if (this.#signal.aborted) throw error
      throw unanswered(this.connection, error)
    }
  }

  /** Ends early, and throws, when the person presses Ctrl-C. */
  async sleep(ms: number): Promise<void> {
    await systemClock.sleep(ms, this.#signal)
    this.#signal.throwIfAborted()
  }
}

const parse = (text: string): Json => {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' ? (value as Json) : {}
  } catch {
    return {}
  }
}
