import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../../db/client.ts'
import { promoteHeldJobs } from '../../../db/queries/promote-held-jobs.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { mayForce, type OperationKind } from '../../../src/domain/operation/kinds.ts'
import { operationReasons } from '../../../src/domain/operation/reasons.ts'
import { DroverError } from '../../../src/errors.ts'
import { sweepDebts, sweepLeases } from '../../../src/ledger/sweeps.ts'
import { type AskedOperation, askOperation } from '../../../src/operation/ask-operation.ts'
import { cancelOperation } from '../../../src/operation/cancel-operation.ts'
import { tickOperations } from '../../../src/operation/ticks.ts'
import type { Handler } from '../../../workers/handler.ts'
import { createOperateMachine } from '../../../workers/handlers/operate-machine.ts'
import { createSettleDebt } from '../../../workers/handlers/settle-debt.ts'
import { LeaseKeeper } from '../../../workers/lease-keeper.ts'
import { Runner } from '../../../workers/runner.ts'
import { quietLog } from '../../support/events.ts'
import { expire, leaseMs } from '../../support/ledger.ts'
import { addMachine } from '../../support/machines.ts'
import { strictLog } from '../../support/strict-log.ts'
import { type Guest, ImaginedCloud } from './imagined-cloud.ts'
import { Dead, type Fate, Life, mortalDb } from './life.ts'

export interface Ask {
  readonly kind: OperationKind
  readonly force: boolean
  readonly onConflict: 'supersede' | 'queue' | 'reject'
}

export type Step =
  | { readonly do: 'ask'; readonly at: number; readonly asks: readonly Ask[] }
  /** Gives one up, or makes its time run out. */
  | { readonly do: 'cancel' | 'expire' | 'overrun'; readonly pick: number }
  /** A worker takes up a job that is open, and has its fate. */
  | { readonly do: 'work'; readonly pick: number; readonly fate: Fate; readonly patience: number }
  /** A frozen one goes on; `heard`: it has looked at its leases before. */
  | { readonly do: 'thaw'; readonly pick: number; readonly heard: boolean }
  /** Leases of the dead and the frozen end. */
  | { readonly do: 'lose' }
  | { readonly do: 'tick' | 'debts' | 'wake' }
  | { readonly do: 'come' | 'fill'; readonly at: number }
  | { readonly do: 'cut' | 'mend' | 'garble' }

interface Worker {
  readonly life: Life
  readonly keeper: LeaseKeeper
  readonly job: string
  readonly end: Promise<unknown>
}

export interface Setting {
  readonly power: 'on' | 'off'
  readonly guest: Guest
  readonly policy: string
}

const noFate: Fate = { diesAfter: null, freezesAfter: null }

/** Machines of an imagined cloud, the real rows and the real code, and processes that die and freeze. */
export class OperationWorld {
  readonly cloud = new ImaginedCloud()
  /** What was wrong at the moment it happened. */
  readonly broken: string[] = []
  readonly #db: Db
  readonly #target: SiteRow
  readonly #refs: string[] = []
  readonly #machines: string[] = []
  readonly #frozen: Worker[] = []
  #dice = 1

  constructor(db: Db, target: SiteRow) {
    this.#db = db
    this.#target = target
    this.cloud.patience = () => this.#throwDice()
    this.cloud.onAct = (name) => this.#judge(name)
  }

