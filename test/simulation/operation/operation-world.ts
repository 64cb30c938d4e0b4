import type { Db } from '../../../db/client.ts'
import { promoteHeldJobs } from '../../../db/queries/tokens/promote-held-jobs.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { RunPolicy } from '../../../src/domain/operation/kinds/applicability.ts'
import { sweepDebts } from '../../../src/ledger/conductor/sweeps.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { addMachine } from '../../support/machines.ts'
import { strictLog } from '../../support/strict-log.ts'
import { type Ask, askFor, giveUp } from './asks.ts'
import type { Guest } from './cloud-things.ts'
import { ImaginedCloud } from './imagined-cloud.ts'
import { checkEvacuations, judgeCall, judgeReturns } from './judge.ts'
import type { Fate } from './life.ts'
import { Processes } from './processes.ts'

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
  /** Of a host: it dies with all that runs on it or is there again, it has no room or has some. */
  | { readonly do: 'crash' | 'crowd'; readonly at: number }
  | { readonly do: 'cut' | 'mend' | 'garble' }

export interface Setting {
  readonly power: 'on' | 'off' | 'hibernated'
  readonly guest: Guest
  /** It writes faster than is copied. */
  readonly stalls: boolean
  readonly policy: RunPolicy
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
  readonly #processes: Processes
  /** Operations of evacuations that a person does not want. */
  readonly #givenUp: string[] = []
  #dice = 1

  constructor(db: Db, target: SiteRow) {
    this.#db = db
    this.#target = target
    this.#processes = new Processes(db, this.cloud)
    this.cloud.patience = () => this.#throwDice()
    this.cloud.onAct = (name, ref) => this.#judge(name, ref)
  }

