import { defineConfig } from 'vitest/config'

interface Suite {
  readonly name: string
  /** Everything in `test/<name>` if nothing is said. */
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  /** How many files run at once: more than there are processors where tests mostly wait. */
  readonly workers: number
  readonly testMs: number
  readonly hookMs: number
  /** Whether points are tried on every bell where each would do on one: see `share` in test/support/fleet.ts. */
  readonly everyBell?: true
}

/** They measure how quick something is, or keep both processors busy: nothing runs beside them. */
const alone = ['chaos-fairness', 'chaos-stop', 'heavy-computing'].map((name) => `test/crash/${name}.test.ts`)
/** Where workers die in jobs to which the bell is all one. */
const shared = ['migration-*', 'sync*', 'operation/*'].map((name) => `test/crash/${name}.test.ts`)
const crash = { testMs: 240_000, hookMs: 120_000 }

/** Patience, not a measurement: what hangs takes this long to fail, on a machine several times slower than ours. */
const suites: readonly Suite[] = [
  { name: 'unit', workers: 2, testMs: 60_000, hookMs: 60_000 },
  { name: 'api', workers: 2, testMs: 90_000, hookMs: 120_000 },
  { name: 'integration', workers: 4, testMs: 180_000, hookMs: 120_000 },
  { name: 'contract', workers: 1, testMs: 240_000, hookMs: 120_000 },
  // Mostly they wait, for leases to end and for processes to start.
  { ...crash, name: 'crash', exclude: alone, workers: 3 },
  { ...crash, name: 'crash-alone', include: alone, workers: 1 },
  { name: 'simulation', workers: 1, testMs: 420_000, hookMs: 120_000 },
  { name: 'browser', workers: 1, testMs: 240_000, hookMs: 120_000 },
  { name: 'soak', workers: 1, testMs: 1_800_000, hookMs: 600_000 },
  { ...crash, name: 'soak-crash', include: shared, workers: 3, everyBell: true },
]

export default defineConfig({
  test: {
    projects: suites.map((suite, order) => ({
      test: {
        name: suite.name,
        include: [...(suite.include ?? [`test/${suite.name}/**/*.test.ts`])],
        exclude: [...(suite.exclude ?? [])],
        provide: { everyBell: suite.everyBell ?? false },
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
