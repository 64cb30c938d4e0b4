import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { pipeline, type Readable, Transform } from 'node:stream'
import {
  answerInvalid,
  asHttpFailure,
  type RequestContext,
  redirects,
  timedOutWaiting,
} from './http-failure.ts'
import type { PlatformEndpoint } from './platform-endpoint.ts'
import type { VerifiedAgent } from './verified-agent.ts'

/** What is asked of a platform. */
export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** From the root of the server, with its query; the endpoint's own path is not put before it. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer | Readable
  /** Of a streamed body, where it is known; without it the body goes in chunks. */
  readonly bodyBytes?: number
  /** Content types that an answer of success may have; empty: any. */
  readonly accept?: readonly string[]
  /** The answer's body may have so many bytes and not one more. */
  readonly maxBytes?: number
  /** How long the platform may think before its answer begins, after it has heard everything. */
  readonly answerMs?: number
  readonly stallMs?: number
  readonly stallBytes?: number
  /**
   * Asking twice does no harm: it is asked again when a kept connection turns out to be closed. So it is for GET
   * and HEAD; a query by POST may say so too.
   */
  readonly repeatable?: boolean
  /** An answer that leads elsewhere is given to the caller: nothing secret goes with the request. */
  readonly seesRedirects?: true
}

export interface ExchangeOptions {
  readonly agent: VerifiedAgent
  readonly endpoint: PlatformEndpoint
  readonly request: HttpRequest
  readonly signal: AbortSignal
  /** Has fired once the client is closed: nothing is begun any more. */
  readonly closing: AbortSignal
  readonly requestContext: RequestContext
  readonly answerMs: number
  readonly stallMs: number
}

/** Sends one request and resolves with the head of its answer, the body still to come. Its errors are typed. */
export const exchange = async (options: ExchangeOptions): Promise<IncomingMessage> => {
  const { request, requestContext } = options
  try {
    return checkHead(await sendAndHear(options), request, requestContext)
  } catch (thrown) {
    if (!(thrown instanceof StaleConnection)) throw thrown
    if (!mayRepeat(request) || options.closing.aborted) throw asHttpFailure(thrown.cause, requestContext)
    requestContext.sent = false
    return checkHead(await sendAndHear(options), request, requestContext)
  }
}

/** The server had closed a kept connection just as we used it. */
class StaleConnection extends Error {}

const mayRepeat = ({ method, body, repeatable }: HttpRequest): boolean =>
  (repeatable ?? (method === 'GET' || method === 'HEAD')) &&
  (body === undefined || typeof body === 'string' || Buffer.isBuffer(body))

const sendAndHear = (options: ExchangeOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { request, requestContext, signal } = options
    signal.throwIfAborted()
    const outgoing = open(options)
    const timer = watchProgress(outgoing, options)
    /** Node tells a request that still waits for its connection only when that comes: this says it now. */
    const giveUp = (error: Error) => {
      settle()
      reject(error)
      outgoing.destroy()
    }
    const onAbort = () => giveUp(asHttpFailure(signal.reason, requestContext))
    const settle = () => {
      clearInterval(timer)
      signal.removeEventListener('abort', onAbort)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    outgoing.once('socket', (socket) => {
      requestContext.sent = !socket.destroyed
    })
    // It stays after the answer began: an upload that breaks off then is not worth a crash.
    outgoing.on('error', (error) => {
      settle()
      const stale = outgoing.reusedSocket && isReset(error) && !signal.aborted
      reject(
        stale
          ? new StaleConnection('', { cause: error })
          : asHttpFailure(signal.reason ?? error, requestContext),
      )
    })
    outgoing.once('response', (incoming) => {
      settle()
      // Who answers before it has heard everything does not want the rest.
      incoming.once('close', () => {
        if (!outgoing.writableFinished) outgoing.destroy()
      })
      resolve(incoming)
    })
    outgoing.once('upgrade', () =>
      outgoing.destroy(answerInvalid(requestContext, 'it wants to change the protocol')),
    )
    sendBody(outgoing, request, giveUp)
  })

