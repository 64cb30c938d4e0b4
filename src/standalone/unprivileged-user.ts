import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import { DroverError } from '../errors.ts'

const run = promisify(execFile)

/** The OS user that Postgres runs as. `undefined` where that is simply us. */
export interface OsUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

export const runningAsRoot = (): boolean => process.getuid?.() === 0

/**
 * Postgres refuses to run as root. As root: the owner of an existing cluster, else `postgres`, else `drover`,
 * which is created when it is missing.
 */
export const findUnprivilegedUser = async (ownerUid?: number): Promise<OsUser | undefined> => {
  if (!runningAsRoot()) return undefined
  if (ownerUid !== undefined && ownerUid !== 0) return await lookUp(String(ownerUid))
  return (await lookUp('postgres')) ?? (await lookUp('drover')) ?? (await createUser('drover'))
}

const lookUp = async (name: string): Promise<OsUser | undefined> => {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
    return { name, uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    // A number without an entry in the user database is still a user to the kernel.
    return /^\d+$/.test(name) ? { name, uid: Number(name), gid: Number(name) } : undefined
  }
}

const createUser = async (name: string): Promise<OsUser> => {
  try {
    await run('useradd', [
      '--system',
      '--no-create-home',
      '--user-group',
      '--shell',
      '/usr/sbin/nologin',
      name,
    ])
    const user = await lookUp(name)
    if (user) return user
    throw new Error(`useradd made no user ${name}`)
  } catch (cause) {
    throw new DroverError(
      {
        code: 'embedded-postgres-user',
        class: 'config',
        message: `Postgres cannot run as root, and no user for it could be made: ${firstLine(cause)}.`,
        remedy: `Create a system user named "${name}" or "postgres", start as an ordinary user, or set DATABASE_URL.`,
      },
      { cause },
    )
  }
}

const firstLine = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? ''

/**
 * The first directory on the way to `path` that `user` may not pass, or undefined. Directories that do not
 * exist yet are ours to make. Access lists are not looked at: the mode decides.
 */
export const firstClosedParent = async (path: string, user: OsUser): Promise<string | undefined> => {
  const parents: string[] = []
  for (let at = dirname(resolve(path)); ; at = dirname(at)) {
    parents.unshift(at)
    if (at === dirname(at)) break
  }
  for (const parent of parents) {
    const facts = await stat(parent).catch(() => undefined)
    if (!facts) return undefined
    if (!mayPass(facts, user)) return parent
  }
  return undefined
}

const mayPass = (facts: { uid: number; gid: number; mode: number }, user: OsUser): boolean => {
  const shift = facts.uid === user.uid ? 6 : facts.gid === user.gid ? 3 : 0
  return ((facts.mode >> shift) & 1) === 1
}
