import { chmod } from 'node:fs/promises'
import { type AddressInfo, createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listenLocally } from '../../../src/api/http/local-socket.ts'
import { requestApi, socketDoor } from '../../../src/api-request.ts'
import { createHttpServer } from '../../../src/roles/api.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createDatabase } from '../../support/postgres.ts'
import { tempDir } from '../../support/temp.ts'
import { settles, until } from '../../support/wait.ts'
import { depsOver, type Overrides } from '../setup.ts'

const { db } = await createDatabase()

/** An API over both doors: a port, and a socket in a directory that is closed to others. */
const bothDoors = async (overrides: Overrides = {}) => {
  const deps = depsOver(db, overrides)
  const dir = await tempDir('socket')
  await chmod(dir, 0o700)
  const path = join(dir, 'api.sock')
  const server = createHttpServer(deps)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const local = await listenLocally(server, path, deps)
  atEnd(async () => {
    server.closeAllConnections()
    await Promise.all([server, local].map((one) => new Promise((resolve) => one.close(resolve))))
  })
  const { port } = server.address() as AddressInfo
  const signal = AbortSignal.timeout(20_000)
  return {
    deps,
    overSocket: (url: string, headers: Record<string, string> = {}) =>
      requestApi(socketDoor(path), url, {
        method: 'GET',
        headers: { connection: 'close', ...headers },
        signal,
      }),
    overNetwork: (url: string) =>
      fetch(`http://127.0.0.1:${port}${url}`, { headers: { connection: 'close' } }),
    toSocket: () => createConnection(path),
    toPort: () => createConnection(port, '127.0.0.1'),
  }
}

/** Opens connections that ask for nothing; gives how many of them the server let go of at once. */
const occupy = async (count: number, open: () => Socket): Promise<{ refused: number; free: () => void }> => {
  let refused = 0
  const sockets = Array.from({ length: count }, open)
  for (const socket of sockets) {
    socket.on('error', () => {})
    socket.on('close', () => {
      refused += 1
    })
    socket.resume()
  }
  const free = () => {
    for (const socket of sockets) socket.destroy()
  }
  atEnd(free)
  await until(async () => sockets.every((socket) => !socket.connecting), {
    what: 'the connections to be made',
  })
  return {
    get refused() {
      return refused
    },
    free,
  }
}

test('a wrong token over the socket is told of as of the local socket, whatever the request says', async () => {
  await db`truncate event`
  const { deps, overSocket } = await bothDoors()
  const headers = { authorization: 'Bearer drv_00000000_guess-guess', 'x-forwarded-for': '198.51.100.1' }
  expect((await overSocket('/v1/jobs', headers)).status).toBe(401)
  await deps.signIns.tell()
  const [event] = await db`select detail from event where type = 'sign-in.failed'`
  expect(event?.detail).toMatchObject({ attempts: 1, peers: [{ peer: 'the local socket', attempts: 1 }] })
})

// promise: noisy-neighbour
test('connections over the socket have a bound of their own, which those of the network cannot use up', async () => {
  const { overSocket, overNetwork, toSocket, toPort } = await bothDoors({
    limits: { connections: 3, localConnections: 2 },
  })
  const outside = await occupy(5, toPort)
  await until(async () => outside.refused === 2, { what: 'what is too much from the network to be refused' })
  await expect(overNetwork('/healthz')).rejects.toThrow()
  expect((await overSocket('/healthz')).status).toBe(200)

  outside.free()
  await until(async () => (await overNetwork('/healthz').catch(() => undefined))?.status === 200, {
    what: 'the network to be answered again',
  })
  const inside = await occupy(4, toSocket)
  await until(async () => inside.refused === 2, { what: 'what is too much over the socket to be refused' })
  await expect(settles(overSocket('/healthz'), { what: 'the refusal' })).rejects.toThrow()
  expect((await overNetwork('/healthz')).status).toBe(200)
})
