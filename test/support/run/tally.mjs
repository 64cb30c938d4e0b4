import { relative } from 'node:path'
import { beginning } from './beginning.mjs'
import { root } from './root.mjs'

/**
 * What came of each suite, from vitest's one report. What failed counts at least once, also where no test has a name
 * for it: a file that could not be loaded or left something open, a vitest that broke. A test that was left out is a
 * failure too, and so is a suite of which nothing ran.
 */
export const tally = ({ suites, report, ended, whole }) => {
  const how = `vitest ended with ${ended.signal ?? `exit code ${ended.code}`}`
  if (!report) return [broken(`${how}, without a report`)]
  const rows = suites.map((suite) => {
    const own = report.testResults.filter((file) => suites.length === 1 || suiteOf(file) === suite.name)
    return countFiles(suite.name, own, whole)
  })
  // Errors that belong to no test, and what a global set-up has thrown.
  const hidden = ended.code !== 0 && rows.every(({ failed }) => failed === 0)
  return hidden ? [...rows, broken(how)] : rows
}

const broken = (note) => ({ name: 'vitest', passed: 0, failed: 1, failures: [], seconds: 0, note })

const suiteOf = (file) => relative(`${root}/test`, file.name).split('/')[0]

const countFiles = (name, files, whole) => {
  const tests = files.flatMap((file) => file.assertionResults)
  const count = (...statuses) => tests.filter(({ status }) => statuses.includes(status)).length
  const brokenFiles = files.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'),
  ).length
  const passed = count('passed')
  // Skipped on purpose, or its process was gone before it could run.
  const left = whole ? files.flatMap(leftOutOf) : []
  const leftOut = left.length
  const failed = count('failed') + brokenFiles + leftOut
  const nothing = passed + failed === 0
  const notes = [
    brokenFiles > 0 && `${brokenFiles} files broken`,
    leftOut > 0 && `${leftOut} tests left out`,
    nothing && 'no test ran',
  ].filter(Boolean)
  return {
    ...{
      name,
      passed,
      failed: nothing && whole ? 1 : failed,
      failures: [...files.flatMap(failuresOf), ...left],
    },
    ...{ seconds: fileSeconds(files), note: notes.join(', ') },
  }
}

/** What its files took, one after another: side by side with other suites, that is what a suite costs. */
const fileSeconds = (files) =>
  files.reduce((sum, { startTime, endTime }) => sum + Math.max(0, endTime - startTime), 0) / 1000

const leftOutOf = (file) =>
  file.assertionResults
    .filter(({ status }) => status !== 'passed' && status !== 'failed')
    .map(({ fullName }) => ({
      name: `${relative(root, file.name)}: ${fullName}`,
      message: 'It was left out, or its process ended before it.',
    }))

/** What failed in a file, by name and with the beginning of its message. */
const failuresOf = (file) => {
  const path = relative(root, file.name)
  const failed = file.assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => ({
      name: `${path}: ${test.fullName}`,
      message: beginning(test.failureMessages.join('\n')),
    }))
  if (failed.length > 0 || file.status !== 'failed') return failed
  return [{ name: path, message: beginning(file.message) }]
}
