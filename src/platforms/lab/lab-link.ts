import type { Readable } from 'node:stream'
import type { z } from 'zod'
import { asHttpFailure, closedByUs } from '../http/http-failure.ts'
import { type HttpAnswer, openHttp, type PlatformHttp } from '../http/platform-http.ts'
import { type Call, withinCall } from '../ports/call.ts'
import type { Connection } from '../ports/connection.ts'
import { isAbsent, PlatformError } from '../ports/platform-error.ts'
import type { Found } from '../ports/task.ts'
import { answerError, labAnswerInvalid, parseAnswer } from './lab-answer.ts'
import { headerText, type LabQuery, withQuery } from './lab-path.ts'
import { headers as headerNames, session } from './protocol.ts'

/** One request to a site. */
export interface LabRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly query?: LabQuery
  readonly json?: unknown
  readonly bytes?: Buffer | Readable
  /** Of a body that flows. */
  readonly bodyBytes?: number
  /** Carries the call's name, so that a repeat does the thing once. */
  readonly named?: boolean
  /** Of the answer; JSON when left out. */
  readonly accept?: string
  readonly maxBytes?: number
}

const loginMs = 30_000
const farewellMs = 2_000
const json = 'application/json'

/**
 * The way to one site of a lab: signs in when first needed, once for all who wait, and once more when the lab
 * has forgotten the session. Errors come out as PlatformErrors.
 */
export class LabLink {
  readonly #connection: Connection
  readonly #http: PlatformHttp
  readonly #closing = new AbortController()
  #signingIn: Promise<string> | undefined

  constructor(connection: Connection) {
    this.#connection = connection
    this.#http = openHttp(connection)
  }

  /** Asks and checks the answer's shape. */
  async ask<Schema extends z.ZodType>(
    call: Call,
    request: LabRequest,
    answer: Schema,
  ): Promise<z.infer<Schema>> {
    return parseAnswer(await this.send(call, request), answer)
  }

  /** As `ask`, for a look-up: "not there" is an answer. */
  async find<Schema extends z.ZodType>(
    call: Call,
    request: LabRequest,
    answer: Schema,
  ): Promise<Found<z.infer<Schema>>> {
    try {
      return { found: true, value: await this.ask(call, request, answer) }
    } catch (error) {
      if (isAbsent(error)) return { found: false }
      throw error
    }
  }

  /** The raw answer of success; anything else is thrown. */
  async send(call: Call, request: LabRequest): Promise<HttpAnswer> {
    if (request.path === '') throw nothingThere()
    return await withinCall(call, async (signal) => {
      const inner = { ...call, signal }
      const token = await this.#token(signal)
      try {
        return await this.#exchange(inner, request, token)
      } catch (error) {
        // A body that flowed is gone; whoever sent it begins anew.
        if (!isSessionLost(error) || isStream(request.bytes)) throw error
        return await this.#exchange(inner, request, await this.#token(signal))
      }
    })
  }

  /** Ends the session. Never throws. */
  async close(): Promise<void> {
    const signedIn = this.#signingIn
    this.#closing.abort(closedByUs(this.#http.origin))
    const farewell = async () => {
      const token = await signedIn
      if (token === undefined) return
      const call = { signal: new AbortController().signal, timeoutMs: farewellMs, name: 'close' }
      await this.#exchange(call, { method: 'DELETE', path: '/session' }, token)
    }
    await farewell().catch(() => {})
    this.#http.close()
  }

  async #exchange(call: Call, request: LabRequest, token: string): Promise<HttpAnswer> {
    try {
      return await this.#once(call, request, { authorization: `Bearer ${token}` })
    } catch (error) {
      if (isSessionLost(error)) await this.#forget(token)
      throw error
    }
  }

  async #once(call: Call, request: LabRequest, more: Record<string, string>): Promise<HttpAnswer> {
    const { method, path, query = {}, bytes, bodyBytes, accept = json, maxBytes } = request
    const body = request.json === undefined ? bytes : JSON.stringify(request.json)
    const answer = await this.#http.request(call, {
      method,
      path: withQuery(this.#http.basePath + path, query),
      headers: {
        accept,
        [headerNames.caller]: headerText(this.#connection.caller),
        ...(request.named ? { [headerNames.name]: headerText(call.name) } : {}),
        ...(body === undefined ? {} : { 'content-type': bytes ? 'application/octet-stream' : json }),
        ...more,
      },
      ...(body === undefined ? {} : { body }),
      ...(bodyBytes === undefined ? {} : { bodyBytes }),
      accept: [accept],
      ...(maxBytes === undefined ? {} : { maxBytes }),
    })
    if (answer.status >= 300 || answer.status < 200) throw answerError(answer)
    return answer
  }

  /** The session's token. The wait for it ends with the caller's signal; the sign-in goes on for the others. */
  #token(signal: AbortSignal): Promise<string> {
    if (this.#closing.signal.aborted) return Promise.reject(closedByUs(this.#http.origin))
    if (!this.#signingIn) {
      const signingIn = this.#signIn()
      this.#signingIn = signingIn
      signingIn.catch(() => {
        if (this.#signingIn === signingIn) this.#signingIn = undefined
      })
    }
    return unless(signal, this.#signingIn, this.#http.origin)
  }

  async #signIn(): Promise<string> {
    const { username, password } = this.#connection
    const call = { signal: this.#closing.signal, timeoutMs: loginMs, name: 'sign in' }
    const request: LabRequest = { method: 'POST', path: '/session', json: { username, password } }
    const { token } = parseAnswer(await this.#once(call, request, {}), session)
    // It goes into a header, where anything else would do harm.
    if (!/^[\x21-\x7e]{1,4096}$/.test(token)) throw labAnswerInvalid('a session that is none')
    return token
  }

  /** Only the session that was lost: another call may have signed in anew meanwhile. */
  async #forget(token: string): Promise<void> {
    const current = this.#signingIn
    if ((await current?.catch(() => undefined)) === token && this.#signingIn === current)
      this.#signingIn = undefined
  }
}

const isStream = (bytes: Buffer | Readable | undefined): boolean =>
  bytes !== undefined && !Buffer.isBuffer(bytes)

const isSessionLost = (error: unknown): boolean =>
  error instanceof PlatformError && error.code === 'platform-session-lost'

const nothingThere = (): PlatformError =>
  new PlatformError({
    code: 'platform-absent',
    failure: 'absent',
    message: 'Nothing has such a ref.',
    remedy: 'Read the inventory again: refs come from there.',
  })

/** Waits for the session no longer than the call lasts; of the call itself nothing is sent by then. */
const unless = <Value>(signal: AbortSignal, promise: Promise<Value>, host: string): Promise<Value> =>
  new Promise((resolve, reject) => {
    const onAbort = () =>
      reject(asHttpFailure(signal.reason, { host, method: 'POST', path: '', sent: false }))
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
    if (signal.aborted) onAbort()
  })
