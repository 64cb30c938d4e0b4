import { child, type Ref, type XmlNode } from '../../../xml/xml-node.ts'
import type { PlatformHttp } from '../../http/platform-http.ts'
import { type Call, withinCall } from '../../ports/call.ts'
import type { Connection } from '../../ports/connection.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { managerOf, readServiceContent, type ServiceContent, serviceInstance } from './service-content.ts'
import { type ExchangeFacts, soapCall, soapStream } from './soap-exchange.ts'
import { element, type SoapRequest } from './soap-request.ts'

export type SessionAccount = Pick<Connection, 'username' | 'password' | 'caller' | 'connectTimeoutMs'>

export type StreamFacts = Pick<ExchangeFacts, 'limits' | 'answerMs' | 'items' | 'heard'>

/** So long no new try is made with a password that was refused: accounts are locked after a few. */
const refusedForMs = 120_000
const logoutMs = 3_000
/** How long a login may take beyond the connecting: directories behind vCenter are slow at times. */
const loginMs = 60_000

/** By way to a server, over all sessions that use it: each reading of the inventory has one of its own. */
const refusals = new WeakMap<PlatformHttp, { readonly error: PlatformError; readonly atMs: number }>()

/**
 * One signed-in user of one vSphere server. Signs in when it is first needed, and once more when the server has
 * forgotten the session; calls at the same time share one login.
 */
export class Session {
  readonly http: PlatformHttp
  readonly #account: SessionAccount
  readonly #adopted: boolean
  #content: Promise<ServiceContent> | undefined
  #login: Promise<void> | undefined
  #cookie = ''
  #action = 'urn:vim25/6.5'

  /** With `cookie`, it goes on with a session that was opened before, and ends when that one is lost. */
  constructor(http: PlatformHttp, account: SessionAccount, cookie?: string) {
    this.http = http
    this.#account = account
    this.#adopted = cookie !== undefined
    this.#cookie = cookie ?? ''
  }

  /** What proves this session to the file and disk services of the same server. A secret. */
  get cookie(): string {
    return this.#cookie
  }

