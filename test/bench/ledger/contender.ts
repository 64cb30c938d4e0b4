import type { BenchOptions } from '../options.ts'
import type { PostgresServer } from '../postgres-server.ts'
import type { StartedProcess } from '../processes.ts'
import type { RedisServer } from '../redis-server.ts'

/** What all contenders of one run share. */
export interface Bench {
  readonly options: BenchOptions
  readonly postgres: PostgresServer
  readonly redis: RedisServer
}

/** A job queue that takes part in the end-to-end comparison. */
export interface Contender {
  readonly name: string
  readonly title: string
  /** How it is set, for the reader. */
  readonly settings: (options: BenchOptions) => string
  /** Starts it on an empty database (or store) of its own, workers up and waiting. */
  readonly open: (bench: Bench, database: string) => Promise<RunningContender>
}

export interface RunningContender {
  /** The processes that do the work: stopped while jobs are loaded when only draining is timed. */
  readonly processes: readonly StartedProcess[]
  /** Commits `count` jobs, through its own API, in one call. */
  readonly enqueue: (count: number) => Promise<void>
  /** How many of the jobs are not finished, by what is committed. */
  readonly left: () => Promise<number>
  /** Tables vacuumed and analysed, as after a while in production. */
  readonly settle: () => Promise<void>
  readonly close: () => Promise<void>
}
