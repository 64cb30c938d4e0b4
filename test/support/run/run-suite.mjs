import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { beginning } from './beginning.mjs'
import { root } from './root.mjs'

/** Runs one suite with vitest and counts from its report. `args` narrow it down: paths, `-t name`. */
export const runSuite = async (suite, args) => {
  if (!hasTests(`${root}/test/${suite.name}`)) {
    console.log(`\n${suite.name}: no tests${suite.empty ? ` (${suite.empty})` : ''}`)
    const note = suite.empty ? `no tests: ${suite.empty}` : 'no tests, but this suite must have some'
    return { name: suite.name, passed: 0, failed: suite.empty ? 0 : 1, failures: [], seconds: 0, note }
  }
  console.log(`\n--- ${suite.name}`)
  const report = `${root}/test-results/${suite.name}.json`
  mkdirSync(`${root}/test-results`, { recursive: true })
  rmSync(report, { force: true })
  const began = performance.now()
  const ended = await runVitest(suite, report, args)
  const seconds = (performance.now() - began) / 1000
  return { name: suite.name, seconds, ...count({ report, ended, whole: args.length === 0 }) }
}

const hasTests = (dir) =>
  existsSync(dir) &&
  readdirSync(dir, { withFileTypes: true }).some((entry) =>
    entry.isDirectory() ? hasTests(`${dir}/${entry.name}`) : entry.name.endsWith('.test.ts'),
  )

const runVitest = (suite, report, args) =>
  new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [
        // A suite may run in several passes, which are projects with its name and a dash before theirs.
        ...[
          `${root}/node_modules/vitest/vitest.mjs`,
          'run',
          '--project',
          suite.name,
          '--project',
          `${suite.name}-*`,
        ],
        ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...args],
      ],
      { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
    )
    const stop = () => child.kill('SIGTERM')
    const limit = setTimeout(() => {
      console.error(`${suite.name} did not end within ${suite.limitMs / 1000} s; it is stopped.`)
      stop()
      setTimeout(() => child.kill('SIGKILL'), 10_000).unref()
    }, suite.limitMs)
    process.once('SIGTERM', stop)
    child.once('close', (code, signal) => {
      clearTimeout(limit)
      process.off('SIGTERM', stop)
      resolve({ code, signal })
    })
  })

/**
 * What failed counts at least once, also where no test has a name for it: a file that could not be loaded or
 * left something open, a vitest that broke. A test that was left out is a failure too.
 */
const count = ({ report, ended, whole }) => {
  const how = ended.signal ?? `exit code ${ended.code}`
  if (!existsSync(report))
    return { passed: 0, failed: 1, failures: [], note: `vitest ended with ${how}, without a report` }
  const result = JSON.parse(readFileSync(report, 'utf8'))
  const brokenFiles = result.testResults.filter(
    (file) =>
      file.status === 'failed' && !file.assertionResults.some((assertion) => assertion.status === 'failed'),
  ).length
  const leftOut = whole ? result.numPendingTests + result.numTodoTests : 0
  const failed = result.numFailedTests + brokenFiles + leftOut
  const notes = [
    brokenFiles > 0 && `${brokenFiles} files broken`,
    leftOut > 0 && `${leftOut} tests left out`,
    result.numPassedTests + failed === 0 && 'no test ran',
    ended.code !== 0 && failed === 0 && `vitest ended with ${how}`,
  ].filter(Boolean)
  const failedAtLeast = notes.length > 0 || ended.code !== 0 ? Math.max(failed, 1) : failed
  const failures = result.testResults.flatMap(failuresOf)
  return { passed: result.numPassedTests, failed: failedAtLeast, failures, note: notes.join(', ') }
}

/** What failed in a file, by name and with the beginning of its message. */
const failuresOf = (file) => {
  const path = file.name.replace(`${root}/`, '')
  const failed = file.assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => ({
      name: `${path}: ${test.fullName}`,
      message: beginning(test.failureMessages.join('\n')),
    }))
  if (failed.length > 0 || file.status !== 'failed') return failed
  return [{ name: path, message: beginning(file.message) }]
}
