import { defineConfig } from 'vitest/config'
import { SideBySide } from './test/support/run/side-by-side.ts'

interface Suite {
  readonly name: string
  /** Everything in `test/<name>` if nothing is said. */
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly together: Together
  /** False: its files share a process, and what is loaded once is there for the next. For tests that leave nothing behind. */
  readonly isolate?: false
  readonly testMs: number
  readonly hookMs: number
  /** Whether every point of a matrix is tried on every bell: see `share` in test/support/fleet.ts. */
  readonly everyPoint?: true
}

/** Which suites run side by side: one group after another, and so many files of a group at once. */
interface Together {
  readonly order: number
  readonly workers: number
}

/** Nothing but computing: as many as there are processors, at least. */
const computing: Together = { order: 0, workers: 2 }
/** Of two files that wait for processes, leases and stores, one leaves the processor to the other: more than there are processors. */
const waiting: Together = { order: 1, workers: 5 }
/** They measure how quick something is, or keep both processors busy: nothing runs beside them. */
const alone: Together = { order: 2, workers: 1 }

const measuring = ['chaos-fairness', 'chaos-stop', 'heavy-computing'].map(
  (name) => `test/crash/${name}.test.ts`,
)
/** Of which a push tries a share: the points of a matrix, or one bell of two. */
const shared = ['crash-points*', 'migration-*', 'sync*', 'zombie', 'operation/aborts'].map(
  (name) => `test/crash/${name}.test.ts`,
)
const crash = { testMs: 300_000, hookMs: 180_000 }

/** Patience, not a measurement: what hangs takes this long to fail, on a machine several times slower than ours. */
const suites: readonly Suite[] = [
  { name: 'unit', together: computing, isolate: false, testMs: 300_000, hookMs: 60_000 },
  { name: 'api', together: waiting, testMs: 180_000, hookMs: 180_000 },
  { name: 'integration', together: waiting, testMs: 240_000, hookMs: 180_000 },
  { name: 'contract', together: waiting, testMs: 300_000, hookMs: 180_000 },
  { ...crash, name: 'crash', exclude: measuring, together: waiting },
  { name: 'simulation', together: waiting, testMs: 600_000, hookMs: 180_000 },
  { name: 'browser', together: waiting, testMs: 300_000, hookMs: 180_000 },
  { ...crash, name: 'crash-alone', include: measuring, together: alone },
  { name: 'soak', together: alone, testMs: 1_800_000, hookMs: 600_000 },
  { ...crash, name: 'soak-crash', include: shared, together: waiting, everyPoint: true },
]

export default defineConfig({
  test: {
    sequence: { sequencer: SideBySide },
    projects: suites.map((suite) => ({
      test: {
        name: suite.name,
        include: [...(suite.include ?? [`test/${suite.name}/**/*.test.ts`])],
        exclude: [...(suite.exclude ?? [])],
        provide: { everyPoint: suite.everyPoint ?? false },
        globalSetup: ['test/support/global-setup.ts'],
        environment: 'node',
        pool: 'forks',
        isolate: suite.isolate ?? true,
        maxWorkers: suite.together.workers,
        sequence: { groupOrder: suite.together.order },
        testTimeout: suite.testMs,
        hookTimeout: suite.hookMs,
        allowOnly: false,
      },
    })),
  },
})
