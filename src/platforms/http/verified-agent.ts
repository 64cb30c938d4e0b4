import { Agent, type AgentOptions, type ClientRequestArgs } from 'node:http'
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectSecure, TLSSocket } from 'node:tls'
import { judgedLookup } from '../../address-rules.ts'
import { distrust, type SeenCertificate, seenCertificate, type Trust } from './certificate.ts'
import { asHttpFailure, forbiddenAddress, type RequestContext, timedOutWaiting } from './http-failure.ts'
import { isLoopbackAddress, type PlatformEndpoint, plainOverNetwork } from './platform-endpoint.ts'

export interface ConnectOptions {
  readonly endpoint: PlatformEndpoint
  readonly trust: Trust
  readonly connectTimeoutMs: number
  /** Of an endpoint that somebody else has named: addresses that are never connected to. */
  readonly refusesAddress?: (address: string) => boolean
  /** Fires when the client is closed: whoever still connects gives up. */
  readonly closing: AbortSignal
}

/** A free connection is given up after this, before servers with short patience close it under our next request. */
const freeSocketMs = 4_000

/**
 * Keeps connections alive, and hands one over only after the server has shown the right certificate: until then
 * not one byte of a request exists on it.
 */
export class VerifiedAgent extends Agent {
  readonly #options: ConnectOptions

  constructor(options: ConnectOptions) {
    super({ keepAlive: true, timeout: freeSocketMs })
    this.#options = options
  }

  override createConnection(
    _options: ClientRequestArgs & AgentOptions,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    connectVerified(this.#options).then(
      (socket) => done?.(null, socket),
      // Node's types ask for a socket even where there is none.
      (error: Error) => (done as ((error: Error) => void) | undefined)?.(error),
    )
  }
}

/** Looks at the certificate and hangs up; nothing is asked. Nothing to see where there is no TLS. */
export const lookAtCertificate = async (options: ConnectOptions): Promise<SeenCertificate | undefined> => {
  const socket = await connectSocket(options)
  const seen = socket instanceof TLSSocket ? seenCertificate(socket) : undefined
  socket.destroy()
  return seen
}

const connectVerified = async (options: ConnectOptions): Promise<Socket> => {
  const socket = await connectSocket(options)
  const problem =
    socket instanceof TLSSocket
      ? distrust(socket, options.trust, options.endpoint.authority)
      : strayedFromLoopback(socket)
  if (!problem) return socket
  socket.destroy()
  throw problem
}

const connectSocket = (options: ConnectOptions): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const { endpoint, connectTimeoutMs, closing, refusesAddress } = options
    const requestContext: RequestContext = {
      host: endpoint.authority,
      method: 'CONNECT',
      path: endpoint.path,
      sent: false,
    }
    // A name is judged by its addresses when it is looked up.
    if (refusesAddress && isIP(endpoint.host) !== 0 && refusesAddress(endpoint.host))
      return reject(forbiddenAddress(requestContext))
    const place = placeOf(options, requestContext)
    const socket = endpoint.secure ? beginTls(options, place) : connectPlain(place)
    const onClosing = () => fail(closing.reason as Error)
    const settle = () => {
      clearTimeout(timer)
      socket.removeListener('error', fail)
      closing.removeEventListener('abort', onClosing)
    }
    const fail = (error: Error) => {
      settle()
      socket.on('error', () => {})
      socket.destroy()
      reject(asHttpFailure(error, requestContext))
    }
    const timer = setTimeout(
      () => fail(timedOutWaiting(requestContext, 'did not let us connect', connectTimeoutMs)),
      connectTimeoutMs,
    )
    socket.once('error', fail)
    closing.addEventListener('abort', onClosing, { once: true })
    socket.once(endpoint.secure ? 'secureConnect' : 'connect', () => {
      settle()
      resolve(socket)
    })
  })

const placeOf = ({ endpoint, refusesAddress }: ConnectOptions, requestContext: RequestContext) => ({
  host: endpoint.host,
  port: endpoint.port,
  ...(refusesAddress ? { lookup: judgedLookup(refusesAddress, () => forbiddenAddress(requestContext)) } : {}),
})

/** Node is told not to judge: it would end the connection without showing the certificate. `distrust` judges. */
const beginTls = ({ endpoint, trust }: ConnectOptions, place: ReturnType<typeof placeOf>): TLSSocket =>
  connectSecure({
    ...place,
    servername: isIP(endpoint.host) === 0 ? endpoint.host : '',
    rejectUnauthorized: false,
    // Whatever the defaults of Node are made to be.
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    ...(trust.ca === '' ? {} : { ca: trust.ca }),
  })

/** `localhost` is a name like others: somebody may have given it another address. */
const strayedFromLoopback = (socket: Socket): Error | undefined =>
  isLoopbackAddress(socket.remoteAddress ?? '') ? undefined : plainOverNetwork()
