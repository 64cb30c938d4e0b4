import { runApiSuite } from './api/suite.ts'
import { runBatchSuite } from './batch/suite.ts'
import { runInventorySuite } from './inventory/suite.ts'
import { runLedgerSuite } from './ledger/suite.ts'
import { runOperationsSuite } from './operations/suite.ts'
import type { BenchOptions } from './options.ts'
import { runTemplateSuite } from './template/suite.ts'

export interface Suite {
  readonly name: string
  readonly run: (options: BenchOptions) => Promise<void>
}

/** Every suite there is; a new one is a folder beside this file and a line here. */
export const suites: readonly Suite[] = [
  { name: 'ledger', run: runLedgerSuite },
  { name: 'inventory', run: runInventorySuite },
  { name: 'batch', run: runBatchSuite },
  { name: 'operations', run: runOperationsSuite },
  { name: 'api', run: runApiSuite },
  { name: 'template', run: runTemplateSuite },
]

export const findSuite = (name: string): Suite | undefined => suites.find((suite) => suite.name === name)