  async begin(settings: readonly Setting[]): Promise<void> {
    await this
      .#db`truncate operation, operation_end, machine, job, job_search, event, effect, token_hold, signal, warning`
    await this.#db`delete from watch.broken`
    for (const { power, guest, policy } of settings) {
      const ref = `vm-${this.#refs.length + 1}`
      this.#refs.push(ref)
      this.cloud.put(ref, power, guest)
      const given = { targetId: this.#target.id, ref, power, runPolicy: policy }
      this.#machines.push(await addMachine(this.#db, given))
    }
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'ask':
        await Promise.all(step.asks.map((ask) => this.#ask(step.at, ask)))
        return
      case 'cancel':
      case 'expire':
      case 'overrun':
        return this.#endOne(step.do, step.pick)
      case 'work': {
        const open = await this.#openJobs()
        const job = open[step.pick % Math.max(1, open.length)]
        this.#dice = step.patience
        if (job) await this.work(job, step.fate)
        return
      }
      case 'thaw':
        return this.#thaw(step.pick, step.heard)
      case 'lose':
        return this.#lose()
      case 'tick':
        await tickOperations(this.#db, strictLog)
        return
      case 'debts':
        await this.#db`update effect set next_try_at = now() where state = 'debt'`
        await sweepDebts(this.#db)
        return
      case 'wake':
        return this.#wake()
      case 'come':
        this.cloud.comeAbout(this.#ref(step.at))
        return
      case 'fill': {
        const machine = this.cloud.machines.get(this.#ref(step.at))
        if (machine) machine.full = !machine.full
        return
      }
      case 'cut':
      case 'mend':
        this.cloud.away = step.do === 'cut'
        return
      case 'garble':
        this.cloud.losesAnswer = true
    }
  }

  /** All that is wrong is put right; then everybody works until nothing is left to be done. */
  async settle(): Promise<void> {
    this.cloud.away = false
    this.cloud.losesAnswer = false
    for (const machine of this.cloud.machines.values()) machine.full = false
    for (let round = 0; round < 60; round += 1) {
      await this.#lose()
      while (this.#frozen.length > 0) await this.#thaw(round, round % 2 === 0)
      this.#dice = round * 7 + 1
      for (const ref of this.#refs) if (round % 2 === 1) this.cloud.comeAbout(ref)
      await tickOperations(this.#db, strictLog)
      await this.take({ do: 'debts' })
      await this.#wake()
      for (const job of await this.#openJobs()) await this.work(job, noFate)
      if ((await this.#isAtRest()) && round > 1) break
    }
    for (const ref of this.#refs) this.cloud.comeAbout(ref)
  }

  async work(job: { readonly id: string; readonly kind: string }, fate: Fate): Promise<void> {
    const life = new Life(fate)
    const db = mortalDb(this.#db, life)
    const use = <Result>(
      _site: SiteRow,
      work: (platform: ReturnType<ImaginedCloud['reachedBy']>) => Promise<Result>,
    ) => work(this.cloud.reachedBy(life))
    const operate = createOperateMachine({ db, use }) as Handler
    const undoers = new Map(Object.entries(operate.undoers ?? {}))
    const handlers = [operate, createSettleDebt(undoers) as Handler]
    const base = { workerId: uuidv7(), leaseMs, clock: life.clock, log: quietLog }
    const keeper = new LeaseKeeper({ ...base, db: this.#db })
    const runner = new Runner({
      ...{ ...base, db, keeper, undoers },
      handlers: new Map(handlers.map((handler) => [handler.kind.kind, handler])),
    })
    const [row] = await this.#db<
      { generation: number }[]
    >`select generation from job where id = ${job.id}::uuid`
    const end = runner
      .follow(job.kind, { id: job.id, generation: row?.generation ?? 1 })
      .catch((error: unknown) => {
        if (!(error instanceof Dead)) throw error
      })
    const worker = { life, keeper, job: job.id, end }
    const froze = await Promise.race([end.then(() => false), life.frozen.then(() => true)])
    if (froze) this.#frozen.push(worker)
  }

  async #ask(at: number, { kind, force, onConflict }: Ask): Promise<void> {
    const machineId = this.#machines[at % this.#machines.length] ?? ''
    try {
      const { operation, superseded } = (await this.#db.begin((tx) =>
        askOperation(tx, {
          ...{ machineId, kind, force: force && mayForce(kind), onConflict, params: {} },
          ...{ cause: 'person', by: 'test', deadlineSeconds: 20, waitSeconds: 3_600 },
        }),
      )) as AskedOperation
      if (superseded && onConflict !== 'supersede') this.broken.push(`${operation.id} was not to supersede`)
      if (superseded && superseded.supersededBy !== operation.id)
        this.broken.push(`${superseded.id} does not say who took its place`)
    } catch (error) {
      if (!(error instanceof DroverError) || !Object.hasOwn(operationReasons, error.code)) throw error
    }
  }

  async #endOne(how: 'cancel' | 'expire' | 'overrun', pick: number): Promise<void> {
    const rows = await this.#db<{ id: string }[]>`
      select id from operation where state in ('queued', 'pending', 'running') order by id`
    const id = rows[pick % Math.max(1, rows.length)]?.id
    if (id === undefined) return
    if (how === 'expire') await this.#db`update operation set expires_at = now() where id = ${id}::uuid`
    // The watch is for the code's own writes; time that passes is not one of them.
    if (how === 'overrun')
      await this.#db.begin(async (tx) => {
        await tx`set local session_replication_role = replica`
        await tx`update operation set deadline_at = now() where id = ${id}::uuid and deadline_at is not null`
      })
    if (how !== 'cancel') return
    await this.#db
      .begin((tx) => cancelOperation(tx, { id, by: 'test' }))
      .catch((error: unknown) => {
        if (!(error instanceof DroverError)) throw error
      })
  }

  async #thaw(pick: number, heard: boolean): Promise<void> {
    const at = pick % Math.max(1, this.#frozen.length)
    const [worker] = this.#frozen.splice(at, 1)
    if (!worker) return
    if (heard) {
      await worker.keeper.beat()
      await worker.keeper.pollCancels()
    }
    worker.life.thaw()
    await worker.end
  }

  /** Whoever is dead or frozen has lost its leases, and the frozen know by their clock. */
  async #lose(): Promise<void> {
    const jobs = await this.#db<{ id: string }[]>`select id from job where state = 'running'`
    await expire(this.#db, ...jobs.map(({ id }) => id))
    for (const { life } of this.#frozen) life.sleep(leaseMs)
    await sweepLeases(this.#db)
  }

  /** Pauses and waits are over. */
  async #wake(): Promise<void> {
    await this.#db`update job set run_after = now() - interval '1 second' where state = 'ready'`
    await promoteHeldJobs(this.#db, 100)
    await this.#db`
      with late as (select id from job where state = 'waiting'), woken as (
        update job j set state = 'ready', bell = 'due', run_after = now(), wait_until = null, wait_signal = null,
          wait_since = null, wait_reason = null from late l where j.id = l.id returning j.id, j.subject_type, j.subject_id
      )
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason)
      select 'job.woken', subject_type, subject_id, id, 'test', 'waiting', 'ready', 'test' from woken`
  }

  #openJobs() {
    return this.#db<
      { id: string; kind: string }[]
    >`select id, kind from job where state = 'ready' and bell <> 'held' order by id`
  }

  async #isAtRest(): Promise<boolean> {
    const [row] = await this.#db<{ left: number }[]>`
      select ((select count(*) from operation where settled_at is null)
        + (select count(*) from job where finished_at is null)
        + (select count(*) from effect where state = 'debt'))::int as left`
    return row?.left === 0
  }

  /** Whoever acts holds the lease of an operation that is at its machine, or is about to hear otherwise. */
  async #judge(name: string): Promise<void> {
    const jobId = name.slice(0, 36)
    const [row] = await this.#db<{ id: string; kind: string; why: string | null }[]>`
      select o.id, o.kind, case when o.settled_at is not null then 'it was settled'
        when j.state <> 'running' then 'its job was ' || j.state
        when exists (select from operation older where older.machine_id = o.machine_id and older.id <> o.id
          and older.finished_at is not null and older.settled_at is null and older.id < o.id) then 'an older one had not settled'
        end as why
      from operation o join job j on j.id = o.job_id where o.job_id = ${jobId}::uuid`
    if (!row || row.why !== null)
      this.broken.push(`${row?.kind} ${row?.id} acted, and ${row?.why ?? 'is not there'}`)
  }

  #throwDice(): boolean {
    this.#dice = (Math.imul(this.#dice, 1_103_515_245) + 12_345) & 0x7fffffff
    return (this.#dice >> 8) % 2 === 0
  }

  #ref(at: number): string {
    return this.#refs[at % this.#refs.length] ?? ''
  }
}
