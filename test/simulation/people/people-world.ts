import type { Db } from '../../../db/client.ts'
import { unringAll } from '../../../db/queries/bell/unring-all.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { sealer } from '../../api/setup.ts'
import { makeSite } from '../../support/inventory.ts'
import type { Fate, Life, Search } from '../operation/life.ts'
import type { Estate } from './estate.ts'
import { type NewBatch, People } from './people.ts'
import type { Place } from './place.ts'
import { Staff } from './staff.ts'
import type { Beginning, Setting, Step } from './steps.ts'
import { copyOf, emptyOutside, type Outside, type Theatre, traceOf } from './theatre.ts'
import { passTime, setWindows } from './time.ts'

/** The places of all sites, in the order of their names. */
const sitesInOrder = ['cloud', 'cloud-2', 'east', 'east', 'west'] as const
/** Enough for a whole journey of each machine, with a few setbacks. */
const hangingRounds = 30
const settlingRounds = 80
const turnsMost = 60
/** Each of them may end a process once. */
const searchingTurns = 300
/** A job at which five workers vanish is given up as what takes them down. */
const endsPerJob = 4
const noFate: Fate = { diesAfter: null, freezesAfter: null }
/** Of each kind. Fewer than three could not leave room at a platform that two others share: the last is for what shares nothing. */
const slots = 4

/** Two sources, two targets and people: `east` is registered as a target as well, so that its machines can be operated. */
export class PeopleWorld {
  readonly people: People
  readonly db: Db
  readonly #staff: Staff
  readonly #beginnings: Theatre['beginnings']
  #outside: Outside
  readonly #lives: Life[] = []
  #deeds = 0
  /** How many processes have ended at each job, of those who search. */
  readonly #ended = new Map<string, number>()

  constructor({ db, ask, beginnings, cpu, lived }: Theatre, { shared }: Pick<Setting, 'shared'>) {
    this.db = db
    this.#beginnings = beginnings
    this.#outside = emptyOutside()
    const batches: NewBatch[] = [
      { name: 'wave-east', source: 'east', target: 'cloud' },
      { name: 'wave-west', source: 'west', target: shared ? 'cloud' : 'cloud-2' },
    ]
    this.people = new People(db, ask, batches)
    const heard = (life: Life) => {
      lived(life)
      this.#lives.push(life)
    }
    this.#staff = new Staff({ db, sealer, cpu, slots, lived: heard, placeOf: (site) => this.placeOf(site) })
  }

  placeOf({ endpoint }: Pick<SiteRow, 'endpoint'>): Place {
    const { hostname } = new URL(endpoint)
    const place = this.places.find(({ name }) => name === hostname)
    if (!place) throw new Error(`There is nothing at ${endpoint}.`)
    return place
  }

  get estate(): Estate {
    return this.#outside.estate
  }

  get places(): readonly Place[] {
    return this.#outside.places
  }

  /** All is read in, both batches are defined and started, and all is as it is after so many rounds. */
  async begin({ east, west, shared = false, chapter = 0 }: Beginning): Promise<void> {
    const powers = [east, west].map((machines) =>
      machines.map(({ power, tracked = true }) => `${power}${tracked ? '' : '-untracked'}`).join('+'),
    )
    const key = [...powers, shared, chapter].join('/')
    const kept = await this.#beginnings.putBack(key)
    if (kept) {
      this.#outside = copyOf(kept)
      await unringAll(this.db)
      await this.#staff.enlist()
    } else {
      const willing = { guest: 'obeys' } as const
      for (const [nth, one] of east.entries()) this.estate.put('east', nth + 1, { ...one, ...willing })
      for (const [nth, one] of west.entries()) this.estate.put('west', nth + 11, { ...one, ...willing })
      await this.#readIn()
      for (let round = 0; round < chapter; round += 1) await this.round()
      await this.#beginnings.keep(key, copyOf(this.#outside))
    }
    for (const [at, machines] of Object.entries({ east, west }))
      for (const [nth, { guest }] of machines.entries())
        this.estate.machine(at, `vm-${nth + (at === 'east' ? 1 : 11)}`).guest = guest
    this.people.said.length = 0
  }

