import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DroverError } from '../errors.ts'
import { identify, isSameProcess, type ProcessIdentity } from './process-identity.ts'

/** Who runs in a data directory. */
export interface LockHolder extends ProcessIdentity {
  readonly since: string
  /** Where its API answers, once it does. */
  readonly address?: string
  /** The Unix socket on which it answers to programs of its own user. */
  readonly socket?: string
}

export interface DataLock {
  /** Tells the next one who tries where to find us. */
  publish(where: { readonly address: string; readonly socket: string }): void
  release(): void
}

export const lockPath = (dataDir: string): string => join(dataDir, 'drover.lock')

/**
 * Takes the data directory for this process, or throws `data-dir-in-use` and touches nothing. The lock of a
 * process that is gone (killed, machine restarted, number in use by another program since) is taken over.
 */
export const lockDataDir = (dataDir: string, holder: LockHolder = ourselves()): DataLock => {
  const path = lockPath(dataDir)
  const draft = `${path}.${holder.pid}`
  write(draft, holder)
  let other: LockHolder | undefined
  try {
    other = acquire(path, draft)
  } finally {
    rmSync(draft, { force: true })
  }
  if (other) throw inUse(dataDir, other)
  const isOurs = () => {
    const now = read(path)
    return now !== undefined && isSameProcess(holder, now)
  }
  return {
    publish: (where) => {
      if (!isOurs()) return
      write(draft, { ...holder, ...where })
      renameSync(draft, path)
    },
    release: () => {
      if (isOurs()) rmSync(path, { force: true })
    },
  }
}

const ourselves = (): LockHolder => ({
  ...(identify(process.pid) ?? { pid: process.pid, started: 'unknown' }),
  since: new Date().toISOString(),
})

/**
 * Undefined when the lock is ours now, else its living holder. Whoever takes over from a dead holder first
 * locks that holder's succession, so that of two who saw the same dead holder only one follows it. A dead
 * successor is followed in the same way.
 */
const acquire = (path: string, draft: string): LockHolder | undefined => {
  for (;;) {
    if (linkIfFree(draft, path)) return undefined
    const holder = read(path)
    if (holder === undefined) continue
    if (isSameProcess(holder, identify(holder.pid))) return holder
    const succession = `${path}.after-${holder.pid}-${nameOf(holder.started)}`
    const rival = acquire(succession, draft)
    if (rival) return rival
    try {
      const now = read(path)
      // Somebody was faster from start to end: look again at who holds the lock.
      if (now === undefined || !isSameProcess(holder, now)) continue
      const copy = `${draft}.taken`
      linkIfFree(draft, copy)
      renameSync(copy, path)
      return undefined
    } finally {
      rmSync(succession, { force: true })
    }
  }
}

const nameOf = (text: string): string => text.replaceAll(/[^A-Za-z0-9]/g, '').slice(-24)

/** A link appears whole or not at all; nobody ever reads half a lock. */
const linkIfFree = (draft: string, path: string): boolean => {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

const write = (path: string, holder: LockHolder): void =>
  writeFileSync(path, `${JSON.stringify(holder)}\n`, { mode: 0o600 })

/** Undefined when there is no lock. */
const read = (path: string): LockHolder | undefined => {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  return holderOf(text)
}

/** Who a lock names. One that cannot be understood (a disk that lost it) has no living holder. */
export const holderOf = (text: string): LockHolder => {
  try {
    const found = JSON.parse(text) as LockHolder
    if (Number.isSafeInteger(found.pid) && typeof found.started === 'string') return found
  } catch {
    // Fall through to a holder that nobody is.
  }
  return { pid: 0, started: 'unreadable', since: 'unknown' }
}

const inUse = (dataDir: string, holder: LockHolder): DroverError => {
  const where = holder.address === undefined ? 'it is still starting' : `it answers at ${holder.address}`
  return new DroverError({
    code: 'data-dir-in-use',
    class: 'config',
    message: `Drover already runs in ${dataDir}: process ${holder.pid}, since ${holder.since}; ${where}.`,
    remedy: `Use that one, stop it (kill ${holder.pid}), or set DROVER_DATA_DIR and DROVER_PORT for a second one.`,
    field: 'DROVER_DATA_DIR',
    detail: { pid: holder.pid },
  })
}
