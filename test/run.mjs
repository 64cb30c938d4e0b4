import { spawnSync } from 'node:child_process'
import { runChecks } from './support/run/check.mjs'
import { root } from './support/run/root.mjs'
import { runSuites } from './support/run/run-suites.mjs'
import { NotReady, setUp } from './support/run/set-up.mjs'
import { suites } from './support/run/suites.mjs'

/**
 * One way to run the tests, for people and for CI: `node test/run.mjs <all|check|mutants|suite> [arguments]`.
 * Plain JavaScript without packages, because it is what installs them. The very last line is the total.
 */
const [what = 'all', ...args] = process.argv.slice(2)

const print = (results, seconds) => {
  const width = Math.max(...results.map((result) => result.name.length))
  console.log(`\n${'suite'.padEnd(width)}  passed  failed  seconds`)
  for (const result of results) {
    const numbers = [result.passed, result.failed, result.seconds.toFixed(1)]
    const [passed, failed, seconds] = numbers.map(String)
    const cells = `${passed.padStart(6)}  ${failed.padStart(6)}  ${seconds.padStart(7)}`
    console.log(`${result.name.padEnd(width)}  ${cells}${result.note ? `  ${result.note}` : ''}`)
  }
  // Once more at the end: who has only the last lines of a log still reads what failed.
  for (const failure of results.flatMap((result) => result.failures))
    console.log(`\nfailed: ${failure.name}\n${failure.message.replaceAll(/^/gm, '  ')}`)
  const total = (key) => results.reduce((sum, result) => sum + result[key], 0)
  console.log(`\nall together: ${seconds.toFixed(1)} s`)
  console.log(`\n${total('passed')} passed, ${total('failed')} failed`)
  return total('failed') === 0
}

const runMutants = async () => {
  await setUp([])
  const program = ['--import', 'tsx', 'test/mutants/run.ts', ...args]
  return spawnSync(process.execPath, program, { cwd: root, stdio: 'inherit' }).status === 0
}

const main = async () => {
  if (what === 'mutants') return runMutants()
  const wanted = suites.filter((suite) => (what === 'all' ? !suite.apart : suite.name === what))
  const checking = what === 'all' || what === 'check'
  if (wanted.length === 0 && !checking) {
    const names = ['all', 'check', 'mutants', ...suites.map((suite) => suite.name)]
    throw new NotReady(`There is no suite "${what}". Choose one of: ${names.join(', ')}.`)
  }
  const began = performance.now()
  await setUp([...new Set(wanted.flatMap((suite) => suite.packages))])
  const results = []
  if (checking) results.push(await runChecks())
  if (wanted.length > 0) results.push(...(await runSuites(wanted, args)))
  return print(results, (performance.now() - began) / 1000)
}

try {
  process.exitCode = (await main()) ? 0 : 1
} catch (error) {
  if (!(error instanceof NotReady)) throw error
  console.error(error.message)
  process.exitCode = 1
}
