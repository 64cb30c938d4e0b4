import { openDb } from '../../db/client.ts'
import { lockAccessTokens } from '../../db/queries/access-tokens.ts'
import { createToken, newSecret, revokeToken } from '../api/tokens.ts'

const validMs = 5 * 60_000

/**
 * Lets the start do what only an admin may: with a token that lives as long as the work, and is kept nowhere.
 * The one in `local.token` stays an operator's.
 */
export const withBriefAdmin = async <Result>(
  databaseUrl: string,
  work: (token: string) => Promise<Result>,
): Promise<Result> => {
  const db = openDb({ url: databaseUrl, max: 1, applicationName: 'drover-up' })
  try {
    const secret = newSecret()
    const { id } = await db.begin(async (tx) => {
      await lockAccessTokens(tx)
      const name = `start-${secret.split('_')[1]}`
      const expiresAt = new Date(Date.now() + validMs)
      return await createToken(tx, { name, role: 'admin', expiresAt, createdBy: 'start', secret })
    })
    try {
      return await work(secret)
    } finally {
      await db.begin(async (tx) => {
        await lockAccessTokens(tx)
        await revokeToken(tx, id, 'start')
      })
    }
  } finally {
    await db.end({ timeout: 5 })
  }
}