  async #readIn(): Promise<void> {
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
  }

  async take(step: Step): Promise<void> {
    this.#deeds += 1
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
      case 'replace': {
        const sources = [...this.estate.machines.values()].filter(
          ({ owner }) => owner['drover.entry'] === undefined,
        )
        const machine = sources[step.at % Math.max(1, sources.length)]
        if (machine) this.estate.replace(machine)
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
      case 'expire':
        await this.db`update operation set expires_at = now() where finished_at is null`
        return
      case 'conduct':
        return this.#staff.conduct(step.fate)
      case 'window':
        return setWindows(this.db, step.becomes)
      case 'batch':
      case 'entry':
      case 'power':
      case 'operate':
      case 'start-all':
      case 'policy':
      case 'place':
      case 'plan':
      case 'self-test':
      case 'track':
      case 'sync':
      case 'check':
      case 'job':
      case 'waive':
        await this.people.perform(step)
        return this.#staff.heed()
    }
  }

  /** Steps that were taken: what people and places did, and what workers came past. */
  get steps(): number {
    return this.#lives.reduce((sum, { steps }) => sum + steps, this.#deeds)
  }

  /** Time passes: waits are over, debts are due, and the conductor has looked at everything. */
  async pass(): Promise<void> {
    await passTime(this.db)
    await this.#staff.heed()
  }

  /** Time passes, and workers do what is due then. */
  async round(): Promise<void> {
    await this.pass()
    // What asks for another turn at once has it, but not for ever.
    for (let turns = 0; turns < turnsMost; turns += 1) {
      const rings = await this.#staff.ring()
      if (rings.length === 0) break
      for (const ring of rings) await this.#staff.work(ring, noFate)
    }
    for (const place of this.places) if (place.mode !== 'hangs') place.comeAbout()
  }

  /** A round in which everybody dies, or stands still, at each point at which nobody has before. */
  async search(search: Search): Promise<void> {
    const fate: Fate = { ...noFate, seeks: search }
    await this.db`update machine set policy_next_at = now() - interval '1 second'`
    await this.#staff.conduct(fate)
    await this.pass()
    for (let turns = 0; turns < searchingTurns; turns += 1) {
      const [ring] = await this.#staff.ring()
      if (!ring) break
      const before = search.met.size
      const ended = this.#ended.get(ring.id) ?? 0
      await this.#staff.work(ring, ended < endsPerJob ? fate : noFate)
      this.#ended.set(ring.id, ended + search.met.size - before)
      await this.#staff.lose(fate)
      await this.#staff.thaw(turns % 2 === 0)
      await this.#staff.lose()
    }
    for (const place of this.places) if (place.mode !== 'hangs') place.comeAbout()
  }

  /** One place hangs and all others are well: everybody works for a while. */
  async carryOn(hung: string): Promise<void> {
    for (const place of this.places)
      Object.assign(place, { mode: place.name === hung ? 'hangs' : 'well', slip: null })
    await setWindows(this.db, 'open')
    await this.#staff.heed()
    await this.#look(hung)
    await this.#untilQuiet(hangingRounds)
  }

  /** All is well outside, and the windows are over: everybody works until what is off is on again. */
  async close(): Promise<void> {
    for (const place of this.places) Object.assign(place, { mode: 'well', slip: null })
    await setWindows(this.db, 'over')
    await this.#staff.heed()
    await this.#look()
    await this.#untilQuiet(hangingRounds)
  }

  /** All is well outside; then everybody works until nothing changes any more. */
  async settle(): Promise<void> {
    for (const place of this.places) Object.assign(place, { mode: 'well', slip: null })
    // A guest that did not hear does what it was asked for at last.
    for (const machine of this.estate.machines.values()) machine.guest = 'obeys'
    await setWindows(this.db, 'open')
    await this.#staff.heed()
    await this.#look()
    await this.#untilQuiet(settlingRounds)
  }

  async end(): Promise<void> {
    await this.#staff.leave()
  }

  /** Rounds until nothing changes any more: each lets all waits end, so one without a change is like any later one. */
  async #untilQuiet(most: number): Promise<void> {
    let before = ''
    for (let round = 0; round < most; round += 1) {
      await this.#staff.thaw(true)
      await this.#staff.lose()
      await this.round()
      const now = `${await traceOf(this.db)} ${this.estate.power.length} ${this.#staff.halted}`
      if (now === before) return
      before = now
    }
  }

  /** People have every connection looked at. */
  async #look(but?: string): Promise<void> {
    for (const [at, place] of sitesInOrder.entries())
      if (place !== but) await this.people.perform({ do: 'check', at })
  }

  #place(at: number): Place {
    const all = this.places
    return all[at % all.length] as Place
  }
}