const open = ({ agent, endpoint, request }: ExchangeOptions): ClientRequest => {
  const { body, bodyBytes } = request
  const size = typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.byteLength(body) : bodyBytes
  return httpRequest({
    agent,
    host: endpoint.host,
    port: endpoint.port,
    method: request.method,
    path: request.path,
    setHost: false,
    headers: {
      ...request.headers,
      Host: endpoint.authority,
      'Accept-Encoding': 'identity',
      ...(size === undefined ? {} : { 'Content-Length': String(size) }),
    },
  })
}

const sendBody = (
  outgoing: ClientRequest,
  { body, bodyBytes }: HttpRequest,
  onSourceError: (error: Error) => void,
): void => {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) {
    outgoing.end(body)
    return
  }
  // Else it would wait for the first bytes of a source that may need its time.
  outgoing.flushHeaders()
  const counted = countedBody(bodyBytes)
  for (const part of [body, counted]) part.once('error', onSourceError)
  // The request itself tells what became of it. What else can end this is a source that closed without a word.
  pipeline(body, counted, outgoing, (error) => {
    if (error) onSourceError(new Error('What was to be sent ended too early.', { cause: error }))
  })
}

/** Lets through what was announced and not a byte more; fewer are an error too. */
const countedBody = (announced: number | undefined): Transform => {
  let sent = 0
  const wrong = () => new RangeError(`${sent} bytes were to be sent where ${announced} were announced.`)
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      sent += chunk.length
      if (announced !== undefined && sent > announced) done(wrong())
      else done(null, chunk)
    },
    flush: (done) => done(announced !== undefined && sent < announced ? wrong() : null),
  })
}

/** Ends an exchange whose platform neither takes what we send nor answers what it took. */
const watchProgress = (outgoing: ClientRequest, options: ExchangeOptions): NodeJS.Timeout => {
  const { requestContext, answerMs, stallMs } = options
  let taken = -1
  let since = performance.now()
  let heardAll = false
  const look = () => {
    const written = outgoing.socket?.bytesWritten ?? 0
    const hasHeard = outgoing.writableFinished
    // A source that gives us nothing to send is not the platform's fault.
    const waitsForSource = !outgoing.writableEnded && !outgoing.writableNeedDrain
    if (written !== taken || hasHeard !== heardAll || (requestContext.sent && waitsForSource))
      since = performance.now()
    taken = written
    heardAll = hasHeard
    const waitLimitMs = hasHeard ? answerMs : stallMs
    if (!requestContext.sent || performance.now() - since < waitLimitMs) return
    const what = hasHeard ? 'did not begin its answer' : 'took nothing of what we send'
    outgoing.destroy(timedOutWaiting(requestContext, what, waitLimitMs))
  }
  return setInterval(look, Math.max(5, Math.min(answerMs, stallMs) / 8))
}

const checkHead = (
  incoming: IncomingMessage,
  request: HttpRequest,
  requestContext: RequestContext,
): IncomingMessage => {
  const problem = headProblem(incoming, request, requestContext)
  if (!problem) return incoming
  incoming.on('error', () => {})
  incoming.destroy()
  throw problem
}

const headProblem = (
  incoming: IncomingMessage,
  request: HttpRequest,
  requestContext: RequestContext,
): Error | undefined => {
  const { statusCode = 0, headers } = incoming
  if (isRedirect(statusCode))
    return request.seesRedirects ? undefined : redirects(requestContext, headers.location ?? '')
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity' && encoding !== '')
    return answerInvalid(requestContext, 'it is packed, though that was not asked for')
  const isEmpty = statusCode === 204 || headers['content-length'] === '0' || request.method === 'HEAD'
  const accept = request.accept ?? []
  if (statusCode >= 300 || isEmpty || accept.length === 0) return undefined
  const type = mediaType(incoming)
  if (accept.includes(type)) return undefined
  return answerInvalid(
    requestContext,
    `it is ${type === '' ? 'of no known type' : type}, not ${accept.join(' or ')}`,
  )
}

export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

export const mediaType = (incoming: IncomingMessage): string =>
  (incoming.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

const isReset = (error: Error): boolean =>
  ['ECONNRESET', 'EPIPE'].includes(String((error as NodeJS.ErrnoException).code))
