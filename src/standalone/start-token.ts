import type { Db } from '../../db/client.ts'
import { lockAccessTokens } from '../../db/queries/access/access-tokens.ts'
import { pruneStartTokens } from '../../db/queries/access/prune-start-tokens.ts'
import { createToken, newSecret, revokeToken } from '../api/access/tokens.ts'

/** Who makes them, as rows and events name it. */
const by = 'start'

export interface StartToken {
  readonly id: string
  readonly secret: string
}

/** What a start's own tokens are for: the machine's programs for a day, and the start's own work as an administrator. */
export const startTokens = {
  local: { role: 'operator', validMs: 24 * 3_600_000 },
  start: { role: 'admin', validMs: 5 * 60_000 },
} as const

/** Makes a token of a start, and takes the dead ones of earlier starts off the list. */
export const makeStartToken = async (db: Db, use: keyof typeof startTokens): Promise<StartToken> => {
  const { role, validMs } = startTokens[use]
  const secret = newSecret()
  const name = `${use}-${secret.split('_')[1]}`
  const expiresAt = new Date(Date.now() + validMs)
  return (await db.begin(async (tx) => {
    await lockAccessTokens(tx)
    await pruneStartTokens(tx)
    const { id } = await createToken(tx, { name, role, expiresAt, createdBy: by, secret })
    return { id, secret }
  })) as StartToken
}

/** Ends a token of a start, and takes it off the list. */
export const endStartToken = async (db: Db, id: string): Promise<void> => {
  await db.begin(async (tx) => {
    await lockAccessTokens(tx)
    await revokeToken(tx, id, by)
    await pruneStartTokens(tx)
  })
}
