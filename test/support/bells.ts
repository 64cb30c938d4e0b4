import { describe } from 'vitest'
import { type Db, isDeadlock } from '../../db/client.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { startRedis, type TestRedis } from './redis.ts'

/** Everything a test of the ledger needs to run on one of the two bells. */
export interface TestBell {
  readonly kind: 'postgres' | 'redis'
  readonly database: TestDatabase
  /** Only on the Redis bell. */
  readonly redis: TestRedis | undefined
  /** What a role of Drover, or `readConfig`, needs to use this database and this bell. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Describes the same tests once per bell, each time with a database of their own. Call it at the top of a
 * file: `await onEachBell('claims', (bell) => { test('…', …) })`.
 */
export const onEachBell = async (title: string, tests: (bell: TestBell) => void): Promise<void> => {
  for (const kind of ['postgres', 'redis'] as const) {
    const database = await createDatabase()
    const redis = kind === 'redis' ? await startRedis() : undefined
    const env = {
      DATABASE_URL: database.url,
      ...(redis ? { REDIS_URL: redis.url } : {}),
      DROVER_SECRET_KEY: '5e'.repeat(32),
      DROVER_LOG_LEVEL: 'info',
    }
    describe(`${title}, on the ${kind} bell`, () => tests({ kind, database, redis, env }))
  }
}

/** Takes all that the bell in Postgres keeps. Its statements lock its tables in another order than the drop does. */
export const dropBellSchema = async (db: Db): Promise<void> => {
  for (let tries = 1; ; tries += 1) {
    try {
      await db`drop schema bullmq cascade`
      return
    } catch (error) {
      if (!isDeadlock(error) || tries === 10) throw error
    }
  }
}
