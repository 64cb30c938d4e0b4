import { type BenchOptions, UsageError } from '../options.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { sayMachine, saySettings } from '../report.ts'
import { runFleet } from './fleet.ts'

/** What all parts of one run share. */
export interface OperationsBench {
  readonly options: BenchOptions
  readonly postgres: PostgresServer
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
  const postgres = await startPostgres({ ...options, autovacuum: true })
  sayMachine({ postgres: postgres.version })
  saySettings({ workers: options.workers, quick: options.quick, parts: names.join(',') })
  saySettings(postgres.settings)
  for (const name of names) await parts[name]?.({ options, postgres })
}
