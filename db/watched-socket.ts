import { connect, type Socket } from 'node:net'
import { holdClose } from './held-close.ts'

interface Endpoint {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path?: string | false | null
}

interface WatchedSocketOptions {
  readonly connectMs: number
  /** How long the server may stay silent after we wrote something. Longer than any statement may take. */
  readonly silenceMs: number
}

/**
 * A socket that notices a peer which is gone without a word: a pulled cable, a firewall that forgot us. A
 * query on such a connection would wait for TCP's own patience, about a quarter of an hour. Idle is fine;
 * written to and not answered is not.
 */
export const watchedSocket = (endpoint: Endpoint, options: WatchedSocketOptions): Socket => {
  const socket = openSocket(endpoint, options.connectMs)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, 10_000)
  let waiting: NodeJS.Timeout | undefined
  const answered = () => {
    clearTimeout(waiting)
    waiting = undefined
  }
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
  socket.write = ((...args: unknown[]) => {
    waiting ??= setTimeout(() => {
      socket.destroy(new Error(`Postgres did not answer for ${options.silenceMs} ms.`))
    }, options.silenceMs).unref()
    return write(...args)
  }) as Socket['write']
  socket.on('data', answered)
  holdClose(socket, answered)
  return socket
}

/**
 * Comes back before it is connected, on purpose: postgres.js waits for what we return, and a rejection here
 * would leave its connection in no list at all. After as many refusals as the pool has connections (a restart
 * of Postgres is enough) every later query would hang. A socket that fails by its events is handled well, and
 * what is written before it is connected is kept.
 */
const openSocket = (endpoint: Endpoint, connectMs: number): Socket => {
  const socket = endpoint.path
    ? connect(endpoint.path)
    : connect(endpoint.port[0] ?? 5432, endpoint.host[0] ?? '127.0.0.1')
  const timer = setTimeout(
    () => socket.destroy(new Error(`Postgres: no connection within ${connectMs} ms.`)),
    connectMs,
  )
  socket.once('connect', () => clearTimeout(timer))
  socket.once('close', () => clearTimeout(timer))
  return socket
}
