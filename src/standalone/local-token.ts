import { readFile, rename, writeFile } from 'node:fs/promises'
import { type Db, openDb } from '../../db/client.ts'
import { findAccessTokenByHash } from '../../db/queries/access/find-access-token.ts'
import { hashSecret } from '../api/access/tokens.ts'
import type { Clock } from '../clock.ts'
import { localTokenPath } from './local-door.ts'
import { endStartToken, makeStartToken, startTokens } from './start-token.ts'

/** Renewed long before its end; the one before lives on to its own, for what reads the file just then. */
const renewAfterMs = startTokens.local.validMs / 2
const lookMs = 10 * 60_000

/**
 * A new operator token for the supervisor's own calls and the command line; that of the start before ends. The
 * admin's token is not kept anywhere, so it cannot serve for this.
 */
export const startLocalToken = async (db: Db, dataDir: string): Promise<string> => {
  const kept = (await readFile(localTokenPath(dataDir), 'utf8').catch(() => '')).trim()
  const secret = await writeLocalToken(db, dataDir)
  const before = kept === '' ? undefined : await findAccessTokenByHash(db, hashSecret(kept))
  // The file is a person's to write: a token that somebody else made is not ours to revoke.
  if (before?.name.startsWith('local-')) await endStartToken(db, before.id)
  return secret
}

const writeLocalToken = async (db: Db, dataDir: string): Promise<string> => {
  const { secret } = await makeStartToken(db, 'local')
  const path = localTokenPath(dataDir)
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${secret}\n`, { mode: 0o600 })
  await rename(draft, path)
  return secret
}

/**
 * Renews the local token until `signal` ends it. Looks at the clock on the wall: a machine that slept has lost hours
 * that no timer counted.
 */
export const keepLocalToken = async (options: {
  readonly databaseUrl: string
  readonly dataDir: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly signal: AbortSignal
  readonly say: (text: string) => void
}): Promise<void> => {
  const { clock, signal, dataDir, say } = options
  let madeMs = clock.now()
  while (!signal.aborted) {
    await clock.sleep(lookMs, signal)
    if (signal.aborted || clock.now() - madeMs < renewAfterMs) continue
    const db = openDb({ url: options.databaseUrl, max: 1, applicationName: 'drover-up' })
    try {
      await writeLocalToken(db, dataDir)
      madeMs = clock.now()
    } catch (error) {
      say(`The local token could not be renewed, which is tried again: ${(error as Error).message}`)
    } finally {
      await db.end({ timeout: 5 })
    }
  }
}
