import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { Readable } from 'node:stream'

/** Where an API of ours answers. */
export interface ApiDoor {
  /** `https://drover.example.org`; for a socket `http://localhost`, which is what its Host header says. */
  readonly origin: string
  /** A Unix socket of this machine, in the place of a port. */
  readonly socketPath?: string | undefined
  /** Our own child on loopback, whose certificate nobody has signed: it is not looked at. */
  readonly ownChild?: boolean
}

export interface ApiRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Ends the request, and the body of its answer too. */
  readonly signal: AbortSignal
}

/** The API of this machine, behind its socket. */
export const socketDoor = (socketPath: string): ApiDoor => ({ origin: 'http://localhost', socketPath })

/**
 * One request to an API, over TCP or over a socket, which `fetch` cannot use. A redirect is an error: it would take
 * the token of its sender along to an address that nobody chose.
 */
export const requestApi = async (door: ApiDoor, pathAndQuery: string, asked: ApiRequest): Promise<Response> =>
  responseOf(await send(door, pathAndQuery, asked))

const send = (door: ApiDoor, pathAndQuery: string, asked: ApiRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    // Put together, not resolved: "//elsewhere/v1" stays a path.
    const url = new URL(`${door.origin}${pathAndQuery}`)
    const request = url.protocol === 'https:' ? tlsRequest : plainRequest
    const { method, headers, signal } = asked
    const place = door.socketPath === undefined ? {} : { socketPath: door.socketPath }
    const trust = door.ownChild ? { rejectUnauthorized: false } : {}
    const call = request(url, { method, headers, signal, ...place, ...trust }, resolve)
    call.on('error', reject)
    call.end(asked.body)
  })

const withoutBody = new Set([204, 205, 304])

const responseOf = (incoming: IncomingMessage): Response => {
  const status = incoming.statusCode ?? 0
  if (status >= 300 && status < 400 && status !== 304) {
    incoming.destroy()
    throw new Error('it answers with a redirect, which is not followed')
  }
  const headers = new Headers()
  for (const [name, values] of Object.entries(incoming.headersDistinct))
    for (const value of values ?? []) headers.append(name, value)
  if (!withoutBody.has(status))
    return new Response(Readable.toWeb(incoming) as ReadableStream<Uint8Array>, { status, headers })
  incoming.resume()
  return new Response(null, { status, headers })
}
