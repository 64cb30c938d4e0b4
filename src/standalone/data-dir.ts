import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { DroverError } from '../errors.ts'
import { findUnprivilegedUser, firstClosedParent } from './unprivileged-user.ts'

/** Where services keep their data on the systems we know; everybody may pass through its parents. */
const systemDataDir = '/var/lib/drover'

export interface ChosenDir {
  readonly path: string
  /** Why it is not the usual place. */
  readonly note?: string
}

/**
 * The data directory, made when missing. Root's home is closed to the user that Postgres runs as, and opening
 * it is not ours to do, so root's default is /var/lib/drover. A directory that a person named is never moved.
 */
export const chooseDataDir = async (
  config: Pick<Config, 'dataDir' | 'databaseUrl'>,
  options: { named: boolean },
): Promise<ChosenDir> => {
  const usual = resolve(config.dataDir)
  const user = config.databaseUrl === undefined && !options.named ? await findUnprivilegedUser() : undefined
  const closed = user && (await firstClosedParent(usual, user))
  if (!closed) return { path: make(usual) }
  const note = `${closed} is closed to user "${user.name}", who runs Postgres; data goes to ${systemDataDir}`
  return { path: make(systemDataDir), note }
}

const make = (path: string): string => {
  try {
    mkdirSync(join(path, 'logs'), { recursive: true, mode: 0o700 })
    return path
  } catch (cause) {
    throw new DroverError(
      {
        code: 'data-dir-unusable',
        class: 'config',
        message: `The data directory ${path} cannot be used: ${(cause as Error).message}.`,
        remedy: 'Set DROVER_DATA_DIR to a directory that you may write to.',
        field: 'DROVER_DATA_DIR',
      },
      { cause },
    )
  }
}

export const secretKeyFile = (dataDir: string): string => join(dataDir, 'secret.key')

/** The key that seals secrets: made once, kept where only we can read it. */
export const ensureSecretKey = (dataDir: string): string =>
  keepSecret(secretKeyFile(dataDir), () => randomBytes(32).toString('hex'))

/** Reads a secret file, or makes it. Two at once agree on one secret. */
export const keepSecret = (path: string, makeSecret: () => string): string => {
  const draft = `${path}.${process.pid}`
  // One of a process that died with our number; and a link under that name is never written through.
  rmSync(draft, { force: true })
  writeFileSync(draft, `${makeSecret()}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(path, 'utf8').trim()
}
