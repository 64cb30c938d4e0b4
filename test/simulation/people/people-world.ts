import type { Db } from '../../../db/client.ts'
import { unringAll } from '../../../db/queries/unring-all.ts'
import { wakeTimedOutWaits } from '../../../db/queries/wake-timed-out-waits.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { readmitAll } from '../../../src/ledger/admission.ts'
import { sweepDebts } from '../../../src/ledger/sweeps.ts'
import { failBatches, finishBatches } from '../../../src/migration/end-batches.ts'
import { tickOperations } from '../../../src/operation/ticks.ts'
import { type Client, sealer } from '../../api/setup.ts'
import { lookNow } from '../../support/drive-entry.ts'
import { makeSite } from '../../support/inventory.ts'
import { strictLog } from '../../support/strict-log.ts'
import type { Fate } from '../operation/life.ts'
import { Estate, type EstateMachine } from './estate.ts'
import { type Deed, type NewBatch, People } from './people.ts'
import { type Mode, Place, type Slip } from './place.ts'
import { Staff } from './staff.ts'

export type Step =
  | Deed
  /** A worker follows a bell, and has its fate. */
  | { readonly do: 'work'; readonly at: number; readonly fate: Fate }
  /** Everybody does what there is to do, so many times. */
  | { readonly do: 'rounds'; readonly times: number }
  | { readonly do: 'trouble'; readonly at: number; readonly mode: Mode }
  | { readonly do: 'slip'; readonly at: number; readonly slip: Slip }
  | { readonly do: 'come' | 'write' | 'time-out'; readonly at: number }
  | { readonly do: 'thaw'; readonly heard: boolean }
  | { readonly do: 'lose' | 'pass' }

/** Which machines there are at each of the two sources, and where their batches lead. */
export interface Setting {
  readonly east: readonly Pick<EstateMachine, 'power' | 'guest'>[]
  readonly west: readonly Pick<EstateMachine, 'power' | 'guest'>[]
  /** Both batches lead to one target. */
  readonly shared: boolean
}

/** The places of all sites, in the order of their names. */
const sitesInOrder = ['cloud', 'cloud-2', 'east', 'east', 'west'] as const
/** Enough for a whole journey of each machine, with a few setbacks. */
const hangingRounds = 30
const settlingRounds = 80
const turnsMost = 60
const noFate: Fate = { diesAfter: null, freezesAfter: null }
/** Of each kind. Fewer than three could not leave room at a platform that two others share: the last is for what shares nothing. */
const slots = 4

/** Two sources, two targets and people: `east` is registered as a target as well, so that its machines can be operated. */
export class PeopleWorld {
  readonly estate = new Estate()
  readonly places: ReadonlyMap<string, Place>
  readonly people: People
  readonly db: Db
  readonly #staff: Staff

  constructor(db: Db, ask: Client, { shared }: Pick<Setting, 'shared'>) {
    this.db = db
    this.places = new Map(
      ['east', 'west', 'cloud', 'cloud-2'].map((name) => [name, new Place(name, this.estate)]),
    )
    const batches: NewBatch[] = [
      { name: 'wave-east', source: 'east', target: 'cloud' },
      { name: 'wave-west', source: 'west', target: shared ? 'cloud' : 'cloud-2' },
    ]
    this.people = new People(db, ask, batches)
    this.#staff = new Staff({ db, sealer, slots, placeOf: (site) => this.placeOf(site) })
  }

  placeOf({ endpoint }: Pick<SiteRow, 'endpoint'>): Place {
    const place = this.places.get(new URL(endpoint).hostname)
    if (!place) throw new Error(`There is nothing at ${endpoint}.`)
    return place
  }

