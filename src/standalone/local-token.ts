import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../../db/client.ts'
import { lockAccessTokens } from '../../db/queries/access-tokens.ts'
import { findAccessTokenByHash } from '../../db/queries/find-access-token.ts'
import { createToken, hashSecret, newSecret } from '../api/tokens.ts'

/** Where the token lies that this machine's own programs use: whoever may read it owns the database anyway. */
export const localTokenPath = (dataDir: string): string => join(dataDir, 'local.token')

/**
 * An operator token for the supervisor's own calls, made at the first start and again when it was revoked.
 * The admin's token is not kept anywhere, so it cannot serve for this.
 */
export const ensureLocalToken = async (db: Db, dataDir: string): Promise<string> => {
  const path = localTokenPath(dataDir)
  const kept = (await readFile(path, 'utf8').catch(() => '')).trim()
  const known = kept === '' ? undefined : await findAccessTokenByHash(db, hashSecret(kept))
  if (known && !known.revoked && !known.expired) return kept
  const secret = newSecret()
  await db.begin(async (tx) => {
    await lockAccessTokens(tx)
    const name = `local-${secret.split('_')[1]}`
    await createToken(tx, { name, role: 'operator', expiresAt: null, createdBy: 'start', secret })
  })
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${secret}\n`, { mode: 0o600 })
  await rename(draft, path)
  return secret
}
