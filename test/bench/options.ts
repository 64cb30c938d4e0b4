import { parseArgs } from 'node:util'

/** What the command line was wrong about; the answer is the help and exit code 2. */
export class UsageError extends Error {}

export interface BenchOptions {
  readonly suite: string
  /** Parts of the suite to run; empty means all. */
  readonly only: readonly string[]
  readonly contenders: readonly string[]
  readonly rounds: number
  readonly jobs: number
  /** Jobs in one enqueue transaction, the same for everybody. */
  readonly batch: number
  /** Enqueue transactions at once, the same for everybody. */
  readonly producers: number
  /** Worker processes and jobs at once in each, on our side. */
  readonly workers: number
  readonly concurrency: number
  /** The same with the bell on Postgres, where more at once is slower. */
  readonly concurrencyPostgres: number
  readonly modes: readonly string[]
  readonly latencySamples: number
  readonly leaseMs: number
  /** Finished jobs in the full table of the claim benchmark. */
  readonly finished: number
  /** Folder for CPU profiles of our processes. */
  readonly cpuProf: string | undefined
  /** Show which of our statements cost Postgres most. */
  readonly statements: boolean
  readonly quick: boolean
}

const quickDefaults = {
  rounds: '1',
  jobs: '400',
  samples: '20',
  'lease-ms': '3000',
  finished: '5000',
} as const

const fullDefaults = {
  rounds: '5',
  jobs: '20000',
  samples: '300',
  'lease-ms': '15000',
  finished: '5000000',
} as const

const spec = {
  only: { type: 'string', default: '' },
  contenders: { type: 'string', default: '' },
  modes: { type: 'string', default: 'live,drain' },
  rounds: { type: 'string' },
  jobs: { type: 'string' },
  batch: { type: 'string', default: '500' },
  producers: { type: 'string', default: '2' },
  workers: { type: 'string', default: '2' },
  concurrency: { type: 'string', default: '200' },
  'concurrency-postgres': { type: 'string', default: '25' },
  samples: { type: 'string' },
  'lease-ms': { type: 'string' },
  'cpu-prof': { type: 'string' },
  statements: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
} as const

export const helpText = (suites: readonly string[]): string =>
  `npm run bench -- <suite> [options]
suites: ${suites.join(', ')}
  --only <part,...>         run only these parts of the suite
  --contenders <name,...>   compare only these
  --modes <live,drain>      what the end-to-end part times
  --rounds <n> --jobs <n> --batch <n> --producers <n> --samples <n>
  --workers <n>             our worker processes
  --concurrency <n>         jobs at once in each of our worker processes, bell on Redis
  --concurrency-postgres <n>  the same, bell on Postgres
  --lease-ms <n>            our lease, for the part that kills a worker
  --cpu-prof <folder>       write CPU profiles of our processes
  --statements              show which of our statements cost Postgres most
  --quick                   tiny numbers: shows that the benchmark works, measures nothing
environment: BENCH_FINISHED=<n> finished jobs in the full table (default 5000000)`

/** Reads the command line. `BENCH_FINISHED` lowers the size of the full table. */
export const readOptions = (argv: readonly string[], env: NodeJS.ProcessEnv = process.env): BenchOptions => {
  const { values, positionals } = parse(argv)
  const [suite, ...rest] = positionals
  if (suite === undefined || rest.length > 0) throw new UsageError('Name one suite.')
  const defaults = values.quick ? quickDefaults : fullDefaults
  const number = (name: string, text: string, min = 1): number => {
    const value = Number(text)
    if (!Number.isInteger(value) || value < min)
      throw new UsageError(`${name} must be a whole number of ${min} or more, not "${text}".`)
    return value
  }
  return Object.freeze({
    suite,
    only: list(values.only),
    contenders: list(values.contenders),
    concurrencyPostgres: number('--concurrency-postgres', values['concurrency-postgres']),
    modes: list(values.modes),
    rounds: number('--rounds', values.rounds ?? defaults.rounds),
    jobs: number('--jobs', values.jobs ?? defaults.jobs, 10),
    batch: number('--batch', values.batch),
    producers: number('--producers', values.producers),
    workers: number('--workers', values.workers),
    concurrency: number('--concurrency', values.concurrency),
    latencySamples: number('--samples', values.samples ?? defaults.samples),
    leaseMs: number('--lease-ms', values['lease-ms'] ?? defaults['lease-ms'], 1_000),
    finished: number('BENCH_FINISHED', env.BENCH_FINISHED ?? defaults.finished, 0),
    cpuProf: values['cpu-prof'],
    statements: values.statements,
    quick: values.quick,
  })
}

const parse = (argv: readonly string[]) => {
  try {
    return parseArgs({ args: [...argv], options: spec, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

const list = (text: string): string[] => text.split(',').filter((item) => item !== '')
