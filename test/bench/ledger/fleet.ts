import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Db, openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { type EnqueuedJob, enqueue } from '../../../src/ledger/jobs/enqueue.ts'
import { nudge } from '../../../src/ledger/jobs/nudge.ts'
import type { BenchOptions } from '../options.ts'
import type { PostgresServer } from '../postgres-server.ts'
import { firstMessage, type StartedProcess, startProcess } from '../processes.ts'
import type { Bench } from './contender.ts'

export const bells = ['redis', 'postgres'] as const
export type BellStore = (typeof bells)[number]

export interface FleetOptions {
  readonly bell: BellStore
  readonly database: string
  readonly workers?: number
  readonly concurrency?: number
  /** Workers tell when a handler starts; costs a message a job. */
  readonly probe?: boolean
}

/** Our roles as in production: one conductor and some workers, each a process, on a database of their own. */
export interface Fleet {
  readonly db: Db
  readonly conductor: StartedProcess
  readonly workers: readonly StartedProcess[]
  /** Commits self-test jobs in one transaction, and tells the conductor. */
  readonly enqueue: (count: number, payload?: Record<string, unknown>) => Promise<EnqueuedJob[]>
  readonly close: () => Promise<void>
}

const templates = new WeakMap<PostgresServer, Promise<string>>()

const template = (server: PostgresServer): Promise<string> => {
  let made = templates.get(server)
  if (!made) {
    made = (async () => {
      await migrateDb(await server.createDatabase('drover_template'))
      return 'drover_template'
    })()
    templates.set(server, made)
  }
  return made
}

/** A migrated database without jobs. */
export const createLedger = async (server: PostgresServer, database: string): Promise<string> =>
  server.createDatabase(database, await template(server))

export const startFleet = async (bench: Bench, options: FleetOptions): Promise<Fleet> => {
  if (options.bell === 'redis') await bench.redis.flush()
  const url = await createLedger(bench.postgres, options.database)
  const start = (role: Role) => startRole(bench, options, url, role)
  const conductor = await start('conductor')
  const count = options.workers ?? bench.options.workers
  const workers = await Promise.all(Array.from({ length: count }, () => start('worker')))
  const db = openDb({ url, max: bench.options.producers + 1, applicationName: 'drover-bench' })
  let serial = 0
  return {
    db,
    conductor,
    workers,
    enqueue: async (jobs, payload = {}) => {
      const added = await db.begin((tx) =>
        enqueue(
          tx,
          Array.from({ length: jobs }, () => ({
            kind: 'self-test',
            payload,
            subject: { type: 'bench', id: String(++serial) },
            createdBy: 'bench',
          })),
        ),
      )
      nudge(db)
      return added
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.stop()))
      await conductor.stop()
      await db.end({ timeout: 5 })
    },
  }
}

type Role = 'conductor' | 'worker'

const startRole = async (
  bench: Bench,
  options: FleetOptions,
  url: string,
  role: Role,
): Promise<StartedProcess> => {
  const { cpuProf, leaseMs } = bench.options
  const probed = role === 'worker' && options.probe === true
  const program = probed ? './contenders/probed-worker-program.ts' : '../../../src/roles/main.ts'
  const started = startProcess({
    title: role,
    command: process.execPath,
    args: [
      ...(cpuProf === undefined
        ? []
        : ['--cpu-prof', `--cpu-prof-dir=${join(cpuProf, `${options.database}-${role}-${nextProfile()}`)}`]),
      ...['--import', 'tsx', fileURLToPath(new URL(program, import.meta.url))],
      ...(probed ? [] : [role]),
    ],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATABASE_URL: url,
      ...(options.bell === 'redis' ? { REDIS_URL: bench.redis.url } : {}),
      DROVER_SECRET_KEY: secretKey,
      DROVER_CONCURRENCY: `self-test=${options.concurrency ?? usualConcurrency(bench.options, options.bell)}`,
      DROVER_LEASE_MS: String(leaseMs),
      DROVER_DRAIN_MS: '1000',
      DROVER_LOG_LEVEL: 'warn',
    },
    ipc: true,
  })
  const message = await firstMessage(role, started)
  if (!isRunning(message)) throw new Error(`The ${role} did not start: ${JSON.stringify(message)}`)
  return started
}

/** How many jobs each worker runs at once: what serves the store best. */
export const usualConcurrency = (options: BenchOptions, bell: BellStore): number =>
  bell === 'redis' ? options.concurrency : options.concurrencyPostgres

const secretKey = randomBytes(32).toString('hex')
let profiles = 0
const nextProfile = (): number => {
  profiles += 1
  return profiles
}

const isRunning = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && 'type' in message && message.type === 'running'
