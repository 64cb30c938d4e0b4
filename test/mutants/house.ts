import type { Mutant } from './mutant.ts'

const dependencies = 'test/unit/repository/dependencies.test.ts'
const purity = 'test/unit/repository/domain-purity.test.ts'
const tidy = 'test/unit/repository/tidy.test.ts'
const log = 'test/unit/log.test.ts'

/** What breaks the rules for the code itself, lets a secret out, or lets in who has no right. */
export const houseMutants: readonly Mutant[] = [
  {
    name: 'a decision reads the clock',
    law: 12,
    file: 'src/domain/migration/schedule/top-up.ts',
    find: 'return now >= regular ? { due: true }',
    replace: 'return Date.now() >= regular ? { due: true }',
    tests: [purity],
  },
  {
    name: 'a decision throws dice',
    law: 12,
    file: 'src/domain/job/retry.ts',
    find: '(step / 2) * random)',
    replace: '(step / 2) * Math.random())',
    tests: [purity],
  },
  {
    name: 'a job reads the clock of the machine',
    law: 12,
    file: 'src/migration/cutover/cutover-entry.ts',
    find: 'const begunMs = ctx.clock.monotonicMs()',
    replace: 'const begunMs = performance.now()',
    tests: [dependencies],
  },
  {
    name: 'a password is logged',
    law: 'secrets',
    file: 'src/process/log.ts',
    find: "  'password',\n",
    replace: '',
    tests: [log],
  },
  {
    name: 'the password of an address is logged',
    law: 'secrets',
    file: 'src/process/log.ts',
    find: "text.replace(/\\/\\/[^/\\s@]+@/g, '//***@')",
    replace: 'text',
    tests: [log],
  },
  {
    name: 'a route asks for no role',
    law: 'rights',
    file: 'src/api/http/route.ts',
    find: 'middleware: [requireRole(role), ...',
    replace: 'middleware: [...',
    tests: ['test/api/access/matrix.test.ts'],
  },
  {
    name: 'a viewer counts as an operator',
    law: 'rights',
    file: 'src/api/http/route.ts',
    find: 'if (roles.indexOf(role) < roles.indexOf(least))',
    replace: 'if (roles.indexOf(role) + 1 < roles.indexOf(least))',
    tests: ['test/api/access/matrix.test.ts'],
  },
  {
    name: 'the domain imports the database',
    law: 'house',
    file: 'src/domain/migration/batch/start-batch.ts',
    find: "import { findRule } from '../../inventory/rules/catalogue.ts'\n",
    replace:
      "import { findRule } from '../../inventory/rules/catalogue.ts'\nimport type { Tx } from '../../../../db/client.ts'\n",
    tests: [dependencies],
  },
  {
    name: 'a folder has more files than a person takes in',
    law: 'house',
    file: 'src/domain/inventory/one-too-many.ts',
    find: null,
    replace: 'export const oneTooMany = 21\n',
    tests: [dependencies],
  },
  {
    name: 'a file is too long',
    law: 'house',
    file: 'src/ledger/too-long.ts',
    find: null,
    replace: `${'// A line.\n'.repeat(301)}`,
    tests: [tidy],
  },
  {
    name: 'a file is named after nothing',
    law: 'house',
    file: 'src/ledger/utils.ts',
    find: null,
    replace: 'export const nothing = 0\n',
    tests: [tidy],
  },
  {
    name: 'a statement moves a job past its table',
    law: 'house',
    file: 'db/queries/jobs/wake-by-signal.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a piece of code
    find: 'update job set state = ${wake.to},',
    replace: "update job set state = 'ready',",
    tests: ['test/unit/statements.test.ts'],
  },
]
