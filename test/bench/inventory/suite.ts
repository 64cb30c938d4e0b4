import { type BenchOptions, UsageError } from '../options.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { sayMachine, saySettings } from '../report.ts'
import { runFleet } from './fleet.ts'
import { runSync } from './sync.ts'

/** What all parts of one run share. */
export interface InventoryBench {
  readonly options: BenchOptions
  readonly postgres: PostgresServer
}

const parts: Readonly<Record<string, (bench: InventoryBench) => Promise<void>>> = {
  sync: runSync,
  fleet: runFleet,
}

/** The inventory's numbers: how fast it becomes true, and how fast a whole fleet is looked at. */
export const runInventorySuite = async (options: BenchOptions): Promise<void> => {
  const names = options.only.length > 0 ? options.only : Object.keys(parts)
  for (const name of names)
    if (!parts[name])
      throw new UsageError(
        `The inventory suite has no part "${name}"; it has ${Object.keys(parts).join(', ')}.`,
      )
  const postgres = await startPostgres(options)
  sayMachine({ postgres: postgres.version })
  saySettings({ rounds: options.rounds, quick: options.quick, parts: names.join(',') })
  saySettings(postgres.settings)
  for (const name of names) await parts[name]?.({ options, postgres })
}
