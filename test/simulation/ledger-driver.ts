import type { Db } from '../../db/client.ts'
import { markRung } from '../../db/queries/bell/mark-rung.ts'
import { unringAll } from '../../db/queries/bell/unring-all.ts'
import type { ClaimedJob } from '../../db/queries/leases/claim-jobs.ts'
import { heartbeatJobs } from '../../db/queries/leases/heartbeat-jobs.ts'
import { wakeTimedOutWaits } from '../../db/queries/leases/wake-timed-out-waits.ts'
import { writeLimit } from '../../db/queries/tokens/limits.ts'
import { promoteHeldJobs } from '../../db/queries/tokens/promote-held-jobs.ts'
import { DroverError, FencedError } from '../../src/errors.ts'
import { sweepDeadlines, sweepLeases } from '../../src/ledger/conductor/sweeps.ts'
import { done, ReleaseRequest, waitFor } from '../../src/ledger/job.ts'
import { lapseReservations, readmitAll } from '../../src/ledger/jobs/admission.ts'
import { pauseWork, resumeWork } from '../../src/ledger/jobs/pause.ts'
import { sendSignalNow } from '../../src/ledger/jobs/signals.ts'
import type { Ending as TurnEnding } from '../../workers/end-turn.ts'
import { addOne, claim, contextOf, effectsOf, end, expire, jobOf } from '../support/ledger.ts'
import { redrive, requestCancel, waiveEffect } from '../support/ledger-verbs.ts'
import type { Ending, HolderStep, JobStep, LedgerModel, ModelJob, Step } from './ledger-model.ts'

const by = { by: 'test', reason: 'test' }
const error = (errorClass: 'environment' | 'permanent') =>
  new DroverError({ code: 'test', class: errorClass, message: 'Test.', remedy: 'None.' })
const forMs = 3_600_000

const endings: Readonly<Record<Ending, () => TurnEnding>> = {
  succeed: () => done(),
  fail: () => ({ type: 'thrown', thrown: error('permanent') }),
  failInDebt: () => ({ type: 'thrown', thrown: error('permanent') }),
  retry: () => ({ type: 'thrown', thrown: error('environment') }),
  waitA: () => waitFor({ reason: 'test', detail: 'waits for a', forMs, signal: 'a' }),
  waitB: () => waitFor({ reason: 'test', detail: 'waits for b', forMs, signal: 'b' }),
  release: () => ({
    type: 'thrown',
    thrown: new ReleaseRequest({ reason: 'worker-drains', detail: 'It drains.' }),
  }),
  cancel: () => ({ type: 'canceled' }),
}

interface Claim {
  readonly at: number
  readonly job: ClaimedJob
}

/** Does every step on Postgres and on the model, and says where their answers differ. */
export class LedgerDriver {
  readonly #db: Db
  readonly #model: LedgerModel
  readonly #ids: string[] = []
  /** Every claim that was ever given out: most of them are zombies. */
  readonly #claims: Claim[] = []

  constructor(db: Db, model: LedgerModel) {
    this.#db = db
    this.#model = model
  }

  /** Gives what both answered, as text. */
  async take(step: Step): Promise<{ real: string; model: string }> {
    const moment = this.#model.tick()
    const answer = await this.#take(step)
    await this.#setClocks(moment)
    return answer
  }

