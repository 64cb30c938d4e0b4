import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { root } from './root.mjs'
import { tally } from './tally.mjs'

/**
 * Runs suites in one vitest, so that servers, the template database and the translated roles are made once for all, and
 * counts each from the one report. `args` narrow them down: paths, `-t name`.
 */
export const runSuites = async (suites, args) => {
  console.log(`\n--- ${suites.map(({ name }) => name).join(', ')}`)
  const report = `${root}/test-results/${suites.length === 1 ? suites[0].name : 'all'}.json`
  mkdirSync(`${root}/test-results`, { recursive: true })
  rmSync(report, { force: true })
  const missing = suites.filter(({ name }) => !hasTests(`${root}/test/${name}`))
  const there = suites.filter((suite) => !missing.includes(suite))
  const ended = there.length > 0 ? await runVitest(there, report, args) : { code: 0, signal: null }
  const read = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined
  return [
    ...missing.map(({ name }) => ({
      ...{ name, passed: 0, failed: 1, failures: [], seconds: 0 },
      note: 'no tests, but this suite must have some',
    })),
    ...tally({ suites: there, report: read, ended, whole: args.length === 0 }),
  ]
}

const hasTests = (dir) =>
  existsSync(dir) &&
  readdirSync(dir, { withFileTypes: true }).some((entry) =>
    entry.isDirectory() ? hasTests(`${dir}/${entry.name}`) : entry.name.endsWith('.test.ts'),
  )

const runVitest = (suites, report, args) =>
  new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [
        ...[`${root}/node_modules/vitest/vitest.mjs`, 'run'],
        ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...args],
      ],
      {
        ...{ cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
        env: { ...process.env, DROVER_SUITES: suites.map(({ name }) => name).join(',') },
      },
    )
    const stop = () => child.kill('SIGTERM')
    const limitMs = suites.reduce((sum, suite) => sum + suite.limitMs, 0)
    const limit = setTimeout(() => {
      console.error(`The tests did not end within ${limitMs / 1000} s; they are stopped.`)
      stop()
      setTimeout(() => child.kill('SIGKILL'), 10_000).unref()
    }, limitMs)
    process.once('SIGTERM', stop)
    child.once('close', (code, signal) => {
      clearTimeout(limit)
      process.off('SIGTERM', stop)
      resolve({ code, signal })
    })
  })
