import { randomUUID } from 'node:crypto'
import type { Connection } from './connection.ts'

const tokenRemedy =
  'Set DROVER_TOKEN; or, on the machine where npm start runs with a data directory of its own, DROVER_DATA_DIR.'

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
  ) {
    super(problem.detail ?? problem.title ?? `The API answered ${status}.`)
    this.status = status
    this.code = problem.code ?? `http-${status}`
    // The API speaks of headers, which nobody types here.
    this.remedy =
      this.code === 'unauthenticated' ? tokenRemedy : (problem.remedy ?? 'Look at the log of the API.')
    this.errors = Array.isArray(problem.errors) ? problem.errors : []
    this.matched = typeof problem.matched === 'number' ? problem.matched : undefined
    this.sample = Array.isArray(problem.sample) ? problem.sample : []
  }
}

/** Nobody answers at the address. */
export class Unreachable extends Error {
  readonly remedy: string

  constructor(url: string, cause: unknown) {
    super(`Drover does not answer at ${url}: ${reasonOf(cause)}.`, { cause })
    this.remedy = 'Is it running (npm start)? Set DROVER_URL to where it is.'
  }
}

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

export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** The JSON of the answer; undefined when it has none. */
  readonly body: Json
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
  readonly #connection: Connection
  readonly #signal: AbortSignal

  constructor(connection: Connection, signal: AbortSignal) {
    this.#connection = connection
    this.#signal = signal
  }

  get url(): string {
    return this.#connection.url
  }

  get tokenFrom(): string | undefined {
    return this.#connection.tokenFrom
  }

  async get(path: string, query?: Ask['query']): Promise<Json> {
    return (await this.ask('GET', path, query === undefined ? {} : { query })).body
  }

  async post(path: string, body?: unknown): Promise<Json> {
    return (await this.ask('POST', path, body === undefined ? {} : { body })).body
  }

  /** Any request. Throws `ApiRefusal` for an answer that is not a success, `Unreachable` when none comes. */
  async ask(method: string, path: string, ask: Ask = {}): Promise<Reply> {
    const key = method === 'POST' ? { 'idempotency-key': randomUUID() } : {}
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.fetch(method, path, { ...ask, headers: { ...key, ...ask.headers } })
      const text = await response.text()
      const body = parse(text)
      if (response.ok) return { status: response.status, headers: response.headers, body }
      const waitMs = Number(response.headers.get('retry-after')) * 1_000
      if (![429, 503].includes(response.status) || !(waitMs > 0) || attempt > retryMax)
        throw new ApiRefusal(response.status, body)
      await this.sleep(Math.min(waitMs, 5_000))
    }
  }

  /** A request whose answer is read by the caller, such as a stream or a health page. */
  async fetch(method: string, path: string, ask: Ask & { endless?: boolean } = {}): Promise<Response> {
    const url = new URL(path, this.#connection.url)
    for (const [name, value] of Object.entries(ask.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const { token } = this.#connection
    try {
      return await fetch(url, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...ask.headers,
        },
        ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
        redirect: 'error',
        signal: ask.endless ? this.#signal : AbortSignal.any([this.#signal, AbortSignal.timeout(answerMs)]),
      })
    } catch (error) {
      if (this.#signal.aborted) throw error
      throw new Unreachable(this.#connection.url, error)
    }
  }

  /** Ends early, and throws, when the person presses Ctrl-C. */
  async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, ms)
      const { signal: stop } = { signal: this.#signal }
      function done() {
        clearTimeout(timer)
        stop.removeEventListener('abort', done)
        resolve()
      }
      stop.addEventListener('abort', done, { once: true })
    })
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
