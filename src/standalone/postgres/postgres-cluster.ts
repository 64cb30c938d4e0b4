import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, lstat, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../../clock.ts'
import { DroverError } from '../../errors.ts'
import type { Logger } from '../../process/log.ts'
import { keepSecret } from '../data-dir.ts'
import { commandLineOf, identify } from '../process-identity.ts'
import { firstClosedParent, type OsUser } from '../unprivileged-user.ts'
import { overwriteForeign, readForeign } from './foreign-file.ts'

const run = promisify(execFile)

export const clusterUser = 'drover'

/** Makes the data directory, and lets the user that Postgres runs as pass through it, and no further. */
export const prepareDataDir = async (dataDir: string, user: OsUser | undefined): Promise<void> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  if (!user) return
  const closed = await firstClosedParent(dataDir, user)
  if (closed) throw closedParent(dataDir, closed, user)
  const { uid } = await stat(dataDir)
  if (uid !== 0) throw foreignDataDir(dataDir, uid)
  await chmod(dataDir, 0o711)
}

/** The password of the cluster's superuser or of a login: made once, in a file that only we can read. */
export const clusterPassword = (dataDir: string, login = 'postgres'): string =>
  keepSecret(join(dataDir, `${login}.password`), () => randomBytes(24).toString('hex'))

/**
 * Runs initdb unless there is a cluster. It works in a directory of its own and is renamed into place, so
 * that an initdb that was cut short is never taken for a cluster.
 */
export const ensureCluster = async (options: {
  dataDir: string
  binDir: string
  user: OsUser | undefined
  password: string
}): Promise<string> => {
  const cluster = join(options.dataDir, 'postgres')
  const version = await readForeign(join(cluster, 'PG_VERSION'))
  if (version) {
    await refuseOtherVersion(options, /^\d{1,3}\s*$/.test(version) ? version.trim() : 'of an unknown version')
    return cluster
  }
  const { user } = options
  const workshop = join(options.dataDir, 'postgres.init')
  await rm(workshop, { recursive: true, force: true })
  await mkdir(workshop, { mode: 0o700 })
  const passwordFile = join(workshop, 'password')
  await writeFile(passwordFile, `${options.password}\n`, { mode: 0o600 })
  if (user) {
    await chown(passwordFile, user.uid, user.gid)
    await chown(workshop, user.uid, user.gid)
  }
  await initdb({ ...options, target: join(workshop, 'data'), passwordFile })
  // The folder was the user's for a while: a link under that name would become our cluster.
  if (!(await lstat(join(workshop, 'data'))).isDirectory()) throw notACluster(options.dataDir)
  await rename(join(workshop, 'data'), cluster)
  await rm(workshop, { recursive: true, force: true })
  return cluster
}

const initdb = async (options: {
  binDir: string
  user: OsUser | undefined
  target: string
  passwordFile: string
}): Promise<void> => {
  const { user } = options
  const flags = [
    ...['-D', options.target, '-U', clusterUser, `--pwfile=${options.passwordFile}`],
    ...['--auth=scram-sha-256', '--encoding=UTF8', '--no-instructions'],
    // The same sort order and speed everywhere, whatever locales the machine has.
    ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
  ]
  const { code, stderr } = await runTool(join(options.binDir, 'initdb'), flags, {
    cwd: dirname(options.target),
    user,
  })
  if (code === 0) return
  throw new DroverError({
    code: 'embedded-postgres-initdb',
    class: 'config',
    message: `The embedded Postgres could not make its data directory: ${complaint(stderr) || code}`,
    remedy: 'See that the disk has room and that DROVER_DATA_DIR is writable, or set DATABASE_URL.',
    field: 'DROVER_DATA_DIR',
  })
}

/** Runs a program to its end. In a session of its own: Ctrl-C in our terminal must not cut it short. */
const runTool = (
  program: string,
  flags: readonly string[],
  options: { cwd: string; user: OsUser | undefined },
): Promise<{ code: number | string; stderr: string }> =>
  new Promise((resolve) => {
    const { user, cwd } = options
    const child = spawn(program, flags, {
      cwd,
      env: postgresEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
      ...(user ? { uid: user.uid, gid: user.gid } : {}),
    })
    let stderr = ''
    child.stderr.on('data', (data: Buffer) => {
      stderr = (stderr + data.toString()).slice(-8_192)
    })
    child.once('error', (error) => resolve({ code: error.message, stderr }))
    child.once('close', (code, signal) => resolve({ code: signal ?? code ?? 'no exit code', stderr }))
  })

/** Nothing of ours: a PGDATA or LC_ALL of the caller's shell must not reach the server. */
export const postgresEnvironment = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
})

