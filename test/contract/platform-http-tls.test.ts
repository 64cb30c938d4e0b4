import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  type Answering,
  call,
  expectFailure,
  openTestHttp as open,
  serveRaw,
  serveTls,
} from '../support/hostile-server.ts'
import { selfSigned } from '../support/self-signed.ts'
import { until } from '../support/wait.ts'

const signed = selfSigned()
const secret = 'a-password-that-nobody-may-hear'
const login = { method: 'POST', path: '/session', body: secret, headers: { authorization: secret } } as const
const ok: Answering = (_incoming, answer) => void answer.end('fine')

// promise: password-to-platform
test('an unknown certificate ends the call before a byte of the request is sent, and is shown', async () => {
  const server = await serveTls(signed, ok)
  const error = await expectFailure(
    open(server.url).request(call(), login),
    'platform-fingerprint',
    'refused',
  )
  expect(error.field).toBe('fingerprint')
  expect(error.detail).toMatchObject({
    host: `127.0.0.1:${server.port}`,
    fingerprint: signed.fingerprint,
    subject: 'CN=drover test',
    issuer: 'CN=drover test',
    valid_to: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    trusted: false,
    reason: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  })
  expect(server.seen).toMatchObject({ requests: 0, text: '' })
})

test('the confirmed fingerprint, in either spelling, lets the request through', async () => {
  const server = await serveTls(signed, ok)
  const spelled = signed.fingerprint.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:')
  for (const fingerprint of [signed.fingerprint, spelled]) {
    const answer = await open(server.url, { fingerprint }).request(call(), login)
    expect(answer.body.toString()).toBe('fine')
  }
})

test('a given CA lets the request through, for the names of the certificate alone', async () => {
  const server = await serveTls(signed, ok)
  const answer = await open(server.url, { ca: signed.cert }).request(call(), login)
  expect(answer.status).toBe(200)
  const byOtherName = open(`https://localhost:${server.port}`, { ca: signed.cert })
  const error = await expectFailure(byOtherName.request(call(), login), 'platform-fingerprint', 'refused')
  expect(error.detail).toMatchObject({ reason: 'ERR_TLS_CERT_ALTNAME_INVALID' })
})

test('a certificate that has run out is not trusted, whoever signed it', async () => {
  const old = selfSigned({ days: -1 })
  const server = await serveTls(old, ok)
  const error = await expectFailure(
    open(server.url, { ca: old.cert }).request(call(), login),
    'platform-fingerprint',
    'refused',
  )
  expect(error.detail).toMatchObject({ reason: 'CERT_HAS_EXPIRED' })
})

test('a certificate swapped between two requests stops the second one', async () => {
  const server = await serveTls(signed, ok)
  const other = selfSigned({ name: 'somebody else' })
  const http = open(server.url, { fingerprint: signed.fingerprint })
  expect((await http.request(call(), login)).status).toBe(200)
  server.swapIdentity(other)
  // It may be repeated, so that the kept connection that the server closed does not end the test's call.
  const again = http.request(call(), { ...login, repeatable: true })
  const error = await expectFailure(again, 'platform-fingerprint', 'refused')
  expect(error.detail).toMatchObject({ fingerprint: other.fingerprint, pinned: signed.fingerprint })
  expect(server.seen.requests).toBe(1)
})

test('a pin is stricter than a CA: another certificate of the same CA is refused', async () => {
  const server = await serveTls(signed, ok)
  const http = open(server.url, { ca: signed.cert, fingerprint: 'ab'.repeat(32) })
  await expectFailure(http.request(call(), login), 'platform-fingerprint', 'refused')
})

test('a SHA-1 fingerprint, as vSphere gives it of its hosts, pins as well', async () => {
  const server = await serveTls(signed, ok)
  const sha1 = new X509Certificate(signed.cert).fingerprint
  expect((await open(server.url, { fingerprint: sha1 }).request(call(), login)).status).toBe(200)
  const other = open(server.url, { fingerprint: 'ab'.repeat(20) })
  await expectFailure(other.request(call(), login), 'platform-fingerprint', 'refused')
})

test('looking at the certificate sends no request', async () => {
  const server = await serveTls(signed, ok)
  const seen = await open(server.url).certificate()
  expect(seen).toMatchObject({ fingerprint: signed.fingerprint, trusted: false })
  expect(await open(server.url, { ca: signed.cert }).certificate()).toMatchObject({
    trusted: true,
    reason: '',
  })
  expect(server.seen.requests).toBe(0)
})

test('plain text on a TLS port is a TLS error, and the request stayed here', async () => {
  let heard = ''
  const server = await serveRaw((socket) => {
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1')
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\nThis is not the port you are looking for.\r\n')
    })
  })
  const http = open(server.url.replace('http', 'https'))
  await expectFailure(http.request(call(), login), 'platform-tls', 'refused')
  expect(heard).not.toContain(secret)
})

test('a server that accepts and says nothing is given up after the time to connect', async () => {
  const server = await serveRaw(() => {})
  const http = open(server.url.replace('http', 'https'), { connectTimeoutMs: 100 })
  const error = await expectFailure(http.request(call(), login), 'platform-timeout', 'refused')
  expect(error.message).toContain('did not let us connect')
})

test('the signal and the deadline of a call end it while it still connects', async () => {
  const server = await serveRaw(() => {})
  const http = open(server.url.replace('http', 'https'))
  const ending = new AbortController()
  const connecting = http.request(call({ signal: ending.signal }), login)
  const failed = expect(connecting).rejects.toThrow('enough')
  await until(() => server.seen.bytes > 0, { what: 'the greeting to arrive' })
  ending.abort(new Error('enough'))
  await failed
  await expectFailure(http.request(call({ timeoutMs: 50 }), login), 'platform-timeout', 'refused')
})

test('an address that would show the password, or holds one, is refused', () => {
  for (const endpoint of ['http://vcenter.example.org', 'ftp://127.0.0.1', 'nonsense', 'https://me:it@host'])
    expect(() => open(endpoint), endpoint).toThrow(
      expect.objectContaining({ code: 'platform-tls', failure: 'refused', field: 'endpoint' }),
    )
  for (const ca of ['nonsense', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'])
    expect(() => open('https://host', { ca })).toThrow(expect.objectContaining({ field: 'ca' }))
})