  /** Everything the model knows, read from Postgres. */
  async read(): Promise<ModelJob[]> {
    const rows = await this.#db<(ModelJob & { id: string })[]>`
      select j.id, j.state, case when j.state = 'ready' then j.bell end as bell, j.generation, j.lease_epoch as epoch,
        j.environment_attempt, j.lost, j.cancel_requested_at is not null as cancel_requested,
        case when j.state = 'waiting' then j.wait_reason end as wait_reason,
        (select e.state from effect e where e.job_id = j.id) as effect,
        array(select token from token_hold h where h.job_id = j.id order by token) as held,
        array(select type || ' ' || coalesce(from_state, '') || '>' || to_state from event e
              where e.job_id = j.id and type like 'job.%' order by e.xid, e.id) as story
      from job j`
    const byId = new Map(rows.map(({ id, ...job }) => [id, job]))
    return this.#ids.map((id) => byId.get(id) ?? fail(`Job ${id} is gone.`))
  }

  /** The stored moments become logical ones: nothing hangs on how fast the machine is. */
  async #setClocks(moment: number): Promise<void> {
    const logical = this.#db`(timestamptz '2001-01-01' + ${moment}::int * interval '1 second')`
    const fresh = this.#db`> timestamptz '2010-01-01'`
    await this.#db`
      with signals as (update signal set at = ${logical} where at ${fresh})
      update job set
        claimed_at = case when claimed_at ${fresh} then ${logical} else claimed_at end,
        wait_since = case when wait_since ${fresh} then ${logical} else wait_since end,
        run_after = case when state = 'ready' and bell = 'held' then now() + interval '1 hour' else run_after end
      where claimed_at ${fresh} or wait_since ${fresh} or (state = 'ready' and bell = 'held')`
  }

  async #take(step: Step): Promise<{ real: string; model: string }> {
    switch (step.verb) {
      case 'enqueue':
        return this.#enqueue({ tokens: step.tokens, lane: step.lane, priority: step.priority })
      case 'enqueueKey':
        return this.#enqueue({ tokens: [], lane: 'one', priority: 0, key: step.key, steps: step.steps })
      case 'finish':
      case 'effect':
      case 'heartbeat':
      case 'checkpoint':
        return this.#asHolder(step)
      case 'pause':
        await pauseWork(this.#db, { scope: 'lane', name: step.lane, ...by })
        this.#model.pause(step.lane)
        return same
      case 'resume':
        await resumeWork(this.#db, { scope: 'lane', name: step.lane, by: 'test' })
        this.#model.resume(step.lane)
        return same
      case 'signal': {
        const real = await sendSignalNow(this.#db, step.name, 'test')
        return { real: `woke ${real}`, model: `woke ${this.#model.signal(step.name)}` }
      }
      case 'limit':
        await this.#db.begin((tx) =>
          writeLimit(tx, { name: step.token, capacity: step.capacity, by: 'test' }),
        )
        await readmitAll(this.#db)
        this.#model.limit(step.token, step.capacity)
        return same
      case 'lapse':
        await lapseReservations(this.#db, -1_000)
        this.#model.lapse()
        return same
      case 'flush':
        await unringAll(this.#db)
        this.#model.flush()
        return same
      case 'claim':
      case 'cancel':
      case 'redrive':
      case 'expire':
      case 'deadline':
      case 'timeOut':
      case 'makeDue':
      case 'ring':
      case 'waive':
        return this.#onJob(step)
    }
  }

  async #enqueue(asked: {
    tokens: readonly string[]
    lane: string
    priority: number
    key?: string
    steps?: number
  }) {
    const model = this.#model.enqueue(asked)
    const { tokens, lane, priority, key, steps = 0 } = asked
    const job = { tokens: [...tokens], lane, priority, payload: { steps } }
    const id = await addOne(this.#db, {
      ...job,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    }).catch((thrown: unknown) => {
      if (thrown instanceof DroverError && thrown.code === 'idempotency-mismatch') return undefined
      throw thrown
    })
    if (id === undefined) return { real: 'mismatch', model }
    const known = this.#ids.indexOf(id)
    if (known === -1) this.#ids.push(id)
    return { real: known === -1 ? `new ${this.#ids.length - 1}` : `same ${known}`, model }
  }

  async #onJob(step: JobStep): Promise<{ real: string; model: string }> {
    if (this.#ids.length === 0) return same
    const at = step.pick % this.#ids.length
    const id = this.#ids[at] ?? ''
    const db = this.#db
    switch (step.verb) {
      case 'claim': {
        const job = await claim(db, id, { generation: (await jobOf(db, id)).generation })
        if (job) this.#claims.push({ at, job })
        return { real: job ? `claimed ${job.leaseEpoch}` : 'not-ours', model: this.#model.claim(at) }
      }
      case 'cancel':
        return { real: (await requestCancel(db, id, by)).outcome, model: this.#model.cancel(at) }
      case 'redrive':
        return { real: (await redrive(db, id, by)).outcome, model: this.#model.redrive(at) }
      case 'expire':
        await expire(db, id)
        await sweepLeases(db)
        this.#model.expire(at)
        return same
      case 'deadline':
        await db`update job set deadline = now() - interval '1 second' where id = ${id}::uuid and finished_at is null`
        await sweepDeadlines(db, 0)
        this.#model.deadline(at)
        return same
      case 'timeOut':
        await db`update job set wait_until = now() - interval '1 second' where id = ${id}::uuid and state = 'waiting'`
        await wakeTimedOutWaits(db, 100)
        this.#model.timeOut(at)
        return same
      case 'makeDue':
        await db`update job set run_after = now() - interval '1 second' where id = ${id}::uuid and bell = 'held'`
        await promoteHeldJobs(db, 100)
        this.#model.makeDue(at)
        return same
      case 'ring':
        await markRung(db, [{ id, publish: (await jobOf(db, id)).publish }])
        this.#model.ring(at)
        return same
      case 'waive': {
        const [effect] = await effectsOf(db, id)
        const real = effect ? await waiveEffect(db, effect.id, by) : false
        return { real: `waived ${real}`, model: `waived ${this.#model.waive(at)}` }
      }
    }
  }

  /** What somebody does who once got a claim: it works for the holder and never for a zombie. */
  async #asHolder(step: HolderStep): Promise<{ real: string; model: string }> {
    const held = this.#claims[step.pick % Math.max(1, this.#claims.length)]
    if (!held) return same
    const { at, job } = held
    const holds = this.#model.holds(at, job.leaseEpoch)
    const real = await this.#act(step, job).then(
      () => 'accepted',
      (thrown: unknown) => {
        if (thrown instanceof FencedError) return 'fenced'
        throw thrown
      },
    )
    if (holds && step.verb === 'finish') this.#model.finish(at, step.how)
    if (holds && step.verb === 'effect') this.#model.effect(at)
    if (holds && step.verb === 'checkpoint') this.#model.checkpoint(at)
    return { real, model: holds ? 'accepted' : 'fenced' }
  }

  async #act(step: HolderStep, job: ClaimedJob): Promise<void> {
    const ctx = contextOf(this.#db, job)
    if (step.verb === 'checkpoint') return ctx.checkpoint({ epoch: job.leaseEpoch })
    if (step.verb === 'effect') {
      await ctx.effect({
        kind: 'thing',
        platform: 'memory',
        name: 'thing',
        undo: {},
        observe: () => Promise.resolve({ found: false }),
        act: () => Promise.resolve(undefined),
      })
      return
    }
    if (step.verb === 'finish') {
      const broken = step.how === 'failInDebt'
      const undo = () => (broken ? Promise.reject(error('environment')) : Promise.resolve())
      await end(this.#db, job, endings[step.how](), { ctx, undoers: new Map([['thing', undo]]) })
      return
    }
    const [answer] = await heartbeatJobs(
      this.#db,
      [{ id: job.id, epoch: job.leaseEpoch, progress: null }],
      60_000,
    )
    if (!answer) throw new FencedError(job.id, job.leaseEpoch)
  }
}

/** For verbs that answer nothing: what they did shows in the ledger. */
const same = { real: 'done', model: 'done' } as const

const fail = (message: string): never => {
  throw new Error(message)
}
