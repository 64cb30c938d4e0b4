import { expect, test } from 'vitest'
import { clockReaders, readsClock, reasonOf } from './clock-rules.ts'
import { breaches, findCircle, ourImports } from './dependency-rules.ts'
import { codeFiles, importsOf, readSource, repositoryFiles, withoutComments } from './sources.ts'

const imports = ourImports(codeFiles)

test('every import of a file of ours names a file that exists', () => {
  const known = new Set(repositoryFiles)
  expect(imports.filter(({ to }) => !known.has(to)).map(({ from, to }) => `${from} imports ${to}`)).toEqual(
    [],
  )
})

// promise: pure-decisions
test('no import breaks a dependency rule', () => {
  expect(breaches(imports)).toEqual([])
})

test('no files need each other in a circle to be loaded', () => {
  expect(findCircle(ourImports(codeFiles, { lazyToo: false }))).toEqual([])
})

test.each([
  ['src/domain/job/state.ts', 'src/errors.ts'],
  ['db/queries/get-job.ts', 'src/ledger/enqueue.ts'],
  ['src/ledger/enqueue.ts', 'src/api/problem.ts'],
  ['src/platforms/lab/client.ts', 'db/client.ts'],
  ['src/api/app.ts', 'workers/running-job.ts'],
  ['src/console/pages/jobs.ts', 'db/queries/list-jobs.ts'],
  ['src/console/job-verbs.ts', 'src/ledger/cancel.ts'],
  ['workers/running-job.ts', 'src/api/problem.ts'],
  ['src/ledger/relay.ts', 'workers/fleet.ts'],
  ['src/api/app.ts', 'src/standalone/embedded-postgres.ts'],
  ['src/lab/lab.ts', 'src/ledger/enqueue.ts'],
  ['src/lab/store/tasks.ts', 'db/queries/get-job.ts'],
  ['src/platforms/lab/client.ts', 'src/lab/lab.ts'],
  ['src/cli/commands/jobs/jobs.ts', 'db/queries/get-job.ts'],
  ['src/cli/kit/client.ts', 'src/ledger/enqueue.ts'],
  ['src/cli/kit/rows.ts', 'src/cli/commands.ts'],
  ['src/tour/show-wave.ts', 'db/client.ts'],
  ['src/standalone/local-token.ts', 'src/tour/sites.ts'],
  ['src/log.ts', 'test/support/wait.ts'],
])('the dependency rules refuse that %s imports %s', (from, to) => {
  expect(breaches([{ from, to }])).not.toEqual([])
})

test('a circle of three files is found', () => {
  const circle = findCircle([
    { from: 'a', to: 'b' },
    { from: 'b', to: 'c' },
    { from: 'c', to: 'a' },
  ])
  expect(circle).toEqual(['a', 'b', 'c', 'a'])
})

test('every way to import is seen, and a comment is not', () => {
  const text = [
    "import { a } from 'one'",
    "import type { b } from 'two'",
    "import {\n  c,\n} from './three.ts'",
    "export * from 'four'",
    "import 'five'",
    "const six = await import('six')",
    "// import { no } from 'no'",
    "/* import 'never' */",
  ].join('\n')
  expect(importsOf(text).sort()).toEqual(['./three.ts', 'five', 'four', 'one', 'six', 'two'])
})

test('bullmq is known to the bells and the board alone', () => {
  const users = codeFiles.filter(
    (path) =>
      !path.startsWith('test/') && importsOf(readSource(path)).some((name) => /^bullmq(\/|$)/.test(name)),
  )
  expect(users.filter((path) => !/^src\/ledger\/bell[a-z-]*\.ts$|^src\/api\/board\.ts$/.test(path))).toEqual(
    [],
  )
})

test('SQL is written in queries, migrations, the schema, the store of the lab and tests alone', () => {
  const allowed = /^(db\/(queries|migrations|schema)\/|db\/migrate\.ts$|src\/lab\/store\/|test\/)/
  const sql = /\b(?:sql|tx|db|connection|admin)(?:<[^`;]*?>)?`|\.unsafe\(/
  const writers = codeFiles.filter(
    (path) => !allowed.test(path) && sql.test(withoutComments(readSource(path))),
  )
  expect(writers).toEqual([])
  expect(sql.test('await tx<{ id: string }[]>`select 1`')).toBe(true)
})

test('a clock is read by the programs, and by the few that are named with their reason', () => {
  const shipped = codeFiles.filter((path) => /^(src|workers|db)\//.test(path))
  const readers = shipped.filter((path) => readsClock(path, readSource(path)))
  expect(readers.filter((path) => reasonOf(path) === undefined)).toEqual([])
  // A reason that nobody needs any more goes.
  expect([...new Set(readers.map(reasonOf))].sort()).toEqual(Object.keys(clockReaders).sort())
})

test.each([
  'const at = Date.now()',
  'const at = new Date()',
  'await systemClock.sleep(5)',
  'setTimeout(work, 5)',
])('the clock rule refuses %s in a handler', (text) => {
  expect(readsClock('workers/handlers/final-verify.ts', text)).toBe(true)
  expect(readsClock('workers/fleet.ts', text)).toBe(false)
})
