import { expect, test } from 'vitest'
import { root } from '../../support/run/root.mjs'
import { tally } from '../../support/run/tally.mjs'

const suites = [{ name: 'unit' }, { name: 'crash' }]
const well = { code: 0, signal: null }

const file = (path: string, statuses: readonly string[], more: Record<string, unknown> = {}) => ({
  name: `${root}/test/${path}`,
  startTime: 1_000,
  endTime: 3_500,
  status: statuses.includes('failed') ? 'failed' : 'passed',
  message: '',
  assertionResults: statuses.map((status, at) => ({
    ...{ status, fullName: `test ${at}`, failureMessages: status === 'failed' ? ['Error: no'] : [] },
  })),
  ...more,
})

const rowsOf = (files: readonly unknown[], ended: unknown = well, whole = true) =>
  tally({ suites, report: { testResults: files }, ended, whole })

test('each suite of one report has its own numbers and what its files took', () => {
  const rows = rowsOf([
    file('unit/a.test.ts', ['passed', 'passed']),
    file('unit/inner/b.test.ts', ['passed']),
    file('crash/c.test.ts', ['passed', 'failed']),
  ])
  expect(rows).toMatchObject([
    { name: 'unit', passed: 3, failed: 0, seconds: 5, failures: [] },
    { name: 'crash', passed: 1, failed: 1, seconds: 2.5 },
  ])
  expect(rows[1]?.failures).toEqual([{ name: 'test/crash/c.test.ts: test 1', message: 'Error: no' }])
})

test('a file that could not be loaded, a test that was left out and a suite of which nothing ran are failures', () => {
  const broken = file('unit/a.test.ts', [], { status: 'failed', message: 'SyntaxError: odd' })
  expect(rowsOf([broken, file('unit/b.test.ts', ['passed', 'skipped'])])).toMatchObject([
    {
      failed: 2,
      failures: [
        { name: 'test/unit/a.test.ts', message: 'SyntaxError: odd' },
        { name: 'test/unit/b.test.ts: test 1' },
      ],
    },
    { name: 'crash', failed: 1, note: 'no test ran' },
  ])
})

test('what narrows a run down leaves tests out, and that is no failure', () => {
  const rows = rowsOf([file('unit/a.test.ts', ['passed', 'skipped'])], well, false)
  expect(rows.map(({ failed }) => failed)).toEqual([0, 0])
})

test('a vitest that ended badly is a failure, whatever its report says, and so is one without a report', () => {
  const files = [file('unit/a.test.ts', ['passed']), file('crash/b.test.ts', ['passed'])]
  expect(rowsOf(files, { code: 1, signal: null }).at(-1)).toMatchObject({ name: 'vitest', failed: 1 })
  expect(
    tally({ suites, report: undefined, ended: { code: null, signal: 'SIGKILL' }, whole: true }),
  ).toMatchObject([{ failed: 1, note: 'vitest ended with SIGKILL, without a report' }])
})
