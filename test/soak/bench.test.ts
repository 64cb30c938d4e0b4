import { expect, test } from 'vitest'
import { startProcess } from '../support/processes.ts'
import { settles } from '../support/wait.ts'

const bells = ['redis', 'postgres']

const bars = [
  'ledger-vs-graphile',
  'ledger-vs-pg-boss',
  'ledger-vs-bullmq-redis',
  'ledger-vs-bullmq-postgres',
  'claim-with-finished',
  ...bells.flatMap((bell) => [
    `idle-p50-${bell}`,
    `idle-p99-${bell}`,
    `flush-resume-${bell}`,
    `flush-lost-${bell}`,
    `flush-repeated-${bell}`,
    `killed-over-lease-${bell}`,
  ]),
]

const bench = async (...args: string[]) => {
  const started = await startProcess({
    command: process.execPath,
    args: ['test/bench/bench.mjs', ...args],
    env: { BENCH_FINISHED: '2000' },
  })
  const exit = await settles(started.exited, { what: 'the benchmark to end', withinMs: 600_000 })
  return { exit, lines: started.lines, output: started.output }
}

const barLine = /^BAR [a-z0-9-]+ -?[\d.]+(x|ms|s|\/s)? (>=|<=)[\d.]+(x|ms|s|\/s)? (pass|miss)$/

test('the quick ledger benchmark prints every bar once, and loses and repeats nothing', async () => {
  const { exit, lines, output } = await bench('ledger', '--quick', '--jobs', '200')
  expect(exit.code, output).toBe(0)
  const printed = lines.filter((line) => line.startsWith('BAR '))
  for (const line of printed) expect(line).toMatch(barLine)
  expect(printed.map((line) => line.split(' ')[1]).sort()).toEqual([...bars].sort())
  const countsOnly = printed.filter((line) => /flush-(lost|repeated)/.test(line))
  for (const line of countsOnly) expect(line).toMatch(/pass$/)
})

test('the quick benchmark of operations prints every bar once, and three in ten meet another one', async () => {
  const { exit, lines, output } = await bench('operations', '--quick')
  expect(exit.code, output).toBe(0)
  const printed = lines.filter((line) => line.startsWith('BAR '))
  for (const line of printed) expect(line).toMatch(barLine)
  expect(printed.map((line) => line.split(' ')[1])).toEqual([
    'operations-rate',
    'operations-admission-p99',
    'operations-linear',
  ])
  const shares = [...output.matchAll(/conflicting ([\d.]+) %/g)].map(([, share]) => Number(share))
  expect(shares.length).toBeGreaterThan(0)
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(25)
})

test('the quick benchmark of the API prints every bar once', async () => {
  const { exit, lines, output } = await bench('api', '--quick')
  expect(exit.code, output).toBe(0)
  const printed = lines.filter((line) => line.startsWith('BAR '))
  for (const line of printed) expect(line).toMatch(barLine)
  expect(printed.map((line) => line.split(' ')[1])).toEqual([
    'api-attack-healthz-p99',
    'api-attack-others',
    'api-costliest-healthz-p99',
    'api-costliest-others',
  ])
})

test('an unknown suite prints the suites there are and exits with 2', async () => {
  const { exit, output } = await bench('no-such-suite')
  expect(exit.code).toBe(2)
  expect(output).toContain('There is no suite "no-such-suite".')
  expect(output).toMatch(/^suites: .*ledger/m)
})
