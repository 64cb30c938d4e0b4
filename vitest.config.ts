import { defineConfig } from 'vitest/config'

interface Suite {
  readonly name: string
  /** How many files run at once. Unit tests touch nothing but the processor. */
  readonly workers: number
  readonly testMs: number
  readonly hookMs: number
}

/** Patience, not a measurement: what hangs takes this long to fail, on a machine several times slower than ours. */
const suites: readonly Suite[] = [
  { name: 'unit', workers: 2, testMs: 60_000, hookMs: 60_000 },
  { name: 'api', workers: 2, testMs: 90_000, hookMs: 120_000 },
  { name: 'integration', workers: 2, testMs: 180_000, hookMs: 120_000 },
  { name: 'contract', workers: 1, testMs: 240_000, hookMs: 120_000 },
  { name: 'crash', workers: 1, testMs: 240_000, hookMs: 120_000 },
  { name: 'simulation', workers: 1, testMs: 420_000, hookMs: 120_000 },
  { name: 'browser', workers: 1, testMs: 240_000, hookMs: 120_000 },
  { name: 'soak', workers: 1, testMs: 1_800_000, hookMs: 600_000 },
]

export default defineConfig({
  test: {
    projects: suites.map((suite, order) => ({
      test: {
        name: suite.name,
        include: [`test/${suite.name}/**/*.test.ts`],
        globalSetup: ['test/support/global-setup.ts'],
        environment: 'node',
        pool: 'forks',
        maxWorkers: suite.workers,
        // Suites run one after another: they share two cores and some count milliseconds.
        sequence: { groupOrder: order },
        testTimeout: suite.testMs,
        hookTimeout: suite.hookMs,
        allowOnly: false,
      },
    })),
  },
})
