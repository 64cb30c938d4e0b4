import { AsyncLocalStorage } from 'node:async_hooks'
import type { Db, Queryable } from '../../../db/client.ts'
import type { Clock } from '../../../src/clock.ts'
import { hearCrashPoints } from '../../../src/crash-point.ts'
import { leaseMs } from '../../support/ledger.ts'

/** In the middle of a job of that kind. */
export const atJob = (kind: string): string => `at ${kind}`

/** What every line of a process that was killed comes to. */
export class Dead extends Error {
  override readonly name = 'Dead'
}

/** Which points of processes somebody has died or frozen at, and with a job of which kind: what is sought is another. */
export interface Search {
  readonly for: 'death' | 'freeze'
  readonly met: Set<string>
}

export interface Fate {
  /** How many statements and calls it gets done before it dies; null: it lives. */
  readonly diesAfter: number | null
  /** How many before it freezes, outside of transactions; null: it does not. */
  readonly freezesAfter: number | null
  /** It dies or freezes at the first point with a name at which nobody has. */
  readonly seeks?: Search
}

/**
 * The life of one imagined process: it passes a point before and after whatever it does outside itself, and dies or
 * freezes at one of them. What is dead writes nothing any more: its transactions are rolled back.
 */
export class Life {
  readonly frozen: Promise<void>
  /** Nobody waits in it: whoever sleeps has slept at once, and looks at its leases as often as such a time asks for. */
  readonly clock: Clock
  /** Renews the leases of the process. */
  beat: () => Promise<unknown> = () => Promise.resolve()
  #atMs = 0
  #unrenewedMs = 0
  #passes = 0
  #steps = 0
  #dead = false
  /** The kind of the job that it is in the middle of. */
  #kind: string | null = null
  #freezesAfter: number | null
  #stood = false
  readonly #diesAfter: number | null
  readonly #search: Search | undefined
  #freeze: () => void = () => undefined
  #thaw: () => void = () => undefined

  constructor({ diesAfter, freezesAfter, seeks }: Fate) {
    this.#search = seeks
    this.#diesAfter = diesAfter
    this.#freezesAfter = freezesAfter
    this.frozen = new Promise((resolve) => {
      this.#freeze = resolve
    })
    this.clock = {
      now: () => Date.now(),
      monotonicMs: () => this.#atMs,
      sleep: (ms, signal) => this.#sleep(ms, signal),
    }
  }

  /** Crash points that it has passed, and calls of platforms that it has made. */
  get steps(): number {
    return this.#steps
  }

  /** Its handler of that kind has begun. */
  takeUp(kind: string): void {
    this.#kind = kind
  }

  /** A point at which it may die. */
  pass(point?: string): void {
    this.#passes += 1
    if (point !== undefined && !point.startsWith('after ')) this.#steps += 1
    if (point !== undefined && !this.#dead && this.#search?.for === 'death' && this.#finds(point))
      this.#dead = true
    if (this.#diesAfter !== null && this.#passes > this.#diesAfter) this.#dead = true
    if (this.#dead) throw new Dead('The process is dead.')
  }

  /** A point at which it may freeze, too. */
  async rest(point?: string): Promise<void> {
    this.pass(point)
    const sought = this.#search?.for === 'freeze' && !this.#stood && this.#finds(point)
    const due = this.#freezesAfter !== null && this.#passes > this.#freezesAfter
    if (!sought && !due) return
    this.#freezesAfter = null
    this.#stood = true
    const thawed = new Promise<void>((resolve) => {
      this.#thaw = resolve
    })
    this.#freeze()
    await thawed
    this.pass()
  }

  /** By its own clock it has stood still for so long. */
  standStill(ms: number): void {
    this.#atMs += ms
  }

  thaw(): void {
    this.#thaw()
  }

  kill(): void {
    this.#dead = true
  }

  #finds(point: string | undefined): boolean {
    const { met } = this.#search ?? { met: new Set<string>() }
    const here = [
      ...(point === undefined ? [] : [point]),
      ...(this.#kind === null ? [] : [atJob(this.#kind)]),
    ]
    const found = here.filter((one) => !met.has(one))
    for (const one of found) met.add(one)
    return found.length > 0
  }

  async #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return
    this.#atMs += ms
    this.#unrenewedMs += ms
    if (this.#unrenewedMs >= leaseMs / 4) {
      this.#unrenewedMs = 0
      await this.beat()
    }
    // Whatever else there is to do goes on meanwhile.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Whose line it is that comes to a crash point. */
const living = new AsyncLocalStorage<Life>()

/** All that `work` does is done by that process. */
export const liveAs = <Done>(life: Life, work: () => Promise<Done>): Promise<Done> => living.run(life, work)

hearCrashPoints((name) => living.getStore()?.pass(name))

const isStatement = (args: readonly unknown[]): boolean =>
  Array.isArray(args[0]) && 'raw' in (args[0] as object)

/** The database as that process has it. */
export const mortalDb = (db: Db, life: Life): Db => {
  const begin = async (...args: readonly unknown[]) => {
    const work = args.at(-1) as (tx: Queryable) => Promise<unknown>
    await life.rest()
    const done = await (db.begin as (...given: unknown[]) => Promise<unknown>)(
      ...args.slice(0, -1),
      async (tx: Queryable) => {
        const result = await work(mortal(tx, life))
        life.pass()
        return result
      },
    )
    await life.rest()
    return done
  }
  return mortal(db, life, { begin })
}

const mortal = <Sql extends object>(sql: Sql, life: Life, own: Record<string, unknown> = {}): Sql =>
  new Proxy(sql, {
    apply: (target, _this, args: unknown[]) => {
      if (isStatement(args)) life.pass()
      return (target as unknown as (...given: unknown[]) => unknown)(...args)
    },
    get: (target, key) => own[String(key)] ?? Reflect.get(target, key),
  })
