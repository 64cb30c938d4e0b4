import type { JobState } from '../../src/domain/job/state.ts'

/** What may be done to the ledger. Numbers pick a job or a claim among those that are there. */
export type Step =
  | {
      readonly verb: 'enqueue'
      readonly tokens: readonly string[]
      readonly lane: string
      readonly priority: number
    }
  | { readonly verb: 'enqueueKey'; readonly key: string; readonly steps: number }
  | JobStep
  | HolderStep
  | { readonly verb: 'pause' | 'resume'; readonly lane: string }
  | { readonly verb: 'signal'; readonly name: string }
  | { readonly verb: 'limit'; readonly token: string; readonly capacity: number }
  | { readonly verb: 'lapse' | 'flush' }

/** Done to a job. */
export interface JobStep {
  readonly verb:
    | 'claim'
    | 'cancel'
    | 'redrive'
    | 'expire'
    | 'deadline'
    | 'timeOut'
    | 'makeDue'
    | 'ring'
    | 'waive'
  readonly pick: number
}

/** Done by whoever once got a claim, and may be a zombie since. */
export type HolderStep =
  | { readonly verb: 'finish'; readonly pick: number; readonly how: Ending }
  | { readonly verb: 'effect' | 'heartbeat' | 'checkpoint'; readonly pick: number }

export type Ending = 'succeed' | 'fail' | 'failInDebt' | 'retry' | 'waitA' | 'waitB' | 'release' | 'cancel'

/** A job as the model knows it; the driver reads the same shape from Postgres. */
export interface ModelJob {
  state: JobState
  /** Only while it is ready. */
  bell: string | null
  generation: number
  epoch: number
  environmentAttempt: number
  lost: number
  cancelRequested: boolean
  waitReason: string | null
  effect: string | null
  held: string[]
  story: string[]
}

interface Inner extends ModelJob {
  readonly lane: string
  readonly priority: number
  readonly tokens: readonly string[]
  readonly key: string | undefined
  readonly steps: number
  signal: string | null
  /** Logical time at which it began to stand in line. */
  since: number | null
  claimedAt: number
}

const lostMax = 5
const environmentMax = 100

/** The ledger as its documents tell it, in memory, one job at a time. */
export class LedgerModel {
  readonly jobs: Inner[] = []
  readonly #paused = new Set<string>()
  readonly #limits = new Map<string, number>()
  readonly #signals = new Map<string, number>()
  #now = 0

  /** The next logical moment. */
  tick(): number {
    this.#now += 1
    return this.#now
  }

  enqueue(asked: {
    tokens: readonly string[]
    lane: string
    priority: number
    key?: string
    steps?: number
  }): string {
    const owner = asked.key === undefined ? undefined : this.jobs.find((job) => job.key === asked.key)
    if (owner) return owner.steps === asked.steps ? `same ${this.jobs.indexOf(owner)}` : 'mismatch'
    this.jobs.push({
      state: 'ready',
      bell: 'due',
      generation: 1,
      epoch: 0,
      environmentAttempt: 0,
      lost: 0,
      cancelRequested: false,
      waitReason: null,
      effect: null,
      held: [],
      story: ['job.created >ready'],
      lane: asked.lane,
      priority: asked.priority,
      tokens: asked.tokens,
      key: asked.key,
      steps: asked.steps ?? 0,
      signal: null,
      since: null,
      claimedAt: 0,
    })
    return `new ${this.jobs.length - 1}`
  }

