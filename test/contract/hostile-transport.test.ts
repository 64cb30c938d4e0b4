import { once as happens } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { call, expectFailure, openTestHttp, serve, serveRaw, serveTls } from '../support/hostile-server.ts'
import { selfSigned } from '../support/self-signed.ts'

const secret = 'a-password-that-nobody-may-hear'
const login = { method: 'POST', path: '/session', body: secret, headers: { authorization: secret } } as const
const signed = selfSigned()

/** Writes the same for as long as anybody takes it: never more than is taken, so that the test's memory is bounded too. */
const pourInto = (socket: Socket, text: string): void => {
  const more = () => {
    while (!socket.destroyed && socket.write(text));
  }
  socket.on('drain', more)
  more()
}

describe('answers that announce an answer, and go on for ever', () => {
  // promise: hostile-platform
  test.each([
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['102 Processing', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n'],
  ])('%s: the call ends when its answer does not begin, and memory does not grow', async (_what, text) => {
    const server = await serveRaw((socket) => {
      socket.once('data', () => pourInto(socket, text.repeat(100)))
    })
    const before = process.memoryUsage().rss
    const asked = openTestHttp(server.url).request(call({ stallMs: 1_500 }), login)
    await expectFailure(asked, 'platform-timeout', 'unknown')
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
  })
})

describe('headers', () => {
  // promise: hostile-platform
  test.each([
    ['a header of 32 MiB', () => `X: ${'x'.repeat(32 * 1024 * 1024)}\r\n`],
    ['a name of 1 MiB', () => `${'x'.repeat(1024 * 1024)}: y\r\n`],
    ['a million headers', () => 'X: y\r\n'.repeat(1_000_000)],
    ['a hundred thousand cookies', () => 'Set-Cookie: vmware_soap_session=x\r\n'.repeat(100_000)],
  ])('with %s the answer is refused', async (_what, headers) => {
    const server = await serveRaw((socket) => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n${headers()}\r\n`)
      })
    })
    await expectFailure(openTestHttp(server.url).request(call(), login), 'platform-answer-invalid', 'unknown')
  })

  test('that never end are refused', async () => {
    const server = await serveRaw((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n')
        pourInto(socket, 'X: y\r\n'.repeat(1_000))
      })
    })
    await expectFailure(openTestHttp(server.url).request(call(), login), 'platform-answer-invalid', 'unknown')
  })
})

describe('a way that is less safe than it was asked for', () => {
  test.each(['TLSv1', 'TLSv1.1'] as const)(
    '%s alone gets no connection, and hears nothing',
    async (version) => {
      const old = { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' } as const
      const server = await serveTls(signed, (_incoming, answer) => void answer.end('fine'), old)
      // Who agrees to it does get a connection: what is missing is not the server.
      const lax = connect({ ...old, port: server.port, host: '127.0.0.1', rejectUnauthorized: false })
      await happens(lax, 'secureConnect')
      expect(lax.getProtocol()).toBe(version)
      lax.destroy()
      const http = openTestHttp(server.url, { fingerprint: signed.fingerprint })
      const error = await expectFailure(http.request(call(), login), 'platform-tls', 'refused')
      expect(`${error.message} ${error.remedy}`).not.toContain(secret)
      expect(server.seen).toMatchObject({ requests: 0, text: '' })
    },
  )

  test('plain HTTP where TLS was asked for is not spoken', async () => {
    const server = await serve((_incoming, answer) => void answer.end('fine'))
    const http = openTestHttp(`https://127.0.0.1:${server.port}`, { fingerprint: signed.fingerprint })
    await expectFailure(http.request(call(), login), 'platform-tls', 'refused')
    expect(server.seen.requests).toBe(0)
  })
})
