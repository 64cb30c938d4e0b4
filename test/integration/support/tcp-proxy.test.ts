import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { startProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/wait.ts'

const echo = createServer((socket) => {
  socket.on('error', () => {})
  socket.pipe(socket)
})
echo.listen(0, '127.0.0.1')
await once(echo, 'listening')
const targetPort = (echo.address() as AddressInfo).port
afterAll(() => void echo.close())

/** A client that keeps what it hears. */
const join = async (
  port: number,
): Promise<{ socket: Socket; heard: () => string; closed: () => boolean }> => {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let closed = false
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('close', () => {
    closed = true
  })
  await once(socket, 'connect')
  return { socket, heard: () => text, closed: () => closed }
}

test('a proxy passes bytes both ways and an orderly end', async () => {
  const proxy = await startProxy({ targetPort })
  const client = await join(proxy.port)
  client.socket.end('x'.repeat(3_000_000))
  await until(() => client.closed(), { what: 'the connection to end' })
  expect(client.heard()).toHaveLength(3_000_000)
  await until(() => proxy.connections === 0, { what: 'the proxy to forget the connection' })
})

test('a cut resets what is open and refuses what is new until it heals', async () => {
  const proxy = await startProxy({ targetPort })
  const before = await join(proxy.port)
  proxy.cut()
  await until(() => before.closed(), { what: 'the old connection to be reset' })
  const during = connect(proxy.port, '127.0.0.1')
  const [error] = await once(during, 'error')
  expect(error).toMatchObject({ code: 'ECONNRESET' })
  proxy.heal()
  const after = await join(proxy.port)
  after.socket.write('hello')
  await until(() => after.heard() === 'hello', { what: 'the echo' })
  after.socket.destroy()
})

test('a black hole keeps connections open and silent, and passes what it held when it heals', async () => {
  const proxy = await startProxy({ targetPort })
  const old = await join(proxy.port)
  old.socket.write('a')
  await until(() => old.heard() === 'a', { what: 'the first echo' })
  proxy.blackhole()
  const fresh = await join(proxy.port)
  old.socket.write('b')
  fresh.socket.write('c')
  const side = await startProxy({ targetPort })
  const control = await join(side.port)
  control.socket.write('d')
  await until(() => control.heard() === 'd', { what: 'an echo past the black hole' })
  expect([old.heard(), fresh.heard(), old.closed(), fresh.closed()]).toEqual(['a', '', false, false])
  proxy.heal()
  await until(() => old.heard() === 'ab' && fresh.heard() === 'c', { what: 'the held bytes' })
  for (const client of [old, fresh, control]) client.socket.destroy()
})

test('a delay holds every byte back in both directions and keeps their order', async () => {
  const proxy = await startProxy({ targetPort })
  const client = await join(proxy.port)
  proxy.delay(60)
  const start = performance.now()
  client.socket.write('1')
  client.socket.write('2')
  await until(() => client.heard() === '12', { what: 'the echo' })
  expect(performance.now() - start).toBeGreaterThanOrEqual(115)
  client.socket.destroy()
})
