import { withoutComments } from './sources.ts'

/** Programs and what they are put together from: here the clock of the machine is taken up and handed on. */
const composition =
  /^(src\/clock\.ts$|src\/process\/stop-request\.ts$|src\/(roles|standalone|supervisor|tour|cli|lab)\/|db\/)/

/** Who else may, and why. */
export const clockReaders: Readonly<Record<string, string>> = {
  'src/platforms/': 'drivers wait for real sockets and real tasks, and no simulation holds them',
  'src/bounded-signal.ts': 'a deadline of a call over a real socket',
  'src/process/health.ts': 'a bound on a check of real parts',
  'src/console/': 'its script runs in a browser, and its stream is open as long as a page is',
  'src/api/': 'streams, requests and checks over real sockets are bounded by real time',
  'src/ledger/bell/bell.ts': 'a bound on a call into a real store',
  'src/ledger/seals/seal-events.ts': 'signed evidence: the moment is of the process, and not of who asks',
  'src/ledger/seals/prune-events.ts': 'signed evidence: the moment is of the process, and not of who asks',
  'src/ledger/seals/verify-pruned.ts': 'signed evidence: the moment is of the process, and not of who asks',
  'src/ledger/seals/repair-statements.ts':
    'signed evidence: the moment is of the process, and not of who asks',
  'src/sealing/prepare-seals.ts': 'a step of every program before it has started',
  'src/migration/place/script-machine.ts': 'measures the processor time of a script in a thread of its own',
  'src/migration/place/script-runner.ts': 'watches a thread that may be stuck in a real loop',
  'workers/cpu-tasks.ts': 'measures computing in a thread of its own',
  'workers/platforms.ts': 'closes a real connection that nobody uses',
  'workers/lease-keeper.ts':
    'a timer of the process that looks at leases; what it compares is the clock it was given',
}

const read =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bset(?:Timeout|Interval)\(|\bsystemClock\b|timers\/promises/

/** Whether a file reads the clock of the machine although it is handed one. */
export const readsClock = (path: string, text: string): boolean =>
  !composition.test(path) && read.test(withoutComments(text))

export const reasonOf = (path: string): string | undefined =>
  Object.keys(clockReaders).find((of) => (of.endsWith('/') ? path.startsWith(of) : path === of))
