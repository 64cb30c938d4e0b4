import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { holderOf, lockPath } from './data-lock.ts'
import { identify, isSameProcess } from './process-identity.ts'

/** Where the token lies that this machine's own programs use: whoever may read it owns the database anyway. */
export const localTokenPath = (dataDir: string): string => join(dataDir, 'local.token')

/** The way into the Drover that runs in a data directory, for programs of the same user. */
export interface LocalDoor {
  readonly socketPath: string
  readonly tokenPath: string
  /** The token that is in the file now. */
  readonly readToken: () => string
}

/** There is no way in that can be trusted: what is wrong, and what to do. */
export class NoLocalDoor extends Error {
  readonly remedy: string

  constructor(message: string, remedy: string) {
    super(message)
    this.remedy = remedy
  }
}

const sayWhere = 'Start it (npm start), or set DROVER_URL and DROVER_TOKEN to the Drover that you mean.'

/**
 * The door of the first of these data directories that has one. Nothing is sent before it is known that the directory
 * belongs to a process that lives, and that lock, token and socket belong to this user or to root: on a port anybody
 * may listen, and whoever sends a token to find out has given it away.
 */
export const findLocalDoor = (
  dataDirs: readonly string[],
  uid: number | undefined = process.geteuid?.(),
): LocalDoor => {
  for (const dataDir of dataDirs) {
    const text = readTrusted(lockPath(dataDir), uid)
    if (text !== undefined) return doorOf(dataDir, text, uid)
  }
  throw new NoLocalDoor(`No Drover runs in ${dataDirs.join(' or ')}.`, sayWhere)
}

const doorOf = (dataDir: string, lock: string, uid: number | undefined): LocalDoor => {
  const holder = holderOf(lock)
  if (!isSameProcess(holder, identify(holder.pid)))
    throw new NoLocalDoor(
      `The Drover in ${dataDir} (process ${holder.pid}) has ended without a word: nobody can say who answers in its place.`,
      sayWhere,
    )
  const { socket } = holder
  if (socket === undefined)
    throw new NoLocalDoor(
      `The Drover in ${dataDir} (process ${holder.pid}) does not answer on a socket: it is still starting, or older than this command.`,
      'Wait until it is up, start it again with this version, or set DROVER_URL and DROVER_TOKEN.',
    )
  requireOwnSocket(socket, uid)
  const tokenPath = localTokenPath(dataDir)
  return {
    socketPath: socket,
    tokenPath,
    readToken: () => {
      const token = readTrusted(tokenPath, uid)?.trim()
      if (!token)
        throw new NoLocalDoor(`There is no token in ${tokenPath}.`, 'Start Drover again: it makes one.')
      return token
    },
  }
}

/** Others may neither own the socket nor its directory, nor put another one there. */
const requireOwnSocket = (path: string, uid: number | undefined): void => {
  const directory = dirname(path)
  const [above, socket] = [lstatSync(directory, quietly), lstatSync(path, quietly)]
  if (!above || !socket)
    throw new NoLocalDoor(`The socket ${path} is not there.`, 'Is the API of this Drover up? See its logs.')
  requireTrusted(directory, above, uid)
  requireTrusted(path, socket, uid)
  if (!above.isDirectory() || !socket.isSocket() || (above.mode & 0o077) !== 0)
    throw new NoLocalDoor(
      `${path} is not a socket in a directory that is closed to others; nothing was sent to it.`,
      `Start Drover again, which makes ${directory} with mode 700.`,
    )
}

const quietly = { throwIfNoEntry: false } as const

/** What is in a file of ours or of root's; undefined when there is none. */
const readTrusted = (path: string, uid: number | undefined): string | undefined => {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw new NoLocalDoor(
      `${path} cannot be read: ${(error as Error).message}.`,
      'Work as the user that runs Drover, or set DROVER_URL and DROVER_TOKEN.',
    )
  }
  try {
    // Asked of what is open: the name may mean another file a moment later.
    const stats = fstatSync(descriptor)
    requireTrusted(path, stats, uid)
    if (!stats.isFile() || (stats.mode & 0o022) !== 0)
      throw new NoLocalDoor(`${path} can be written by others; it was not used.`, `chmod 600 ${path}`)
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}

const requireTrusted = (path: string, { uid: owner }: Stats, uid: number | undefined): void => {
  if (owner === 0 || owner === uid) return
  throw new NoLocalDoor(
    `${path} belongs to another user (${owner}); nothing was sent to it.`,
    'Work as the user that runs Drover, or set DROVER_URL and DROVER_TOKEN.',
  )
}