  claim(at: number): string {
    const job = this.#job(at)
    if (job.state !== 'ready') return 'not-ours'
    if (job.bell === 'held') return 'not-ours'
    // What was cancelled is undone also while its lane is paused.
    if (this.#paused.has(job.lane) && !job.cancelRequested) {
      job.bell = 'due'
      return 'not-ours'
    }
    const missing = job.tokens.filter((token) => !job.held.includes(token))
    if (missing.some((token) => this.#isFull(token))) {
      if (!job.cancelRequested) {
        this.#move(job, 'job.waiting', 'waiting')
        job.waitReason = 'token'
        job.signal = 'token'
        job.since ??= this.#now
        return 'not-ours'
      }
    } else job.held = [...job.tokens].sort()
    this.#move(job, 'job.running', 'running')
    job.epoch += 1
    job.claimedAt = this.#now
    job.waitReason = null
    if (job.tokens.length > 0) job.since = null
    return `claimed ${job.epoch}`
  }

  holds(at: number, epoch: number): boolean {
    const job = this.#job(at)
    return job.state === 'running' && job.epoch === epoch
  }

  effect(at: number): void {
    this.#job(at).effect = 'done'
  }

  waive(at: number): boolean {
    const job = this.#job(at)
    if (job.effect !== 'debt') return false
    job.effect = 'waived'
    return true
  }

  /** Each run checkpoints something new here, so the job got further and is not what ends its workers. */
  checkpoint(at: number): void {
    this.#job(at).lost = 0
  }

  finish(at: number, how: Ending): void {
    const job = this.#job(at)
    // Of what somebody has given up a failure is no failure, and it is not tried again.
    const isGivenUp = job.cancelRequested && thrown.has(how)
    const last = how === 'retry' && job.environmentAttempt + 1 >= environmentMax ? 'fail' : how
    const end = isGivenUp && how === 'retry' ? 'cancel' : last
    if (how === 'retry' && !isGivenUp) job.environmentAttempt += 1
    if (end === 'succeed') this.#move(job, 'job.succeeded', 'succeeded')
    else if (end === 'release') this.#toReady(job, 'job.released')
    else if (end === 'retry') {
      this.#toReady(job, 'job.retried')
      job.bell = 'held'
    } else if (end === 'waitA' || end === 'waitB') this.#wait(job, end)
    else {
      if (job.effect === 'done') job.effect = end === 'failInDebt' ? 'debt' : 'undone'
      const isCanceled = end === 'cancel' || isGivenUp
      this.#move(job, isCanceled ? 'job.canceled' : 'job.failed', isCanceled ? 'canceled' : 'failed')
    }
    this.#release(job)
  }

  cancel(at: number): string {
    const job = this.#job(at)
    if (isOver(job)) return 'ended'
    if (job.state === 'running' || job.effect === 'done') {
      if (job.cancelRequested) return 'requested'
      job.cancelRequested = true
      const to = job.state === 'waiting' ? 'ready' : job.state
      if (job.state === 'waiting' || job.bell === 'held') job.bell = 'due'
      this.#move(job, 'job.cancel-requested', to)
      Object.assign(job, { since: null, signal: null })
      return 'requested'
    }
    job.cancelRequested = true
    job.signal = null
    this.#move(job, 'job.canceled', 'canceled')
    this.#release(job)
    return 'canceled'
  }

  redrive(at: number): string {
    const job = this.#job(at)
    if (job.state === 'succeeded') return 'succeeded'
    if (!isOver(job)) return 'not-ended'
    if (job.effect === 'debt') return 'job-in-debt'
    this.#toReady(job, 'job.redriven')
    Object.assign(job, { environmentAttempt: 0, lost: 0, cancelRequested: false, since: null })
    job.generation += 1
    return 'ready'
  }

  expire(at: number): void {
    const job = this.#job(at)
    if (job.state !== 'running') return
    job.lost += 1
    if (job.lost >= lostMax) this.#failAlone(job)
    else this.#toReady(job, 'job.lost')
    this.#release(job)
  }

  deadline(at: number): void {
    const job = this.#job(at)
    if (isOver(job)) return
    // Its handler may be at it still: what it holds lapses later.
    const ran = job.state === 'running'
    this.#failAlone(job)
    if (!ran) this.#release(job)
  }

  timeOut(at: number): void {
    const job = this.#job(at)
    if (job.state !== 'waiting') return
    const { since, signal, waitReason } = job
    this.#toReady(job, 'job.woken')
    job.waitReason = waitReason
    job.since = signal === 'token' ? since : null
  }

  makeDue(at: number): void {
    const job = this.#job(at)
    if (job.state === 'ready' && job.bell === 'held') job.bell = 'due'
  }

  ring(at: number): void {
    const job = this.#job(at)
    if (job.state === 'ready' && job.bell === 'due') job.bell = 'rung'
  }

  flush(): void {
    for (const job of this.jobs) if (job.bell === 'rung') job.bell = 'due'
  }

  signal(name: string): number {
    this.#signals.set(name, this.#now)
    const waiting = this.jobs.filter((job) => job.state === 'waiting' && job.signal === name)
    for (const job of waiting) {
      const { waitReason } = job
      this.#toReady(job, 'job.woken')
      job.waitReason = waitReason
      job.since = null
    }
    return waiting.length
  }

  pause(lane: string): void {
    this.#paused.add(lane)
  }

  resume(lane: string): void {
    this.#paused.delete(lane)
  }

  limit(token: string, capacity: number): void {
    this.#limits.set(token, capacity)
    this.#admit(() => true)
  }

  lapse(): void {
    const idle = this.jobs.filter((job) => (job.state === 'ready' || isOver(job)) && job.held.length > 0)
    const freed = new Set(idle.flatMap((job) => job.held))
    for (const job of idle) job.held = []
    this.#admit((job) => job.tokens.some((token) => freed.has(token)))
  }

  #wait(job: Inner, end: 'waitA' | 'waitB'): void {
    const signal = end === 'waitA' ? 'a' : 'b'
    if (job.cancelRequested || (this.#signals.get(signal) ?? -1) >= job.claimedAt) {
      this.#toReady(job, 'job.waiting')
      return
    }
    this.#move(job, 'job.waiting', 'waiting')
    Object.assign(job, { waitReason: 'test', signal, since: this.#now })
  }

  #failAlone(job: Inner): void {
    if (job.effect === 'done') job.effect = 'debt'
    job.signal = null
    this.#move(job, 'job.failed', 'failed')
  }

  #toReady(job: Inner, type: string): void {
    this.#move(job, type, 'ready')
    Object.assign(job, { bell: 'due', waitReason: null, signal: null })
  }

  #move(job: Inner, type: string, to: JobState): void {
    job.story.push(`${type} ${job.state}>${to}`)
    job.state = to
    if (to !== 'ready') job.bell = null
  }