  /** All is read in, and both batches are defined and started. */
  async begin({ east, west }: Pick<Setting, 'east' | 'west'>): Promise<void> {
    for (const [nth, machine] of east.entries()) this.estate.put('east', nth + 1, machine)
    for (const [nth, machine] of west.entries()) this.estate.put('west', nth + 11, machine)
    await this.#empty()
    await this.#staff.enlist()
    const sites = [
      ...(['east', 'west'] as const).map((name) => ({ name, at: name, role: 'source' as const })),
      ...(['cloud', 'cloud-2'] as const).map((name) => ({ name, at: name, role: 'target' as const })),
      { name: 'east-operated', at: 'east', role: 'target' as const },
    ]
    for (const { name, at, role } of sites) {
      const given = { name, role, sealer, endpoint: `http://${at}`, connectivity: 'ok', quiet: true }
      const { id } = await makeSite(this.db, given)
      await this.db`
        update site set identity = ${JSON.stringify({ instance_id: at })}::text::jsonb where id = ${id}::uuid`
    }
    for (const at of sites.keys()) await this.take({ do: 'sync', at })
    await this.take({ do: 'rounds', times: 1 })
    for (const at of [0, 1]) await this.take({ do: 'batch', verb: 'define', at })
    await this.take({ do: 'rounds', times: 2 })
    for (const at of [0, 1]) await this.take({ do: 'batch', verb: 'start', at })
    this.people.said.length = 0
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'work': {
        const rings = await this.#staff.ring()
        const ring = rings[step.at % Math.max(1, rings.length)]
        return ring && this.#staff.work(ring, step.fate)
      }
      case 'rounds':
        for (let round = 0; round < step.times; round += 1) await this.round()
        return
      case 'trouble':
        this.#place(step.at).mode = step.mode
        return this.#staff.heed()
      case 'slip':
        this.#place(step.at).slip = step.slip
        return
      case 'come':
        return this.#place(step.at).comeAbout()
      case 'write': {
        const running = [...this.estate.machines.values()].filter(({ power }) => power === 'on')
        const machine = running[step.at % Math.max(1, running.length)]
        if (machine) this.estate.write(machine)
        return
      }
      case 'time-out':
        return this.#staff.timeOut(step.at)
      case 'thaw':
        return this.#staff.thaw(step.heard)
      case 'lose':
        return this.#staff.lose()
      case 'pass':
        return this.pass()
      case 'batch':
      case 'entry':
      case 'power':
      case 'operate':
      case 'start-all':
      case 'policy':
      case 'sync':
      case 'check':
      case 'job':
      case 'waive':
        await this.people.perform(step)
        return this.#staff.heed()
    }
  }

  /** Time passes: waits are over, debts are due, and the conductor has looked at everything. */
  async pass(): Promise<void> {
    const { db } = this
    await db`update job set run_after = now() - interval '1 second' where state = 'ready'`
    await db`update job set wait_until = now() - interval '1 second' where state = 'waiting'`
    await wakeTimedOutWaits(db, 500)
    await db`update effect set next_try_at = now() - interval '1 second' where state = 'debt'`
    await sweepDebts(db)
    await readmitAll(db)
    await db`update machine set policy_next_at = now() - interval '1 second'`
    await tickOperations(db, strictLog)
    await lookNow({ db })
    await failBatches(db)
    await finishBatches(db)
    await this.#staff.heed()
  }

  /** Time passes, and workers do what is due then. */
  async round(): Promise<void> {
    await this.pass()
    // What asks for another turn at once has it, but not for ever.
    for (let turns = 0; turns < turnsMost; turns += 1) {
      const [ring] = await this.#staff.ring()
      if (!ring) break
      await this.#staff.work(ring, noFate)
    }
    for (const place of this.places.values()) if (place.mode !== 'hangs') place.comeAbout()
  }

  /** One place hangs and all others are well: everybody works for a while. */
  async carryOn(hung: string): Promise<void> {
    for (const place of this.places.values())
      Object.assign(place, { mode: place.name === hung ? 'hangs' : 'well', slip: null })
    await this.#staff.heed()
    await this.#look(hung)
    await this.#untilQuiet(hangingRounds)
  }

  /** All is well outside; then everybody works until nothing changes any more. */
  async settle(): Promise<void> {
    for (const place of this.places.values()) Object.assign(place, { mode: 'well', slip: null })
    // A guest that did not hear does what it was asked for at last.
    for (const machine of this.estate.machines.values()) machine.guest = 'obeys'
    await this.#staff.heed()
    await this.#look()
    await this.#untilQuiet(settlingRounds)
  }

  async end(): Promise<void> {
    await this.#staff.leave()
  }

  /** Rounds until nothing changes any more. */
  async #untilQuiet(most: number): Promise<void> {
    let before = ''
    for (let [round, quiet] = [0, 0]; round < most && quiet < 2; round += 1) {
      await this.#staff.thaw(true)
      await this.#staff.lose()
      await this.round()
      const now = await this.#trace()
      quiet = now === before ? quiet + 1 : 0
      before = now
    }
  }

  /** People have every connection looked at. */
  async #look(but?: string): Promise<void> {
    for (const [at, place] of sitesInOrder.entries())
      if (place !== but) await this.people.perform({ do: 'check', at })
  }

  #place(at: number): Place {
    const all = [...this.places.values()]
    return all[at % all.length] as Place
  }

  /** What changes as long as something happens; syncs and looks do not count. */
  async #trace(): Promise<string> {
    const [row] = await this.db<{ trace: string }[]>`
      select concat_ws(' ', (select count(*) from event where type not like 'job.%'),
        (select count(*) || '/' || sum(lease_epoch) from job where finished_at is null),
        (select string_agg(e.state || e.stage || coalesce(e.reason, ''), ',' order by e.id) from entry e)) as trace`
    return `${row?.trace} ${this.estate.power.length} ${this.#staff.halted}`
  }

  async #empty(): Promise<void> {
    const tables = await this.db<{ name: string }[]>`
      select quote_ident(tablename) as name from pg_tables where schemaname = 'public'
        and tablename <> all(${['access_token', 'event_floor', 'ledger_fact', 'schema_support', 'sealing_key', 'setting', 'signing_key']}::text[])`
    await this.db.unsafe(`truncate ${tables.map(({ name }) => name).join(', ')}`)
    await unringAll(this.db)
  }
}
