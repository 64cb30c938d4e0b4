import { createMiddleware } from 'hono/factory'
import type { Clock } from '../../clock.ts'
import { stepsSoFar } from '../../domain/filter/meter.ts'
import { problem } from '../wire/problem.ts'
import type { ApiEnv } from './env.ts'

/**
 * Work of filters between two turns of the event loop. Everybody shares one thread, so this is what somebody else waits
 * at each step of a request; one more row, a millisecond at most, may come on top.
 */
const slice = { ms: 1, steps: 25_000 } as const
/** How long filters rest after a slice while somebody else's request is under way. */
const restMs = 2

export interface FilterLimits {
  /** Scans at once, of one actor and of all. */
  readonly scansPerActor: number
  readonly scans: number
  /** Requests that wait for a scan to end, of one actor and of all. */
  readonly waitingPerActor: number
  readonly waiting: number
  readonly waitMs: number
}

export const filterLimits: FilterLimits = Object.freeze({
  scansPerActor: 2,
  scans: 16,
  waitingPerActor: 16,
  waiting: 200,
  waitMs: 1_000,
})

interface Lane {
  scans: number
  readonly waiting: (() => void)[]
  readonly slices: (() => void)[]
}

/** One scan's share of the thread. */
export class Slices {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #wait: () => Promise<void>
  #endMs = Number.NEGATIVE_INFINITY
  #endSteps = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>, wait: () => Promise<void>) {
    this.#clock = clock
    this.#wait = wait
  }

  /** Call it before each small piece of work: nothing while the slice lasts, else a promise of the next one. */
  next(): Promise<void> | undefined {
    if (this.#clock.monotonicMs() < this.#endMs && stepsSoFar() < this.#endSteps) return undefined
    return this.#wait().then(() => {
      this.#endMs = this.#clock.monotonicMs() + slice.ms
      this.#endSteps = stepsSoFar() + slice.steps
    })
  }

  /** The thread was left, for a look at the database say: what comes next takes its turn again. */
  end(): void {
    this.#endMs = Number.NEGATIVE_INFINITY
  }
}

/**
 * The filters of this process take turns: a slice of one scan, then of the next actor's, whatever number of scans each
 * has, and in between everybody else's requests. So 200 expensive filters of one user are, for all others, one.
 */
export class FilterTurns {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #limits: FilterLimits
  /** By actor. In the order in which they are served next: who was served goes to the end. */
  readonly #lanes = new Map<string, Lane>()
  #scans = 0
  #waiting = 0
  #others = 0
  #pumping = false

  constructor({
    clock,
    limits = filterLimits,
  }: { clock: Pick<Clock, 'monotonicMs'>; limits?: FilterLimits }) {
    this.#clock = clock
    this.#limits = limits
  }

  /** Work without a filter needs no turn; with one it waits until few enough are at it. */
  async ask<Result>(
    asked: { readonly actor: string; readonly filter: string | undefined },
    work: (slices: Slices | undefined) => Promise<Result>,
  ): Promise<Result> {
    if (asked.filter === undefined) return await work(undefined)
    this.#others -= 1
    try {
      return await this.#run(asked.actor, work, false)
    } finally {
      this.#others += 1
    }
  }

  /** The same for a streamed answer, whose request is over: it waits for as long as it takes. */
  async whenFree<Result>(actor: string, work: (slices: Slices) => Promise<Result>): Promise<Result> {
    return await this.#run(actor, work, true)
  }

  async #run<Result>(
    actor: string,
    work: (slices: Slices) => Promise<Result>,
    waits: boolean,
  ): Promise<Result> {
    await this.#enter(actor, waits)
    try {
      const slices = new Slices(this.#clock, () => this.#takeTurn(actor))
      await slices.next()
      return await work(slices)
    } finally {
      this.#leave(actor)
    }
  }

  /** Counts the requests that are under way: filters give way to them. */
  readonly giveWay = createMiddleware<ApiEnv>(async (_c, next) => {
    this.#others += 1
    try {
      await next()
    } finally {
      this.#others -= 1
    }
  })

  #lane(actor: string): Lane {
    const lane = this.#lanes.get(actor) ?? { scans: 0, waiting: [], slices: [] }
    this.#lanes.set(actor, lane)
    return lane
  }

  async #enter(actor: string, waits: boolean): Promise<void> {
    const lane = this.#lane(actor)
    if (this.#mayScan(lane)) return this.#begin(lane)
    const { waitingPerActor, waiting, waitMs } = this.#limits
    const full = lane.waiting.length >= waitingPerActor || this.#waiting >= waiting
    if (full && !waits) {
      this.#forget(actor, lane)
      throw busy(actor)
    }
    this.#waiting += 1
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        lane.waiting.splice(lane.waiting.indexOf(go), 1)
        this.#waiting -= 1
        this.#forget(actor, lane)
        reject(busy(actor))
      }
      const timer = waits ? undefined : setTimeout(giveUp, waitMs)
      const go = () => {
        clearTimeout(timer)
        this.#waiting -= 1
        this.#begin(lane)
        resolve()
      }
      lane.waiting.push(go)
    })
  }

  #mayScan(lane: Lane): boolean {
    return lane.scans < this.#limits.scansPerActor && this.#scans < this.#limits.scans
  }

  #begin(lane: Lane): void {
    lane.scans += 1
    this.#scans += 1
  }

  #leave(actor: string): void {
    const left = this.#lane(actor)
    left.scans -= 1
    this.#scans -= 1
    this.#serve((lane) => (this.#mayScan(lane) ? lane.waiting.shift() : undefined))
    this.#forget(actor, left)
  }

  #forget(actor: string, lane: Lane): void {
    if (lane.scans === 0 && lane.waiting.length === 0) this.#lanes.delete(actor)
  }

  /** The first lane that has something gets it, and goes to the end. */
  #serve(take: (lane: Lane) => (() => void) | undefined): boolean {
    for (const [actor, lane] of this.#lanes) {
      const go = take(lane)
      if (!go) continue
      this.#lanes.delete(actor)
      this.#lanes.set(actor, lane)
      go()
      return true
    }
    return false
  }

  #takeTurn(actor: string): Promise<void> {
    return new Promise((resolve) => {
      this.#lane(actor).slices.push(resolve)
      this.#pump()
    })
  }

  /** One slice in each turn of the event loop, and none in some while others are at work. */
  #pump(): void {
    if (this.#pumping) return
    this.#pumping = true
    const serve = () => {
      this.#pumping = false
      if (this.#serve((lane) => lane.slices.shift())) this.#pump()
    }
    if (this.#others > 0) setTimeout(serve, restMs)
    else setImmediate(serve)
  }
}

const busy = (actor: string) =>
  problem('filters-busy', `${actor} has as many filters at work as one user may have, or all users have.`, {
    retryAfterSeconds: 2,
  })
