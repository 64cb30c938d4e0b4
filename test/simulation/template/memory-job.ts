import type { EffectRow } from '../../../db/schema/effect.ts'
import { closeIntent } from '../../../src/domain/job/ends.ts'
import { asDroverError, DroverError, FencedError } from '../../../src/errors.ts'
import type { EffectResult, EffectSpec } from '../../../src/ledger/effects.ts'
import type { Handler, JobContext, Outcome, UsePlatform } from '../../../src/ledger/job.ts'
import { quietLog } from '../../support/events.ts'
import { Dead, type Life } from '../operation/life.ts'
import type { MemoryEffect, MemoryJob, MemoryRows } from './memory-rows.ts'

interface TurnOptions {
  readonly memory: MemoryRows
  readonly job: MemoryJob
  readonly handler: Handler
  readonly life: Life
  readonly usePlatform: UsePlatform
}

/** So many tries of a job may fail. */
const triesMost = 6

/** One turn of a job by the product's handler, over rows in memory, with the meaning of the real ledger and worker. */
export class MemoryTurn {
  readonly #options: TurnOptions
  readonly #epoch: number
  readonly #jobId: string
  readonly #db: { readonly pass: () => void }

  constructor(options: TurnOptions) {
    this.#options = options
    const { job, life } = options
    job.epoch += 1
    job.state = 'running'
    this.#epoch = job.epoch
    this.#jobId = job.id
    this.#db = { pass: () => life.pass() }
  }

  async run(): Promise<void> {
    try {
      const { handler } = this.#options
      if (this.#job.cancelRequested) return await this.#giveUp('canceled')
      let outcome: Outcome
      try {
        outcome = await handler.run(this.#context())
      } catch (error) {
        return await this.#fail(error)
      }
      await this.#end(outcome)
    } catch (error) {
      if (!(error instanceof Dead) && !(error instanceof FencedError)) throw error
    }
  }

  /** Tries a debt of an ended job once. */
  async settle(effect: MemoryEffect): Promise<void> {
    await this.#undo(effect.id).catch((error: unknown) => {
      if (!(error instanceof Dead)) throw error
    })
  }

