import { readBoundedJson } from '../../http/bounded-json.ts'
import type { HttpAnswer, PlatformHttp } from '../../http/platform-http.ts'
import type { Call } from '../../ports/call.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { oddAnswer } from './odd-answer.ts'
import type { SessionAccount } from './session.ts'

/** Where the REST interface of a vCenter is: it moved with version 7, and its answers were unwrapped. */
interface Dialect {
  readonly session: string
  readonly root: string
  readonly action: string
  /** How an id stands in a path. */
  readonly id: string
  readonly unwrap: (answer: unknown) => unknown
}

const dialects: readonly Dialect[] = [
  { session: '/api/session', root: '/api/cis', action: 'action', id: '', unwrap: (answer) => answer },
  {
    session: '/rest/com/vmware/cis/session',
    root: '/rest/com/vmware/cis',
    action: '~action',
    id: 'id:',
    unwrap: (answer) => (answer as { value?: unknown } | null | undefined)?.value,
  },
]

const sessionHeader = 'vmware-api-session-id'
const maxBytes = 64 * 1024 ** 2

/** The REST interface of vCenter, as far as vim25 has no answer: tags. */
export class Vapi {
  readonly #http: PlatformHttp
  readonly #account: SessionAccount
  #dialect: Dialect | null | undefined
  #id = ''

  constructor(http: PlatformHttp, account: SessionAccount) {
    this.#http = http
    this.#account = account
  }

  /** False where there is no such interface: an ESXi host, or a vCenter before 6.5. */
  async available(call: Call): Promise<boolean> {
    if (this.#dialect === undefined || (this.#dialect && this.#id === '')) await this.#signIn(call)
    return this.#dialect !== null
  }

  /** `path` below `/cis`, such as `/tagging/tag`; with an id, one of them. */
  async get(call: Call, path: string, id?: string): Promise<unknown> {
    return this.#ask(call, (dialect) => ({
      method: 'GET',
      path: `${dialect.root}${path}${id === undefined ? '' : `/${dialect.id}${encodeURIComponent(id.toWellFormed())}`}`,
    }))
  }

  /** Only for actions that change nothing, or that do no harm when they are done twice. */
  async act(call: Call, path: string, action: string, body: unknown): Promise<unknown> {
    return this.#ask(call, (dialect) => ({
      method: 'POST',
      path: `${dialect.root}${path}?${dialect.action}=${action}`,
      body: JSON.stringify(body),
    }))
  }

  /** The error of an answer that is well formed and makes no sense. */
  refuse(why: string): PlatformError {
    return oddAnswer(this.#http, why)
  }

  /** Never throws. */
  async close(): Promise<void> {
    if (!this.#dialect || this.#id === '') return
    const call: Call = { signal: new AbortController().signal, timeoutMs: 3_000, name: 'logout' }
    try {
      await this.#http.request(call, {
        method: 'DELETE',
        path: this.#dialect.session,
        headers: { [sessionHeader]: this.#id },
      })
    } catch {
      // It ends by itself when nobody uses it.
    }
    this.#id = ''
  }

  async #ask(
    call: Call,
    make: (dialect: Dialect) => { method: 'GET' | 'POST'; path: string; body?: string },
  ): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      if (!(await this.available(call))) throw this.#failed(404, 'its REST interface')
      const dialect = this.#dialect as Dialect
      const request = make(dialect)
      const answer = await this.#http.request(call, {
        ...request,
        maxBytes,
        repeatable: true,
        headers: {
          ...this.#headers(),
          [sessionHeader]: this.#id,
          ...(request.body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
      })
      if (answer.status === 200) return dialect.unwrap(this.#json(answer, request.path))
      if (answer.status !== 401 || tries === 2) throw this.#failed(answer.status, request.path)
      this.#id = ''
    }
  }

  async #signIn(call: Call): Promise<void> {
    const { username, password } = this.#account
    const basic = Buffer.from(`${username}:${password}`).toString('base64')
    for (const dialect of this.#dialect ? [this.#dialect] : dialects) {
      const headers = { ...this.#headers(), Authorization: `Basic ${basic}` }
      const answer = await this.#http.request(call, { method: 'POST', path: dialect.session, headers })
      if (answer.status === 404) continue
      if (answer.status !== 200 && answer.status !== 201) throw this.#failed(answer.status, dialect.session)
      const id = dialect.unwrap(this.#json(answer, dialect.session))
      if (typeof id !== 'string' || !/^[\x21-\x7e]{1,512}$/.test(id)) throw this.#invalid(dialect.session)
      this.#id = id
      this.#dialect = dialect
      return
    }
    this.#dialect = null
  }

  #headers(): Record<string, string> {
    return { Accept: 'application/json', 'User-Agent': this.#account.caller }
  }

  #json(answer: HttpAnswer, path: string): unknown {
    const read = answer.body.length === 0 ? { value: null } : readBoundedJson(answer.body)
    if ('refusal' in read) throw this.#invalid(path)
    return read.value
  }

  #invalid(path: string): PlatformError {
    return new PlatformError({
      code: 'platform-answer-invalid',
      failure: 'unknown',
      message: `${this.#host} does not answer ${path} as vCenter does.`,
      remedy: 'Check that the address is that of a vCenter or an ESXi host and of nothing else.',
      field: 'endpoint',
      detail: { host: this.#host, path },
    })
  }

  #failed(status: number, path: string): PlatformError {
    const denied = status === 401 || status === 403
    return new PlatformError({
      code: denied ? 'platform-permission' : status === 404 ? 'platform-absent' : 'platform-fault',
      failure: denied ? 'refused' : status === 404 ? 'absent' : 'unknown',
      message: `${this.#host} answered ${path} with HTTP ${status}.`,
      remedy: denied
        ? 'Let the account read tags: the vSphere page of the manual lists the privileges.'
        : 'It is tried again. When it stays so, look at the services of vCenter.',
      detail: { host: this.#host, path, status },
    })
  }

  get #host(): string {
    return new URL(this.#http.origin).host
  }
}
