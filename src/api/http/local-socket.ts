import { chmodSync, lstatSync, rmSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { createConnection, createServer, type Server } from 'node:net'
import { dirname } from 'node:path'
import { DroverError } from '../../errors.ts'
import { boundConnections } from './bound-connections.ts'
import type { ApiDeps } from './env.ts'

/** Connections that came in here: a Unix socket has no address, and neither has a connection that is gone. */
const locals = new WeakSet<object>()

/** Whether a connection came in over the local socket. */
export const isLocalSocket = (socket: object): boolean => locals.has(socket)

/**
 * Has an HTTP server answer on a Unix socket too. What comes in there is handed to that server, so that the same
 * limits, deadlines and drain hold; only the number of connections has a bound of its own, because the server counts
 * what it accepted itself. A socket that a killed process of ours left is removed; nothing else is.
 */
export const listenLocally = async (
  server: HttpServer,
  path: string,
  deps: Pick<ApiDeps, 'clock' | 'log'> & { readonly limits: Pick<ApiDeps['limits'], 'localConnections'> },
): Promise<Server> => {
  requireClosedDirectory(dirname(path))
  await removeStale(path)
  const local = createServer((socket) => {
    locals.add(socket)
    server.emit('connection', socket)
  })
  boundConnections(local, deps.limits.localConnections, { ...deps, door: 'socket' })
  await new Promise<void>((resolve, reject) => {
    local.once('error', (error) => reject(unusable(path, error.message)))
    local.listen(path, resolve)
  })
  chmodSync(path, 0o600)
  return local
}

const requireClosedDirectory = (directory: string): void => {
  const stats = lstatSync(directory, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) throw unusable(directory, 'there is no such directory')
  if (stats.uid !== process.geteuid?.()) throw unusable(directory, 'its directory belongs to another user')
  if ((stats.mode & 0o077) !== 0) throw unusable(directory, 'its directory is open to others')
}

const removeStale = async (path: string): Promise<void> => {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats) return
  if (!stats.isSocket() || stats.uid !== process.geteuid?.())
    throw unusable(path, 'something that is no socket of ours has that name')
  if (await isAnswered(path)) throw unusable(path, 'another process answers on it')
  rmSync(path, { force: true })
}

const isAnswered = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createConnection(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })

const unusable = (path: string, why: string): DroverError =>
  new DroverError({
    code: 'address-unusable',
    class: 'config',
    message: `The API cannot listen on the socket ${path}: ${why}.`,
    remedy: 'Set DROVER_SOCKET to a path in a directory that belongs to this user alone (mode 700).',
    field: 'DROVER_SOCKET',
  })
