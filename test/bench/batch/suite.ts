import { type BenchOptions, UsageError } from '../options.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { sayMachine, saySettings } from '../report.ts'
import { runEntryWork } from './entry-work.ts'
import { runStart } from './start.ts'

/** What all parts of one run share. */
export interface BatchBench {
  readonly options: BenchOptions
  readonly postgres: PostgresServer
}

const parts: Readonly<Record<string, (bench: BatchBench) => Promise<void>>> = {
  start: runStart,
  journeys: runEntryWork,
}

/** The numbers of batches: how fast a large one starts, and how many machines an hour go all the way. */
export const runBatchSuite = async (options: BenchOptions): Promise<void> => {
  const names = options.only.length > 0 ? options.only : Object.keys(parts)
  for (const name of names)
    if (!parts[name])
      throw new UsageError(`The batch suite has no part "${name}"; it has ${Object.keys(parts).join(', ')}.`)
  const postgres = await startPostgres({ ...options, autovacuum: true })
  sayMachine({ postgres: postgres.version })
  saySettings({ quick: options.quick, parts: names.join(',') })
  saySettings(postgres.settings)
  for (const name of names) await parts[name]?.({ options, postgres })
}