  /** What the server is. Needs no login. */
  async content(call: Call): Promise<ServiceContent> {
    call.signal.throwIfAborted()
    this.#content ??= this.#detached(call, (own) => this.#readContent(own)).catch((error: unknown) => {
      this.#content = undefined
      throw error
    })
    return withinCall(call, (signal) => unlessAborted(signal, this.#content as Promise<ServiceContent>))
  }

  /** What the server is at this moment, and that it knows us: asked anew, whatever was known before. */
  async identify(call: Call): Promise<ServiceContent> {
    return withinCall(call, async (signal) => {
      const own = { ...call, signal }
      const content = await this.#readContent(own)
      this.#content = Promise.resolve(content)
      await this.call(own, { on: serviceInstance, method: 'CurrentTime', repeatable: true })
      return content
    })
  }

  async manager(call: Call, name: string): Promise<Ref> {
    return managerOf(await this.content(call), name)
  }

  /** One method of vim25; gives the answer's element (`<Name>Response`). */
  async call(call: Call, request: SoapRequest, facts?: Pick<StreamFacts, 'answerMs'>): Promise<XmlNode> {
    return withinCall(call, (signal) => {
      const own = { ...call, signal }
      return this.#signedIn(own, () => soapCall(this.http, own, request, this.#facts(facts)))
    })
  }

  /** The same for answers of any length: the items as they come, at the end the element without them. */
  async *stream(
    call: Call,
    request: SoapRequest,
    facts: StreamFacts,
  ): AsyncGenerator<readonly XmlNode[], XmlNode> {
    const begin = async () => {
      const items = soapStream(this.http, call, request, this.#facts(facts))
      return { items, first: await items.next() }
    }
    // A session that is not known shows before the first item; later the stream can only be cut.
    const { items, first } = await this.#signedIn(call, begin)
    try {
      let step = first
      while (!step.done) {
        yield step.value
        step = await items.next()
      }
      return step.value
    } finally {
      await items.return(undefined as unknown as XmlNode)
    }
  }

  /** Makes sure that there is a session. */
  async signIn(call: Call): Promise<void> {
    if (this.#cookie === '') await this.#shareLogin(call)
  }

  /** For an answer that shows a lost session in another way than by a fault of the call. */
  forget(): void {
    this.#cookie = ''
  }

  /** Ends the session at the server, within a few seconds. Never throws. */
  async logout(): Promise<void> {
    if (this.#cookie === '') return
    const call: Call = { signal: new AbortController().signal, timeoutMs: logoutMs, name: 'logout' }
    try {
      const on = await this.manager(call, 'sessionManager')
      await soapCall(this.http, call, { on, method: 'Logout' }, this.#facts())
    } catch {
      // It ends by itself when nobody uses it.
    }
    this.#cookie = ''
  }

  async #signedIn<Result>(call: Call, work: () => Promise<Result>): Promise<Result> {
    await this.content(call)
    await this.signIn(call)
    const used = this.#cookie
    try {
      return await work()
    } catch (error) {
      if (!isSessionLost(error) || this.#adopted) throw error
      // Another call may have signed in again meanwhile.
      if (this.#cookie === used) this.#cookie = ''
      await this.signIn(call)
      return await work()
    }
  }

  async #shareLogin(call: Call): Promise<void> {
    call.signal.throwIfAborted()
    if (this.#adopted) throw sessionLost(this.http)
    const refusal = refusals.get(this.http)
    if (refusal && performance.now() - refusal.atMs < refusedForMs) throw refusal.error
    this.#login ??= this.#detached(call, (own) => this.#signIn(own)).finally(() => {
      this.#login = undefined
    })
    await withinCall(call, (signal) => unlessAborted(signal, this.#login as Promise<void>))
  }

  async #signIn(call: Call): Promise<void> {
    const on = await this.manager(call, 'sessionManager')
    const { username, password } = this.#account
    const body = element('userName', username) + element('password', password)
    let cookie = ''
    const onCookie = (pair: string) => {
      cookie = pair
    }
    try {
      await soapCall(
        this.http,
        call,
        { on, method: 'Login', body },
        { ...this.#facts(), cookie: '', onCookie },
      )
    } catch (error) {
      if (error instanceof PlatformError && error.code === 'platform-authentication')
        refusals.set(this.http, { error, atMs: performance.now() })
      throw error
    }
    if (cookie === '') throw noCookie(this.http)
    this.#cookie = cookie
    refusals.delete(this.http)
  }

  async #readContent(call: Call): Promise<ServiceContent> {
    const request = { on: serviceInstance, method: 'RetrieveServiceContent', repeatable: true }
    const answer = await soapCall(this.http, call, request, { ...this.#facts(), cookie: '' })
    const content = readServiceContent(child(answer, 'returnval'))
    if (/^\d+(\.\d+)+$/.test(content.apiVersion)) this.#action = `urn:vim25/${content.apiVersion}`
    return content
  }

  /** Work that several calls wait for: it does not end with the first of them that gives up. */
  #detached<Result>(call: Call, work: (own: Call) => Promise<Result>): Promise<Result> {
    const timeoutMs = Math.max(call.timeoutMs, this.#account.connectTimeoutMs + loginMs)
    return work({ signal: new AbortController().signal, timeoutMs, name: call.name })
  }

  #facts(facts: StreamFacts = {}): ExchangeFacts {
    const { caller, password } = this.#account
    const secrets = [password, this.#cookie, this.#cookie.split('=').slice(1).join('=').replaceAll('"', '')]
    return { ...facts, action: this.#action, caller, cookie: this.#cookie, secrets }
  }
}

export const isSessionLost = (error: unknown): boolean =>
  error instanceof PlatformError && error.code === 'platform-session-lost'

export const sessionLost = (http: PlatformHttp): PlatformError =>
  new PlatformError({
    code: 'platform-session-lost',
    failure: 'refused',
    message: `${new URL(http.origin).host} does not know our session any more.`,
    remedy: 'Nothing to do: a new session is opened.',
  })

const noCookie = (http: PlatformHttp): PlatformError =>
  new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `${new URL(http.origin).host} accepted the login, but gave no session.`,
    remedy: 'Is there a proxy between that removes cookies?',
    field: 'endpoint',
  })

const unlessAborted = <Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