  async begin(settings: readonly Setting[]): Promise<void> {
    await this
      .#db`truncate operation, operation_end, machine, job, job_search, event, effect, token_hold, signal, warning`
    await this.#db`delete from watch.broken`
    for (const setting of settings) {
      const ref = `vm-${this.#refs.length + 1}`
      const power = setting.power === 'on' ? 'on' : 'off'
      const { guest, stalls } = setting
      const { state } = this.cloud
      this.#refs.push(ref)
      state.put(ref, { power, guest, stalls })
      const savedState = setting.power === 'hibernated' ? state.save(ref) : null
      const given = { targetId: this.#target.id, ref, power, savedState, runPolicy: setting.policy } as const
      this.#machines.push(await addMachine(this.#db, given))
    }
  }

  async take(step: Step): Promise<void> {
    await this.#do(step)
    this.broken.push(...(await judgeReturns(this.#db, this.cloud.state.tasks)))
  }

  async #do(step: Step): Promise<void> {
    switch (step.do) {
      case 'ask':
        return this.#ask(step.at, step.asks)
      case 'cancel':
      case 'expire':
      case 'overrun':
        return this.#endOne(step.do, step.pick)
      case 'work': {
        const open = await this.#openJobs()
        const job = open[step.pick % Math.max(1, open.length)]
        this.#dice = step.patience
        if (job) await this.#processes.work(job, step.fate)
        return
      }
      case 'thaw':
        return this.#processes.thaw(step.pick, step.heard)
      case 'lose':
        return this.#processes.lose()
      case 'tick':
        await tickOperations(this.#db, strictLog)
        return
      case 'debts':
        await this.#db`update effect set next_try_at = now() - interval '1 second' where state = 'debt'`
        await sweepDebts(this.#db)
        return
      case 'wake':
        return this.#wake()
      case 'come':
        this.cloud.comeAbout(this.#ref(step.at))
        return
      case 'fill':
      case 'crash':
      case 'crowd':
        return this.#trouble(step.do, step.at)
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
    const { state } = this.cloud
    this.cloud.away = false
    this.cloud.losesAnswer = false
    for (const machine of state.machines.values()) Object.assign(machine, { full: false, stalls: false })
    for (const host of state.hosts.values()) Object.assign(host, { full: false, dead: false })
    for (let round = 0; round < 60; round += 1) {
      await this.#processes.lose()
      while (this.#processes.frozen > 0) await this.#processes.thaw(round, round % 2 === 0)
      this.#dice = round * 7 + 1
      for (const ref of this.#refs) if (round % 2 === 1) this.cloud.comeAbout(ref)
      await tickOperations(this.#db, strictLog)
      await this.take({ do: 'debts' })
      await this.#wake()
      for (const job of await this.#openJobs()) await this.#processes.work(job, noFate)
      if ((await this.#isAtRest()) && round > 1) break
      // Whoever has started a machine that its host took down at once waits for it until its time is over.
      if (round === 30 && state.crashes > 0) await this.#overrun()
    }
    for (const ref of this.#refs) this.cloud.comeAbout(ref)
    this.broken.push(...state.broken, ...(await checkEvacuations(this.#db, this.#givenUp)))
  }

  async #ask(at: number, asks: readonly Ask[]): Promise<void> {
    const machineId = this.#machines[at % this.#machines.length] ?? ''
    const wrong = await Promise.all(asks.map((ask) => askFor(this.#db, machineId, ask)))
    this.broken.push(...wrong.flat())
  }

  #trouble(what: 'fill' | 'crash' | 'crowd', at: number): void {
    const { state } = this.cloud
    const host = `node-${(at % 3) + 1}`
    const there = state.hosts.get(host)
    if (what === 'fill') {
      const machine = state.machine(this.#ref(at))
      machine.full = !machine.full
    } else if (what === 'crowd') Object.assign(there ?? {}, { full: !there?.full })
    else if (there?.dead) there.dead = false
    else state.crash(host)
  }

  async #endOne(how: 'cancel' | 'expire' | 'overrun', pick: number): Promise<void> {
    const rows = await this.#db<{ id: string; cause: string }[]>`
      select id, cause from operation
      where state in ('queued', 'pending', 'running') or ${how === 'cancel'} and come_back_at is not null order by id`
    const one = rows[pick % Math.max(1, rows.length)]
    if (one === undefined) return
    const { id, cause } = one
    if (how === 'expire') await this.#db`update operation set expires_at = now() where id = ${id}::uuid`
    if (how === 'overrun') await this.#overrun(id)
    if (how === 'cancel' && (await giveUp(this.#db, id)) && cause === 'evacuation') this.#givenUp.push(id)
  }

  /** The deadline of that one, or of all, has come. */
  async #overrun(id: string | null = null): Promise<void> {
    await this.#db.begin(async (tx) => {
      // The watch is for the code's own writes; time that passes is not one of them.
      await tx`set local session_replication_role = replica`
      await tx`
        update operation set deadline_at = now()
        where (id = ${id}::uuid or ${id === null}) and deadline_at is not null and finished_at is null`
    })
  }

  /** Pauses and waits are over. */
  async #wake(): Promise<void> {
    await this.#db`update job set run_after = now() - interval '1 second' where state = 'ready'`
    await this.#db`update operation set come_back_at = now() - interval '1 second' where come_back_at > now()`
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
        + (select count(*) from effect where state = 'debt')
        + (select count(*) from operation o join machine m on m.id = o.machine_id
           where o.come_back_at is not null and m.power = 'on' and m.host = o.leaves))::int as left`
    return row?.left === 0
  }

  async #judge(name: string, ref: string): Promise<void> {
    const wrong = await judgeCall(this.#db, name)
    if (wrong !== null) this.broken.push(wrong)
    const other = this.cloud.state.running(ref)
    if (other && !name.includes('/undo/') && other.name.slice(0, 36) !== name.slice(0, 36))
      this.broken.push(`${name} acted, and ${other.kind} ${other.name} was under way`)
  }

  #throwDice(): boolean {
    this.#dice = (Math.imul(this.#dice, 1_103_515_245) + 12_345) & 0x7fffffff
    return (this.#dice >> 8) % 2 === 0
  }

  #ref(at: number): string {
    return this.#refs[at % this.#refs.length] ?? ''
  }
}