const refuseOtherVersion = async (options: { binDir: string; dataDir: string }, found: string) => {
  const { stdout } = await run(join(options.binDir, 'postgres'), ['--version'], { cwd: '/' }).catch(() => ({
    stdout: '',
  }))
  const ours = /(\d+)\./.exec(stdout)?.[1]
  if (!ours || ours === found) return
  throw new DroverError({
    code: 'embedded-postgres-version',
    class: 'config',
    message: `${options.dataDir} was made by Postgres ${found}; this Drover brings Postgres ${ours}.`,
    remedy: `Dump it with the older Drover and restore it here, or start with another DROVER_DATA_DIR.`,
    field: 'DROVER_DATA_DIR',
  })
}

/** The owner of an existing cluster: it must stay the user that Postgres runs as. */
export const clusterOwner = async (dataDir: string): Promise<number | undefined> => {
  const facts = await lstat(join(dataDir, 'postgres')).catch(() => undefined)
  if (facts && !facts.isDirectory()) throw notACluster(dataDir)
  const me = process.getuid?.()
  if (facts && me !== undefined && me !== 0 && facts.uid !== me) {
    throw new DroverError({
      code: 'data-dir-foreign',
      class: 'config',
      message: `The database in ${dataDir} belongs to another user (uid ${facts.uid}; we are ${me}).`,
      remedy: 'Start Drover as that user, or choose another DROVER_DATA_DIR.',
      field: 'DROVER_DATA_DIR',
    })
  }
  return facts?.uid
}

/**
 * Ends a postmaster that outlived its supervisor (kill -9), and unlocks the cluster when its pid file names a
 * process that has nothing to do with it. The caller holds the lock of the data directory.
 */
export const clearLeftovers = async (cluster: string, log: Logger): Promise<void> => {
  const pidFile = join(cluster, 'postmaster.pid')
  const text = await readForeign(pidFile)
  const pid = Number(text?.split('\n')[0])
  if (text === undefined || !identify(pid)) return
  if (commandLineOf(pid).includes(cluster) && (await belongsToOwner(pid, cluster))) {
    log.warn({ postmaster: pid }, 'a Postgres of a killed supervisor still runs here; it is stopped first')
    await endProcess(pid)
    return
  }
  // Postgres takes a pid file with its parent's number for stale, and then still looks whether backends of
  // the dead server hold its shared memory. Deleting the file would lose that look.
  await overwriteForeign(pidFile, text.replace(/^.*/, String(process.pid)))
}

/** The number is whatever the file's owner wrote: as root we would end anybody's process for that user. */
const belongsToOwner = async (pid: number, cluster: string): Promise<boolean> => {
  if (process.platform !== 'linux') return true
  const [own, theirs] = await Promise.all([lstat(cluster), lstat(`/proc/${pid}`).catch(() => undefined)])
  return theirs?.uid === own.uid
}

/** Fast shutdown, then harder. Resolves when the process is gone. */
export const endProcess = async (pid: number, signals = stopLadder): Promise<void> => {
  for (const [signal, waitLimitMs] of signals) {
    try {
      process.kill(pid, signal)
    } catch {
      return
    }
    const until = systemClock.monotonicMs() + waitLimitMs
    while (systemClock.monotonicMs() < until) {
      if (!identify(pid)) return
      await systemClock.sleep(20)
    }
  }
}

const stopLadder: readonly (readonly [NodeJS.Signals, number])[] = [
  ['SIGINT', 15_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
]

/** Passwords and keys lie in it: whoever owns it could put links in their place, and we would follow them as root. */
const foreignDataDir = (dataDir: string, uid: number): DroverError =>
  new DroverError({
    code: 'data-dir-foreign',
    class: 'config',
    message: `The data directory ${dataDir} belongs to another user (uid ${uid}) than root, who starts Drover.`,
    remedy: 'Start Drover as that user, give the directory to root, or choose another DROVER_DATA_DIR.',
    field: 'DROVER_DATA_DIR',
  })

const notACluster = (dataDir: string): DroverError =>
  new DroverError({
    code: 'embedded-postgres-initdb',
    class: 'config',
    message: `${join(dataDir, 'postgres')} is not a directory, as that of a Postgres must be.`,
    remedy: 'See what is there and who put it there, or choose another DROVER_DATA_DIR.',
    field: 'DROVER_DATA_DIR',
  })

const closedParent = (dataDir: string, closed: string, user: OsUser): DroverError =>
  new DroverError({
    code: 'data-dir-closed',
    class: 'config',
    message: `Postgres runs as user "${user.name}", who may not pass through ${closed} to ${dataDir}.`,
    remedy: 'Set DROVER_DATA_DIR to a directory below one that everybody may pass, such as /var/lib/drover.',
    field: 'DROVER_DATA_DIR',
  })

const complaint = (text: string): string => {
  const lines = text.trim().split('\n')
  return lines.find((line) => /(error|FATAL|PANIC):/.test(line)) ?? lines.at(-1) ?? ''
}
