import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Bounded } from '../../bounded-signal.ts'
import { beginCall, type Call } from '../ports/call.ts'
import type { Connection } from '../ports/connection.ts'
import { PlatformError } from '../ports/platform-error.ts'
import { checkedCa, type SeenCertificate } from './certificate.ts'
import { GuardedBody, tooLarge } from './guarded-body.ts'
import { exchange, type HttpRequest, mediaType } from './http-exchange.ts'
import { asHttpFailure, closedByUs, type RequestContext } from './http-failure.ts'
import { parseEndpoint } from './platform-endpoint.ts'
import { type ConnectOptions, lookAtCertificate, VerifiedAgent } from './verified-agent.ts'

interface AnswerHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Without its parameters, lower case; empty when the platform did not say. */
  readonly contentType: string
}

export interface HttpAnswer extends AnswerHead {
  readonly body: Buffer
}

export interface HttpStream extends AnswerHead {
  /** To be read to its end or destroyed; the call's deadline and signal end it otherwise, with their error. */
  readonly body: Readable
}

/**
 * Speaks HTTP with one platform that may be broken, slow or hostile. Every failure is a PlatformError, but for
 * the caller's own: the reason of its signal, or the error of a stream it gave as a body. Statuses are the
 * caller's to judge, but for redirects.
 */
export interface PlatformHttp {
  /** `https://host:port`, without a path. */
  readonly origin: string
  /** Of the endpoint, without a slash at its end. */
  readonly basePath: string
  request(call: Call, request: HttpRequest): Promise<HttpAnswer>
  /** The same with a body that flows; `maxBytes` is a must, as nobody else counts. */
  stream(call: Call, request: HttpRequest & { readonly maxBytes: number }): Promise<HttpStream>
  /** What the server shows, trusted or not; nothing on plain http. Sends no request. */
  certificate(): Promise<SeenCertificate | undefined>
  /** Ends every connection, those in use too. */
  close(): void
}

export const httpDefaults = Object.freeze({
  maxBytes: 16 * 1024 * 1024,
  answerMs: 60_000,
  stallMs: 20_000,
  stallBytes: 1_024,
})

export type HttpConnection = Pick<
  Connection,
  'endpoint' | 'ca' | 'fingerprint' | 'connectTimeoutMs' | 'watch'
> &
  Pick<ConnectOptions, 'refusesAddress'>

/** Connects when it is first asked. Throws when the address or the CA cannot be right. */
export const openHttp = (connection: HttpConnection): PlatformHttp => {
  const endpoint = parseEndpoint(connection.endpoint)
  const closing = new AbortController()
  const options: ConnectOptions = {
    endpoint,
    trust: { ca: checkedCa(connection.ca) ?? '', fingerprint: connection.fingerprint },
    connectTimeoutMs: connection.connectTimeoutMs,
    closing: closing.signal,
    ...(connection.refusesAddress ? { refusesAddress: connection.refusesAddress } : {}),
  }
  const agent = new VerifiedAgent(options)
  const stream = async (call: Call, request: HttpRequest & { maxBytes: number }): Promise<HttpStream> => {
    closing.signal.throwIfAborted()
    const begun = beginCall(call)
    const requestContext: RequestContext = {
      host: endpoint.authority,
      method: request.method,
      path: request.path.split('?', 1)[0] ?? '',
      sent: false,
    }
    const paced = pacedBy(call, request)
    const { answerMs, stallMs } = paced
    try {
      const { signal } = begun
      const sending = {
        agent,
        endpoint,
        request: paced,
        signal,
        requestContext,
        answerMs,
        stallMs,
        closing: closing.signal,
      }
      const incoming = await exchange(sending)
      connection.watch?.answered()
      const { statusCode: status = 0, headers } = incoming
      return {
        status,
        headers,
        contentType: mediaType(incoming),
        body: guard(incoming, requestContext, paced, begun),
      }
    } catch (error) {
      begun.end()
      if (error instanceof PlatformError) connection.watch?.failed(error)
      throw error
    }
  }
  return {
    origin: `${endpoint.secure ? 'https' : 'http'}://${endpoint.authority}`,
    basePath: endpoint.path,
    stream,
    request: async (call, request) => {
      const { body, ...head } = await stream(call, { maxBytes: httpDefaults.maxBytes, ...request })
      return { ...head, body: await collect(body) }
    },
    certificate: () => lookAtCertificate(options),
    close: () => {
      closing.abort(closedByUs(endpoint.authority))
      agent.destroy()
    },
  }
}

type Paced = HttpRequest & Required<Pick<HttpRequest, 'maxBytes' | 'answerMs' | 'stallMs'>>

/** What the request allows, unless its caller has less patience. */
const pacedBy = (
  { stallMs: waitLimitMs = Number.POSITIVE_INFINITY }: Call,
  request: HttpRequest & { readonly maxBytes: number },
): Paced => ({
  ...request,
  answerMs: Math.min(request.answerMs ?? httpDefaults.answerMs, waitLimitMs),
  stallMs: Math.min(request.stallMs ?? httpDefaults.stallMs, waitLimitMs),
})

const guard = (
  incoming: IncomingMessage,
  requestContext: RequestContext,
  request: Paced,
  begun: Bounded,
): GuardedBody => {
  const { maxBytes, stallMs, stallBytes = httpDefaults.stallBytes } = request
  const body = new GuardedBody(requestContext, { maxBytes, stallMs, stallBytes })
  const onAbort = () => body.destroy(begun.signal.reason as Error)
  begun.signal.addEventListener('abort', onAbort, { once: true })
  body.once('close', () => {
    begun.signal.removeEventListener('abort', onAbort)
    begun.end()
    incoming.destroy()
  })
  // Whoever reads it later still gets the error; nobody reading must not end the process.
  body.on('error', () => {})
  incoming.on('error', (error) => body.destroy(asHttpFailure(error, requestContext)))
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes)
    body.destroy(tooLarge(requestContext, maxBytes))
  else incoming.pipe(body)
  return body
}

const collect = async (body: Readable): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
