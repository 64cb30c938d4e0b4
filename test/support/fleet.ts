import { describe, inject } from 'vitest'
import type { Db } from '../../db/client.ts'
import type { CrashPoint } from '../../src/crash-point.ts'
import { enqueue, type NewJob } from '../../src/ledger/jobs/enqueue.ts'
import { nudge } from '../../src/ledger/jobs/nudge.ts'
import { allEnded } from './load.ts'
import { createDatabase } from './postgres.ts'
import type { Exit, TestProcess } from './processes.ts'
import { startRedis } from './redis.ts'
import { startConductor, startRoles, startWorker } from './roles.ts'
import { settles, until } from './wait.ts'

/** Where a process shall die or freeze, and on which pass: `kill:after-claim`, `stop:before-effect@2`. */
export type Armed = `${'kill' | 'stop'}:${CrashPoint}` | `${'kill' | 'stop'}:${CrashPoint}@${number}`

export interface FleetOptions {
  readonly workers?: number
  readonly conductors?: number
  /** Longer where no lease is to end: a machine that stands still for a second must not end one. */
  readonly leaseMs?: number
  /** The bell has no part in it: a push takes the one that the commit picks, the soak suite both. */
  readonly anyBell?: boolean
}

/** A small fleet of real processes with short leases, on one database and one bell. */
export interface Fleet {
  readonly db: Db
  readonly bell: 'postgres' | 'redis'
  readonly conductors: readonly TestProcess[]
  readonly workers: readonly TestProcess[]
  /** One more worker, until the end of the test. */
  worker(armed?: Armed): Promise<TestProcess>
  /** One more conductor, until the end of the test. */
  conductor(armed?: Armed): Promise<TestProcess>
  /** Those of a matrix that this push tries, as the commit picks them. The soak suite tries all. */
  share<Case>(cases: readonly Case[]): Case[]
  /** Adds self-test jobs with this payload and tells the conductor. Returns their ids. */
  add(count: number, payload: Readonly<Record<string, unknown>>, job?: Partial<NewJob>): Promise<string[]>
  /** Waits until all of these have ended, in whatever way. */
  ended(ids: readonly string[]): Promise<void>
  /**
   * Adds work, so many at a time, until an armed process has died of it: beside one that is quicker it gets its share in
   * the end. Says how it died, and what was added.
   */
  feed(
    armed: TestProcess,
    count: number,
    payload: Readonly<Record<string, unknown>>,
  ): Promise<{ exit: Exit; ids: string[] }>
}

/**
 * Short, so that a test waits seconds for what takes a quarter of a minute in production; other files run meanwhile,
 * so that shorter would save next to nothing, and cost leases on a machine that stands still for a moment.
 */
const fleetLeaseMs = 2_000
/** Few hands: a worker beside another one gets its share of a dozen jobs. */
const slots = 2
const endMs = 240_000
const bells = ['postgres', 'redis'] as const

/**
 * Describes the same tests once per bell (see `anyBell`), each time with a fleet that is started once for all of them.
 * Call it at the top of a file.
 */
export const onEachFleet = async (
  title: string,
  options: FleetOptions,
  tests: (fleet: Fleet) => void,
): Promise<void> => {
  for (const [nth, bell] of bellsOf(options).entries()) {
    const { db, socketUrl } = await createDatabase()
    const redis = bell === 'redis' ? await startRedis() : undefined
    const env = {
      DATABASE_URL: socketUrl,
      ...(redis ? { REDIS_URL: redis.url } : {}),
      DROVER_SECRET_KEY: '5e'.repeat(32),
      DROVER_LEASE_MS: String(options.leaseMs ?? fleetLeaseMs),
      DROVER_CONCURRENCY: `self-test=${slots}`,
    }
    const armedEnv = (armed?: Armed) => (armed === undefined ? env : { ...env, DROVER_CRASH_POINTS: armed })
    const roles = await startRoles(env, options)
    const fleet: Fleet = {
      ...roles,
      db,
      bell,
      share: (cases) => shareOf(cases, { title: `${title}, on the ${bell} bell`, nth }),
      worker: (armed) => startWorker(armedEnv(armed)),
      conductor: (armed) => startConductor(armedEnv(armed)),
      add: (count, payload, job) => addJobs(db, count, payload, job),
      ended: async (ids) => void (await allEnded(db, ids, endMs)),
      feed: (armed, count, payload) => feed(db, armed, () => addJobs(db, count, payload)),
    }
    describe(`${title}, on the ${bell} bell`, () => tests(fleet))
  }
}

/** One in so many cases of a matrix is tried in each push, rounded up. */
const rotating = 3

/** The other bell begins elsewhere. Says how many stay away. */
const shareOf = <Case>(
  cases: readonly Case[],
  fleet: { readonly title: string; readonly nth: number },
): Case[] => {
  if (inject('everyPoint')) return [...cases]
  const count = Math.ceil(cases.length / rotating)
  // Not by the bit that picks the bell.
  const at = ((inject('shareSeed') >> 1) + fleet.nth * count) % cases.length
  console.info(`${fleet.title}: ${count} of ${cases.length} points; npm run test:soak tries all of them`)
  return [...cases.slice(at), ...cases.slice(0, at)].slice(0, count)
}

/** To what the bell is all one, that is done on the one that the commit picks. */
const bellsOf = ({ anyBell = false }: FleetOptions) =>
  bells.filter((_, nth) => !anyBell || inject('everyPoint') || inject('shareSeed') % bells.length === nth)

/** How an armed process ended. One that never reaches its point fails the test here. */
export const ending = (armed: TestProcess): Promise<Exit> =>
  settles(armed.exited, { what: 'the armed process to reach its point and die', withinMs: endMs })

const feed = async (db: Db, armed: TestProcess, add: () => Promise<string[]>) => {
  const ids: string[] = []
  const deadlineMs = performance.now() + endMs
  while (armed.running && performance.now() < deadlineMs) {
    const more = await add()
    ids.push(...more)
    await until(async () => !armed.running || (await openOf(db, more)) === 0, {
      what: 'the armed process to die, or its work to be done',
      withinMs: endMs,
    })
  }
  return { exit: await ending(armed), ids }
}

const openOf = async (db: Db, ids: readonly string[]): Promise<number> => {
  const [row] = await db<{ open: number }[]>`
    select count(*)::int as open from job where id = any(${ids as string[]}::uuid[]) and finished_at is null`
  return row?.open ?? 0
}

const addJobs = async (
  db: Db,
  count: number,
  payload: Readonly<Record<string, unknown>>,
  job: Partial<NewJob> = {},
): Promise<string[]> => {
  const jobs = Array.from({ length: count }, (_, at) => ({
    kind: 'self-test',
    payload,
    subject: { type: 'self-test', id: String(at) },
    createdBy: 'test',
    ...job,
  }))
  const added = (await db.begin((tx) => enqueue(tx, jobs))) as { id: string }[]
  nudge(db)
  return added.map(({ id }) => id)
}
