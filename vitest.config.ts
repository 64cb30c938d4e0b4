import { defineConfig } from 'vitest/config'
import { SideBySide } from './test/support/run/side-by-side.ts'

interface Pass {
  readonly name: string
  readonly suites: readonly string[]
  /** All of its suites if nothing is said. */
  readonly files?: readonly string[]
  readonly exclude?: readonly string[]
  readonly order: number
  /** How many of its files run at once. */
  readonly workers: number
  /** Patience, not a measurement: what hangs takes this long to fail, on a machine several times slower than ours. */
  readonly testMs: number
  readonly hookMs: number
  /** Whether every point of a matrix is tried on every bell: see `share` in test/support/fleet.ts. */
  readonly everyPoint?: true
}

/** They measure how quick something is, or keep both processors busy. */
const measuring = ['chaos-fairness', 'chaos-stop', 'heavy-computing'].map(
  (name) => `test/crash/${name}.test.ts`,
)
/** Of which a push tries a share: the points of a matrix, or one bell of two. */
const shared = ['crash-points*', 'migration-*', 'sync*', 'zombie', 'operation/aborts'].map(
  (name) => `test/crash/${name}.test.ts`,
)

/** The suites of a run; test/support/run/run-suites.mjs names them. A run by hand has all that a push has. */
const wanted = process.env.DROVER_SUITES?.split(',') ?? [
  ...['unit', 'api', 'integration', 'contract', 'crash', 'simulation', 'browser'],
]

/**
 * One after another. A process that has run a file takes the next one of the same pass, with what it has loaded: the
 * fewer passes, the less is loaded again.
 */
const passes: readonly Pass[] = [
  // Nothing but computing: as many at once as there are processors, at least.
  { name: 'computing', suites: ['unit'], order: 0, workers: 2, testMs: 300_000, hookMs: 60_000 },
  // Of two files that wait for processes, leases and stores, one leaves the processor to the other.
  {
    ...{ name: 'waiting', order: 1, workers: 5, testMs: 600_000, hookMs: 180_000 },
    ...{ suites: ['api', 'integration', 'contract', 'crash', 'simulation', 'browser'], exclude: measuring },
  },
  {
    ...{ name: 'alone', order: 2, workers: 1, testMs: 300_000, hookMs: 180_000 },
    ...{ suites: ['crash'], files: measuring },
  },
  { name: 'soak', suites: ['soak'], order: 2, workers: 1, testMs: 1_800_000, hookMs: 600_000 },
  {
    ...{ name: 'every-point', order: 1, workers: 5, testMs: 300_000, hookMs: 180_000 },
    ...{ suites: ['soak'], files: shared, everyPoint: true },
  },
]

/**
 * Buffers and promises come and go by the megabyte over a heap that stays as it is: by default it is marked anew after
 * every 24 MB, which takes a fifth of the time of a process that runs tests.
 */
const roomyHeap = ['--heap-growing-percent=500', '--max-semi-space-size=32']

const filesOf = ({ suites, files }: Pass): readonly string[] => {
  const asked = suites.filter((suite) => wanted.includes(suite))
  return asked.length === 0 ? [] : (files ?? asked.map((suite) => `test/${suite}/**/*.test.ts`))
}

export default defineConfig({
  test: {
    sequence: { sequencer: SideBySide },
    projects: passes
      .filter((pass) => filesOf(pass).length > 0)
      .map((pass) => ({
        test: {
          name: pass.name,
          include: [...filesOf(pass)],
          exclude: [...(pass.exclude ?? [])],
          provide: { everyPoint: pass.everyPoint ?? false },
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/run/fresh-file.ts'],
          environment: 'node',
          pool: 'forks',
          execArgv: roomyHeap,
          isolate: false,
          maxWorkers: pass.workers,
          sequence: { groupOrder: pass.order },
          testTimeout: pass.testMs,
          hookTimeout: pass.hookMs,
          allowOnly: false,
        },
      })),
  },
})
