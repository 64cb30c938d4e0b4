import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listenLocally } from '../../../src/api/http/local-socket.ts'
import { requestApi, socketDoor } from '../../../src/api-request.ts'
import { systemClock } from '../../../src/clock.ts'
import { findLocalDoor, NoLocalDoor } from '../../../src/standalone/local-door.ts'
import { identify } from '../../../src/standalone/process-identity.ts'
import { chooseSocket } from '../../../src/standalone/socket-place.ts'
import { atEnd } from '../../support/cleanup.ts'
import { quietLog } from '../../support/events.ts'
import { tempDir } from '../../support/temp.ts'

const deps = { clock: systemClock, log: quietLog, limits: { localConnections: 5 } }
const listen = (path: string) => listenLocally(httpServer(), path, deps)
const httpServer = () => createHttpServer((_request, response) => response.end('{}'))

/** A running Drover's data, as far as a door is concerned. */
const running = async (): Promise<{ dir: string; socket: string }> => {
  const dir = await tempDir('door')
  const { path } = chooseSocket(dir, {})
  const local = await listen(path)
  atEnd(() => new Promise((resolve) => local.close(resolve)))
  const lock = { ...identify(process.pid), since: 'now', socket: path }
  writeFileSync(join(dir, 'drover.lock'), JSON.stringify(lock), { mode: 0o600 })
  writeFileSync(join(dir, 'local.token'), 'drv_local\n', { mode: 0o600 })
  return { dir, socket: path }
}

const other = 65_534
/** Has something belong to another user; who may not give away looks with the eyes of another one. */
const give = (path: string): number | undefined => {
  const uid = process.geteuid?.()
  if (uid !== 0) return (uid ?? 0) + 1
  chownSync(path, other, other)
  return uid
}

test('the socket of a start is closed to other users, and answers', async () => {
  const { dir, socket } = await running()
  expect(lstatSync(socket).mode & 0o777).toBe(0o600)
  expect(lstatSync(join(dir, 'socket')).mode & 0o777).toBe(0o700)
  const door = findLocalDoor([dir])
  expect([door.socketPath, door.readToken()]).toEqual([socket, 'drv_local'])
  const { signal } = new AbortController()
  const answer = await requestApi(socketDoor(socket), '/v1/kinds', { method: 'GET', headers: {}, signal })
  expect(answer.status).toBe(200)
})

// promise: local-token
test.each(['socket/api.sock', 'socket', 'drover.lock', 'local.token'])(
  'a data directory whose %s belongs to another user gets no token',
  async (name) => {
    const { dir } = await running()
    const eyes = give(join(dir, name))
    const ask = () => findLocalDoor([dir], eyes).readToken()
    expect(ask).toThrow(NoLocalDoor)
    expect(ask).toThrow(/belongs to another user/)
  },
)

test('what others may write, or put another thing in the place of, is not used', async () => {
  const { dir } = await running()
  chmodSync(join(dir, 'socket'), 0o770)
  expect(() => findLocalDoor([dir])).toThrow(/closed to others/)
  chmodSync(join(dir, 'socket'), 0o700)
  chmodSync(join(dir, 'local.token'), 0o622)
  expect(() => findLocalDoor([dir]).readToken()).toThrow(/can be written by others/)
  chmodSync(join(dir, 'drover.lock'), 0o666)
  expect(() => findLocalDoor([dir])).toThrow(/can be written by others/)
})

test('a lock that is a link to another place is not followed', async () => {
  const [{ dir }, lure] = [await running(), await tempDir('door')]
  symlinkSync(join(dir, 'drover.lock'), join(lure, 'drover.lock'))
  expect(() => findLocalDoor([lure])).toThrow(/cannot be read/)
})

test('a path that is too long for a socket has it elsewhere, the same place each time, and leaves nothing', async () => {
  const base = await tempDir('door')
  const dir = join(base, 'd'.repeat(120))
  mkdirSync(dir)
  const place = chooseSocket(dir, { XDG_RUNTIME_DIR: base })
  expect(place.note).toContain('too long')
  expect(place.path.startsWith(`${base}/drover-`)).toBe(true)
  expect(lstatSync(join(place.path, '..')).mode & 0o777).toBe(0o700)
  expect(chooseSocket(dir, { XDG_RUNTIME_DIR: base }).path).toBe(place.path)
  expect(readFileSync(join(dir, 'socket-directory'), 'utf8').trim()).toBe(join(place.path, '..'))
  const local = await listen(place.path)
  await new Promise((resolve) => local.close(resolve))
  place.release()
  expect([join(place.path, '..'), join(dir, 'socket-directory')].filter(existsSync)).toEqual([])
})

test('a remembered directory that others can open is left alone, and another one is made', async () => {
  const base = await tempDir('door')
  const dir = join(base, 'd'.repeat(120))
  const planted = join(base, 'planted')
  mkdirSync(dir)
  mkdirSync(planted, { mode: 0o777 })
  chmodSync(planted, 0o777)
  writeFileSync(join(dir, 'socket-directory'), `${planted}\n`)
  const place = chooseSocket(dir, { XDG_RUNTIME_DIR: base })
  expect(place.path.startsWith(planted)).toBe(false)
  place.release()
  expect(existsSync(planted)).toBe(true)
})

test('a remembered directory that no start of ours made is left alone, however closed it is', async () => {
  const base = await tempDir('door')
  const dir = join(base, 'd'.repeat(120))
  const home = join(base, 'home')
  mkdirSync(dir)
  mkdirSync(home, { mode: 0o700 })
  writeFileSync(join(home, 'letters'), 'dear')
  writeFileSync(join(dir, 'socket-directory'), `${home}\n`)
  chooseSocket(dir, { XDG_RUNTIME_DIR: base }).release()
  expect(readFileSync(join(home, 'letters'), 'utf8')).toBe('dear')
})

test('a directory named socket that is not ours is no place for a socket', async () => {
  const dir = await tempDir('door')
  symlinkSync(await tempDir('door'), join(dir, 'socket'))
  expect(() => chooseSocket(dir, {})).toThrow(expect.objectContaining({ code: 'data-dir-unusable' }))
})

test('a socket that a killed process left is taken over; one that answers, and a file, are not', async () => {
  const dir = await tempDir('door')
  const { path } = chooseSocket(dir, {})
  const unusable = expect.objectContaining({ code: 'address-unusable', field: 'DROVER_SOCKET' })
  writeFileSync(path, 'a file of somebody')
  await expect(listen(path)).rejects.toThrow(unusable)
  expect(readFileSync(path, 'utf8')).toBe('a file of somebody')

  const next = join(dir, 'socket', 'next.sock')
  const first = await listen(next)
  await expect(listen(next)).rejects.toThrow(unusable)
  await new Promise((resolve) => first.close(resolve))

  // What a kill leaves: the name of a socket on which nobody listens any more.
  const left = join(dir, 'socket', 'left.sock')
  const gone = createServer()
  await new Promise<void>((resolve) => gone.listen(join(dir, 'socket', 'before'), resolve))
  const { linkSync } = await import('node:fs')
  linkSync(join(dir, 'socket', 'before'), left)
  await new Promise((resolve) => gone.close(resolve))
  expect(lstatSync(left).isSocket()).toBe(true)
  const local = await listen(left)
  await new Promise((resolve) => local.close(resolve))
})

test('a socket is not made in a directory that others can open', async () => {
  const dir = await tempDir('door')
  chmodSync(dir, 0o755)
  await expect(listen(join(dir, 'api.sock'))).rejects.toThrow(/open to others/)
})
