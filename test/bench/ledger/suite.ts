import { type BenchOptions, UsageError } from '../options.ts'
import { startPostgres } from '../postgres-server.ts'
import { startRedis } from '../redis-server.ts'
import { sayMachine, saySettings } from '../report.ts'
import type { Bench } from './contender.ts'
import { runEndToEnd } from './end-to-end.ts'
import { runFinishedJobs } from './finished-jobs.ts'
import { runFlush } from './flush.ts'
import { runIdleLatency } from './idle-latency.ts'
import { runKilledWorker } from './killed-worker.ts'

const parts: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  e2e: runEndToEnd,
  idle: runIdleLatency,
  flush: runFlush,
  killed: runKilledWorker,
  finished: runFinishedJobs,
}

/** The ledger's numbers: how fast, how soon, and how it takes losses. */
export const runLedgerSuite = async (options: BenchOptions): Promise<void> => {
  const names = options.only.length > 0 ? options.only : Object.keys(parts)
  for (const name of names)
    if (!parts[name])
      throw new UsageError(`The ledger suite has no part "${name}"; it has ${Object.keys(parts).join(', ')}.`)
  const [postgres, redis] = await Promise.all([startPostgres(options), startRedis()])
  sayMachine({ postgres: postgres.version, redis: redis.version })
  const { suite, only, contenders, modes, ...rest } = options
  saySettings({ ...rest, parts: names.join(',') })
  saySettings(postgres.settings)
  saySettings(redis.settings)
  for (const name of names) await parts[name]?.({ options, postgres, redis })
}
