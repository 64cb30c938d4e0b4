import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DroverError } from '../errors.ts'

/** What the system keeps of a socket's path, without its end mark: the rest would be cut off. */
const pathBytesMax = process.platform === 'darwin' ? 103 : 107
const socketName = 'api.sock'

export interface SocketPlace {
  readonly path: string
  /** Why it is not in the data directory. */
  readonly note?: string
  /** Takes away what was made outside the data directory. */
  release(): void
}

/**
 * Where the API's socket goes: `socket/` in the data directory, closed to others, because the data directory itself
 * may have to be open to the user that runs Postgres. Where that path is too long, a directory of ours in
 * XDG_RUNTIME_DIR or the system's temp directory; the data directory remembers which, so that no start leaves one.
 */
export const chooseSocket = (dataDir: string, env: NodeJS.ProcessEnv): SocketPlace => {
  const own = join(dataDir, 'socket')
  if (fits(own)) {
    closeToOthers(own)
    return { path: join(own, socketName), release: () => {} }
  }
  const record = join(dataDir, 'socket-directory')
  const elsewhere = rememberedIn(record) ?? makeElsewhere(env)
  writeFileSync(record, `${elsewhere}\n`, { mode: 0o600 })
  return {
    path: join(elsewhere, socketName),
    note: `The path of ${own} is too long for a socket; it is in ${elsewhere}`,
    release: () => {
      rmSync(elsewhere, { recursive: true, force: true })
      rmSync(record, { force: true })
    },
  }
}

const fits = (directory: string): boolean => Buffer.byteLength(join(directory, socketName)) <= pathBytesMax

const isOurs = (path: string): boolean => {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isDirectory() === true && stats.uid === process.geteuid?.()
}

const closeToOthers = (directory: string): void => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (isOurs(directory)) {
    chmodSync(directory, 0o700)
    return
  }
  throw new DroverError({
    code: 'data-dir-unusable',
    class: 'config',
    message: `${directory} is no directory of this user, so no socket is made in it.`,
    remedy: 'Move it away, or set DROVER_DATA_DIR to a directory of your own.',
    field: 'DROVER_DATA_DIR',
  })
}

/** A base that is too long itself is passed over. */
const makeElsewhere = (env: NodeJS.ProcessEnv): string => {
  const [base = '/tmp'] = [env.XDG_RUNTIME_DIR ?? '', tmpdir()].filter(
    (path) => path !== '' && fits(join(path, 'drover-XXXXXX')) && lstatSync(path, { throwIfNoEntry: false }),
  )
  return mkdtempSync(join(base, 'drover-'))
}

/** The directory of the start before, when it is still ours alone: a start that was killed left it. */
const rememberedIn = (record: string): string | undefined => {
  let path: string
  try {
    path = readFileSync(record, 'utf8').trim()
  } catch {
    return undefined
  }
  // It is removed with all that is in it, so a word in a file is not enough.
  if (!/^drover-[A-Za-z0-9]{6}$/.test(basename(path))) return undefined
  return isOurs(path) && (lstatSync(path).mode & 0o077) === 0 && fits(path) ? path : undefined
}
