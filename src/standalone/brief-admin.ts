import { openDb } from '../../db/client.ts'
import { endStartToken, makeStartToken } from './start-token.ts'

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
    const { id, secret } = await makeStartToken(db, 'start')
    try {
      return await work(secret)
    } finally {
      await endStartToken(db, id)
    }
  } finally {
    await db.end({ timeout: 5 })
  }
}
