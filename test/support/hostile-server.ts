import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createServer as createRawServer, type Server, type Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { expect } from 'vitest'
import { type HttpConnection, openHttp, type PlatformHttp } from '../../src/platforms/http/platform-http.ts'
import type { Call } from '../../src/platforms/ports/call.ts'
import { PlatformError } from '../../src/platforms/ports/platform-error.ts'
import { atEnd } from './cleanup.ts'
import type { SelfSigned } from './self-signed.ts'
import { settles } from './wait.ts'

/** Far longer than any test waits: what ends a call with this must be something else. */
const longMs = 600_000

export const call = (over: Partial<Call> = {}): Call => ({
  signal: new AbortController().signal,
  timeoutMs: longMs,
  name: 'test',
  ...over,
})

export type Answering = (incoming: IncomingMessage, answer: ServerResponse) => void

export interface TestServer {
  readonly port: number
  readonly url: string
  readonly server: Server
  readonly seen: { requests: number; readonly bytes: number; text: string }
}

const listen = async (server: Server, scheme: string): Promise<TestServer> => {
  const sockets = new Set<Socket>()
  const seen = {
    requests: 0,
    text: '',
    // Not by listening: that would make a server read which is not to.
    get bytes() {
      return [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0)
    },
  }
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  atEnd(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as { port: number }
  return { port, url: `${scheme}://127.0.0.1:${port}`, server, seen }
}

/** A server that answers as the test wants; `seen` is what reached it. */
export const serve = async (answering: Answering): Promise<TestServer> => {
  const server = createPlainServer((incoming, answer) => {
    started.seen.requests += 1
    answer.on('error', () => {})
    answering(incoming, answer)
  })
  const started = await listen(server, 'http')
  return started
}

export const serveTls = async (
  identity: SelfSigned,
  answering: Answering,
  options: SecureContextOptions = {},
): Promise<TestServer & { swapIdentity(next: SelfSigned): void }> => {
  const server = createSecureServer(
    { key: identity.key, cert: identity.cert, ...options },
    (incoming, answer) => {
      started.seen.requests += 1
      started.seen.text += JSON.stringify(incoming.headers)
      answering(incoming, answer)
    },
  )
  server.on('tlsClientError', () => {})
  const started = await listen(server, 'https')
  const swapIdentity = (next: SelfSigned) => {
    server.setSecureContext({ key: next.key, cert: next.cert })
    server.closeIdleConnections()
  }
  return { ...started, swapIdentity }
}

/** One that need not speak HTTP. */
export const serveRaw = (onSocket: (socket: Socket) => void): Promise<TestServer> =>
  listen(createRawServer(onSocket), 'http')

export const openTestHttp = (url: string, over: Partial<HttpConnection> = {}): PlatformHttp => {
  const http = openHttp({ endpoint: url, ca: '', fingerprint: '', connectTimeoutMs: 20_000, ...over })
  atEnd(() => http.close())
  return http
}

/** The error of a call that must fail, within a patience that none of these calls should need. */
const failing = async (promise: Promise<unknown>): Promise<PlatformError> => {
  const outcome = settles(promise, { what: 'the call to end', withinMs: 60_000 })
  const error = await outcome.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(PlatformError)
  return error as PlatformError
}

/** It fails, and just so. */
export const expectFailure = async (promise: Promise<unknown>, code: string, failure: string) => {
  const error = await failing(promise)
  expect({ code: error.code, failure: error.failure }, error.message).toEqual({ code, failure })
  return error
}
