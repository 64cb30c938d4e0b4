import { helpText, readOptions, UsageError } from './options.ts'
import { closeAll } from './resources.ts'
import { findSuite, suites } from './suites.ts'

const main = async (): Promise<number> => {
  const options = readOptions(process.argv.slice(2))
  const suite = findSuite(options.suite)
  if (!suite) throw new UsageError(`There is no suite "${options.suite}".`)
  try {
    await suite.run(options)
  } finally {
    await closeAll()
  }
  return 0
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    void closeAll().finally(() => process.exit(130))
  })

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n\n${helpText(suites.map((suite) => suite.name))}\n`)
  process.exitCode = 2
}
