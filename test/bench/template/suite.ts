import { type BenchOptions, UsageError } from '../options.ts'
import { sayMachine, saySettings } from '../report.ts'
import { runImport } from './import.ts'

const parts: Readonly<Record<string, (options: BenchOptions) => Promise<void>>> = { import: runImport }

/** The numbers of templates: how fast an archive is verified, decoded and written. */
export const runTemplateSuite = async (options: BenchOptions): Promise<void> => {
  const names = options.only.length > 0 ? options.only : Object.keys(parts)
  for (const name of names)
    if (!parts[name])
      throw new UsageError(
        `The template suite has no part "${name}"; it has ${Object.keys(parts).join(', ')}.`,
      )
  sayMachine({})
  saySettings({ rounds: options.rounds, quick: options.quick, parts: names.join(',') })
  for (const name of names) await parts[name]?.(options)
}
