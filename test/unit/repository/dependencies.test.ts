import { expect, test } from 'vitest'
import { clockReaders, readsClock, reasonOf } from './clock-rules.ts'
import {
  betweenFolders,
  breaches,
  crowdedFolders,
  filesMost,
  findCircle,
  ourImports,
} from './dependency-rules.ts'
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

const ships = (path: string): boolean => /^(src|workers|db)\//.test(path)

test('no folders need each other in a circle, types included', () => {
  expect(findCircle(betweenFolders(imports.filter(({ from }) => ships(from))))).toEqual([])
})

test('a circle of folders is found, also that of a folder and the one around it', () => {
  const circle = betweenFolders([
    { from: 'src/a/one.ts', to: 'src/a/b/two.ts' },
    { from: 'src/a/b/three.ts', to: 'src/a/four.ts' },
  ])
  expect(findCircle(circle)).toEqual(['src/a', 'src/a/b', 'src/a'])
})

test('a folder holds as many files as a person takes in at a glance', () => {
  expect(crowdedFolders(codeFiles.filter(ships))).toEqual([])
  const many = Array.from({ length: filesMost + 1 }, (_, n) => `src/a/${n}.ts`)
  expect(crowdedFolders([...many, 'src/b/0.ts'])).toEqual([`src/a: ${filesMost + 1}`])
})

test.each([
  ['src/domain/job/state.ts', 'src/errors.ts'],
  ['db/queries/jobs/get-job.ts', 'src/ledger/jobs/enqueue.ts'],
  ['src/ledger/jobs/enqueue.ts', 'src/api/wire/problem.ts'],
  ['src/platforms/lab/client.ts', 'db/client.ts'],
  ['src/api/app.ts', 'workers/running-job.ts'],
  ['src/console/pages/jobs/jobs.ts', 'db/queries/jobs/list-jobs.ts'],
  ['src/console/verbs/job-verbs.ts', 'src/ledger/jobs/cancel.ts'],
  ['workers/running-job.ts', 'src/api/wire/problem.ts'],
  ['src/ledger/bell/relay.ts', 'src/roles/worker.ts'],
  ['src/api/app.ts', 'src/standalone/postgres/embedded-postgres.ts'],
  ['src/lab/lab.ts', 'src/ledger/jobs/enqueue.ts'],
  ['src/lab/store/tasks.ts', 'db/queries/jobs/get-job.ts'],
  ['src/platforms/lab/client.ts', 'src/lab/lab.ts'],
  ['src/cli/commands/jobs/jobs.ts', 'db/queries/jobs/get-job.ts'],
  ['src/cli/kit/client.ts', 'src/ledger/jobs/enqueue.ts'],
  ['src/cli/kit/rows.ts', 'src/cli/commands.ts'],
  ['src/tour/show-wave.ts', 'db/client.ts'],
  ['src/standalone/local-token.ts', 'src/tour/sites.ts'],
  ['src/process/log.ts', 'test/support/wait.ts'],
  ['src/inventory/sync/sync-site.ts', 'src/migration/entry/apply-entry.ts'],
  ['src/domain/migration/entry/entry.ts', 'src/domain/operation/kinds/kinds.ts'],
  ['src/console/pages/inventory/site.ts', 'src/console/pages/migration/batch.ts'],
  ['src/console/kit/page.ts', 'src/console/pages/jobs/jobs.ts'],
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
  expect(
    users.filter((path) => !/^src\/ledger\/bell\/bell[a-z-]*\.ts$|^src\/api\/board\.ts$/.test(path)),
  ).toEqual([])
})

test('SQL is written in queries, migrations, the schema, the store of the lab and tests alone', () => {
  const allowed =
    /^(db\/(queries|migrations|schema)\/|db\/(migrate\/migrate|state-words)\.ts$|src\/lab\/store\/|test\/)/
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
  expect(readsClock('src/roles/worker.ts', text)).toBe(false)
})
