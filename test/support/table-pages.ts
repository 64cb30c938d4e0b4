import { fillJobsPage } from '../../src/domain/job/describe-states.ts'
import { fillMigrationPage } from '../../src/domain/migration/batch/describe-table.ts'
import { fillOperationsPage } from '../../src/domain/operation/admission/describe-tables.ts'
import { fillTemplatesPage } from '../../src/domain/template/describe-swap.ts'

/** Pages of `docs/` with parts that are made of the tables of the code. */
export const tablePages: Readonly<Record<string, (page: string) => string>> = {
  'jobs.md': fillJobsPage,
  'migration.md': fillMigrationPage,
  'operations.md': fillOperationsPage,
  'templates.md': fillTemplatesPage,
}