  #isFull(token: string): boolean {
    const holders = this.jobs.filter((job) => job.held.includes(token)).length
    return holders >= (this.#limits.get(token) ?? 16)
  }

  #release(job: Inner): void {
    const freed = job.held
    job.held = []
    if (freed.length > 0) this.#admit((waiter) => waiter.tokens.some((token) => freed.includes(token)))
  }

  /** Lets in, in order, whom `asks` names and for whom there is room. */
  #admit(asks: (job: Inner) => boolean): void {
    const line = this.jobs
      .filter(
        (job) =>
          job.state === 'waiting' && job.signal === 'token' && !this.#paused.has(job.lane) && asks(job),
      )
      .sort((a, b) => b.priority - a.priority || (a.since ?? 0) - (b.since ?? 0))
    for (const job of line) {
      if (job.tokens.some((token) => this.#isFull(token))) continue
      this.#toReady(job, 'job.woken')
      Object.assign(job, { waitReason: 'token', held: [...job.tokens].sort() })
    }
  }

  #job(at: number): Inner {
    const job = this.jobs[at]
    if (!job) throw new Error(`The model has no job ${at}.`)
    return job
  }
}

const thrown: ReadonlySet<Ending> = new Set(['fail', 'failInDebt', 'retry'])

const isOver = (job: Inner): boolean => ['succeeded', 'failed', 'canceled'].includes(job.state)
