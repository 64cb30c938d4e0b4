import { type BenchOptions, UsageError } from '../options.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { type RedisServer, startRedis } from '../redis-server.ts'
import { sayMachine, saySettings } from '../report.ts'
import { runFleet } from './fleet.ts'

/** What all parts of one run share. */
export interface OperationsBench {
  readonly options: BenchOptions
  readonly postgres: PostgresServer
  /** Where the bell is; undefined: on Postgres. */
  readonly redis: RedisServer | undefined
}

const parts: Readonly<Record<string, (bench: OperationsBench) => Promise<void>>> = { fleet: runFleet }

/** The numbers of operations: how fast they are admitted, and how fast a fleet does what it was asked. */
export const runOperationsSuite = async (options: BenchOptions): Promise<void> => {
  const names = options.only.length > 0 ? options.only : Object.keys(parts)
  for (const name of names)
    if (!parts[name])
      throw new UsageError(
        `The operations suite has no part "${name}"; it has ${Object.keys(parts).join(', ')}.`,
      )
  const bell = process.env.BENCH_BELL === 'postgres' ? 'postgres' : 'redis'
  const postgres = await startPostgres({ ...options, autovacuum: true })
  const redis = bell === 'redis' ? await startRedis() : undefined
  sayMachine({ postgres: postgres.version, ...(redis ? { redis: redis.version } : {}) })
  saySettings({ bell, workers: options.workers, quick: options.quick, parts: names.join(',') })
  saySettings(postgres.settings)
  for (const name of names) await parts[name]?.({ options, postgres, redis })
}
