import { type BenchOptions, UsageError } from '../options.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { sayMachine, saySettings } from '../report.ts'
import { runFilters } from './filters.ts'

/** What all parts of one run share. */
export interface ApiBench {
  readonly options: BenchOptions
  readonly postgres: PostgresServer
}

const parts: Readonly<Record<string, (bench: ApiBench) => Promise<void>>> = { filters: runFilters }

/** The numbers of the API: what one user's expensive questions cost everybody else. */
export const runApiSuite = async (options: BenchOptions): Promise<void> => {
  const names = options.only.length > 0 ? options.only : Object.keys(parts)
  for (const name of names)
    if (!parts[name])
      throw new UsageError(`The API suite has no part "${name}"; it has ${Object.keys(parts).join(', ')}.`)
  const postgres = await startPostgres(options)
  sayMachine({ postgres: postgres.version })
  saySettings({ quick: options.quick, parts: names.join(',') })
  saySettings(postgres.settings)
  for (const name of names) await parts[name]?.({ options, postgres })
}