  get #job(): MemoryJob {
    return this.#options.memory.job(this.#jobId)
  }

  #effect(id: string): MemoryEffect {
    const found = this.#options.memory.tables.effects.find((one) => one.id === id)
    if (!found) throw new Error(`No effect ${id}.`)
    return found
  }

  #holds(): boolean {
    return this.#job.epoch === this.#epoch && this.#job.state === 'running'
  }

  /** By the clock of the process, which has run on while it stood still. */
  #confirm = (): void => {
    this.#options.life.pass()
    if (!this.#holds()) throw new FencedError(this.#jobId, this.#epoch)
  }

  #transaction = async <Value>(change: (tx: never) => Promise<Value>, ends?: 'ends'): Promise<Value> => {
    const { memory, life } = this.#options
    await life.rest()
    const value = await memory.atomically(async () => {
      if (ends && !this.#holds()) throw new FencedError(this.#jobId, this.#epoch)
      const done = await change(this.#db as never)
      life.pass()
      if (!ends && !this.#holds()) throw new FencedError(this.#jobId, this.#epoch)
      return done
    })
    await life.rest()
    return value
  }

  #fencedFirst = <Value>(change: (tx: never) => Promise<Value>): Promise<Value> =>
    this.#transaction(async (tx) => {
      if (!this.#holds()) throw new FencedError(this.#jobId, this.#epoch)
      return change(tx)
    })

  #checkpoint = async (state: Record<string, unknown>): Promise<void> => {
    await this.#transaction(async () => {
      this.#job.checkpoint = structuredClone(state)
    })
  }

  #context(): JobContext {
    const { life, usePlatform, job } = this.#options
    const checkpointed = () => this.#job.checkpoint
    return {
      job: {
        ...{ id: job.id, kind: 'swap-template', subjectType: 'template', subjectId: job.templateId },
        ...{ lane: null, tokens: [], leaseEpoch: this.#epoch },
      },
      payload: { template_id: job.templateId },
      db: this.#db,
      clock: life.clock,
      log: quietLog,
      signal: new AbortController().signal,
      safePoint: () => life.pass(),
      pace: async () => life.pass(),
      get checkpointed() {
        return checkpointed()
      },
      checkpoint: this.#checkpoint,
      progress: () => undefined,
      transaction: this.#fencedFirst,
      lateFencedTransaction: this.#transaction,
      effect: this.#perform,
      confirm: this.#confirm,
      usePlatform,
    } as unknown as JobContext
  }

  #perform = async (spec: EffectSpec): Promise<EffectResult> => {
    const { memory, life } = this.#options
    const signal = new AbortController().signal
    const { id, isNew } = await this.#transaction(async () => this.#intend(spec))
    if (this.#effect(id).state === 'done')
      return { id, externalId: this.#effect(id).externalId, adopted: true }
    const record = (externalId: string | null, adopted: boolean) =>
      this.#transaction(async () => {
        Object.assign(this.#effect(id), { state: 'done', externalId })
        return { id, externalId, adopted }
      })
    if (!isNew) {
      const seen = await spec.observe(signal)
      if (seen.found) return record(seen.externalId ?? null, true)
    }
    this.#confirm()
    const done = await spec.act(signal).catch(async (thrown: unknown) => {
      if (isNew && thrown instanceof DroverError && thrown.cameToNothing)
        await memory.atomically(async () => {
          if (this.#holds()) this.#effect(id).refused = true
        })
      throw thrown
    })
    await life.rest()
    return record(done?.externalId ?? null, false)
  }

  #intend({ kind, platform, name, undo, checkpoint }: EffectSpec): { id: string; isNew: boolean } {
    const { memory } = this.#options
    if (checkpoint) this.#job.checkpoint = structuredClone(checkpoint)
    const { effects } = memory.tables
    const known = effects.find((one) => one.jobId === this.#jobId && one.kind === kind && one.name === name)
    const id = memory.id('effect')
    if (!known) {
      const fresh = { state: 'intended', externalId: null, attempts: 0, refused: false } as const
      effects.push({ id, jobId: this.#jobId, kind, platform, name, undo, epoch: this.#epoch, ...fresh })
      return { id, isNew: true }
    }
    const anew = known.state === 'undone'
    if (known.state !== 'done') Object.assign(known, { state: 'intended', refused: false })
    if (anew) Object.assign(known, { undo, externalId: null, id })
    return { id: known.id, isNew: anew }
  }

  async #end(outcome: Outcome): Promise<void> {
    await this.#transaction(async (tx) => {
      if (outcome.type !== 'release') {
        await outcome.lock?.(tx)
        await outcome.change?.(tx)
      }
      if (outcome.type === 'done') this.#closeIntents()
      this.#job.state = outcome.type === 'done' ? 'succeeded' : 'ready'
    }, 'ends')
  }

  #closeIntents(): void {
    for (const effect of this.#options.memory.tables.effects)
      if (effect.jobId === this.#jobId && effect.state === 'intended')
        effect.state = closeIntent({ hasUndo: effect.undo !== null, refused: effect.refused }).to
  }

  async #fail(thrown: unknown): Promise<void> {
    if (thrown instanceof Dead || thrown instanceof FencedError) throw thrown
    const error = asDroverError(thrown)
    if (error.class === 'bug') throw thrown
    if (!this.#holds()) throw new FencedError(this.#jobId, this.#epoch)
    const passes = error.class === 'transient' || error.class === 'environment'
    this.#job.failures += 1
    if (passes && this.#job.failures < triesMost) this.#job.state = 'ready'
    else await this.#giveUp('failed', error.message)
  }

  /** Undoes what the job has outside, the latest first. */
  async #giveUp(as: 'failed' | 'canceled', error: string | null = null): Promise<void> {
    const { effects } = this.#options.memory.tables
    const mine = effects.filter(
      ({ jobId, state }) => jobId === this.#jobId && (state === 'intended' || state === 'done'),
    )
    for (const { id } of mine.reverse()) await this.#undo(id)
    await this.#transaction(async () => {
      this.#closeIntents()
      Object.assign(this.#job, { state: as, error })
    }, 'ends')
  }

  async #undo(id: string): Promise<void> {
    const { handler, life, usePlatform, memory } = this.#options
    await this.#transaction(async () => {
      const effect = this.#effect(id)
      if (effect.state === 'done') effect.state = 'intended'
      memory.job(effect.jobId).checkpoint = null
    })
    const effect = this.#effect(id)
    try {
      if (effect.undo !== null)
        await handler.undoers?.[effect.kind]?.({
          effect: structuredClone(effect) as unknown as EffectRow,
          db: this.#db as never,
          clock: life.clock,
          signal: new AbortController().signal,
          confirm: this.#confirm,
          fenced: (change) => this.#transaction(change),
          usePlatform,
        })
      await this.#transaction(async () => {
        this.#effect(id).state = 'undone'
      })
    } catch (error) {
      if (error instanceof Dead || error instanceof FencedError) throw error
      if (asDroverError(error).class === 'bug') throw error
      await this.#transaction(async () => {
        const owed = this.#effect(id)
        Object.assign(owed, { state: 'debt', attempts: owed.attempts + 1 })
      })
    }
  }
}
