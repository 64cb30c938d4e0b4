import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../../db/client.ts'
import { unringAll } from '../../../db/queries/bell/unring-all.ts'
import { beatWorker } from '../../../db/queries/fleet/workers.ts'
import { promoteHeldJobs } from '../../../db/queries/tokens/promote-held-jobs.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { Bell, Ring } from '../../../src/ledger/bell/bell.ts'
import { Relay } from '../../../src/ledger/bell/relay.ts'
import { sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import type { Handler } from '../../../src/ledger/job.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import type { Sealer } from '../../../src/seal/seal.ts'
import type { CpuPool } from '../../../workers/cpu-pool.ts'
import { createHandlers } from '../../../workers/handlers/registry.ts'
import { LeaseKeeper } from '../../../workers/lease-keeper.ts'
import { Runner } from '../../../workers/runner.ts'
import { quietLog } from '../../support/events.ts'
import { expire, leaseMs } from '../../support/ledger.ts'
import { Dead, type Fate, Life, liveAs, mortalDb } from '../operation/life.ts'
import { Hand } from './hand.ts'
import type { Place } from './place.ts'
import { platformOf } from './place-platform.ts'

interface Turn {
  readonly jobId: string
  readonly kind: string
  readonly life: Life
  readonly hand: Hand
  readonly keeper: LeaseKeeper
  readonly end: Promise<unknown>
  /** It stands still in the middle of something, and hears nothing. */
  frozen: boolean
  thawed: boolean
}

export interface StaffOptions {
  readonly db: Db
  readonly sealer: Sealer
  readonly cpu: CpuPool
  readonly placeOf: (site: SiteRow) => Place
  /** Of each kind: what one process runs at once. */
  readonly slots: number
  /** Hears of every process that takes something up. */
  readonly lived: (life: Life) => void
}

const silentMs = 3_600_000
/** Of all stories: their beginnings know it. */
const workerId = uuidv7()

/** A worker's real runner and handlers with all it does, turn by turn, and the real relay with a bell in memory. */
export class Staff {
  readonly #options: StaffOptions
  /** One for the whole story: how many slots there are is read once. */
  readonly #relay: Relay
  readonly #bell = {
    ring: async (rings: readonly Ring[]) => void this.#rung.push(...rings),
  } as unknown as Bell
  #rung: Ring[] = []
  #halted: Turn[] = []

  constructor(options: StaffOptions) {
    this.#options = options
    const { clock } = new Life(noFate)
    this.#relay = new Relay({ db: options.db, bell: this.#bell, clock, log: quietLog, silentMs })
  }

  get halted(): number {
    return this.#halted.length
  }

  /** It says that it lives, with slots for every kind. */
  async enlist(): Promise<void> {
    const kinds = [...this.#handlers(this.#options.db, new Hand(new Life(noFate))).handlers.values()]
    const { slots, db } = this.#options
    await beatWorker(
      db,
      {
        ...{ id: workerId, role: 'worker', host: 'here', pid: 1, version: 'test' },
        kinds: Object.fromEntries(kinds.map(({ kind }) => [kind.kind, kind.version])),
        slots: Object.fromEntries(kinds.map(({ kind }) => [kind.kind, slots])),
      },
      'active',
    )
  }

  /** What is due is rung, as far as the relay leaves room. Gives what hands are free for. */
  async ring(): Promise<readonly Ring[]> {
    const { db } = this.#options
    await promoteHeldJobs(db, 100)
    await this.#relay.runOnce()
    const busy = (kind: string) => this.#halted.filter((turn) => turn.kind === kind).length
    // In the order in which a store gives them out.
    const free = new Map<string, number>()
    return this.#rung.filter(({ kind }) => {
      const left = free.get(kind) ?? this.#options.slots - busy(kind)
      free.set(kind, left - 1)
      return left > 0
    })
  }

  /** A conductor looks once at all there is, and has its fate; what it has rung is heard. */
  async conduct(fate: Fate): Promise<void> {
    const life = new Life(mortal(fate))
    const db = mortalDb(this.#options.db, life)
    const work = async () => {
      await sweepLeases(db)
      await tickOperations(db, quietLog)
      await new Relay({ db, bell: this.#bell, clock: life.clock, log: quietLog, silentMs }).runOnce()
    }
    await liveAs(life, work).catch(ifDead)
    this.#options.lived(life)
  }

  /** A bell is followed until the turn has ended, is dead, hangs or stands still. */
  async work(ring: Ring, fate: Fate): Promise<void> {
    this.#rung = this.#rung.filter((one) => one !== ring)
    const { db } = this.#options
    const life = new Life(fate)
    const hand = new Hand(life)
    const own = mortalDb(db, life)
    const { handlers, undoers, usePlatform } = this.#handlers(own, hand)
    const base = { workerId, leaseMs, clock: life.clock, log: quietLog }
    const keeper = new LeaseKeeper({ ...base, db })
    life.beat = () => keeper.beat()
    const runner = new Runner({ ...base, db: own, keeper, handlers, undoers, usePlatform })
    const bell = { id: ring.id, generation: ring.generation }
    const end = liveAs(life, () => runner.follow(ring.kind, bell)).catch(ifDead)
    this.#options.lived(life)
    await this.#onward({ jobId: ring.id, kind: ring.kind, life, hand, keeper, end, ...awake })
  }

  /** All that hang at places that answer again go on; everybody who hangs hears whether it is called off. */
  async heed(): Promise<void> {
    await this.#each(async ({ frozen, keeper, hand }) => {
      if (frozen) return false
      hand.heal()
      await keeper.beat()
      await keeper.pollCancels()
      return !hand.hangs
    })
  }

  /** The time is over of one that hangs. */
  async timeOut(pick: number): Promise<void> {
    const turn = this.#halted.filter(({ frozen }) => !frozen)[pick % Math.max(1, this.#halted.length)]
    await this.#each(async (one) => {
      if (one !== turn) return false
      one.hand.timeOut()
      return true
    })
  }

  /** Those that are frozen go on; `heard`: they have looked at their leases before. */
  async thaw(heard: boolean): Promise<void> {
    await this.#each(async (turn) => {
      if (!turn.frozen) return false
      if (heard) {
        await turn.keeper.beat()
        await turn.keeper.pollCancels()
      }
      Object.assign(turn, { frozen: false, thawed: true })
      turn.life.thaw()
      return true
    })
  }

  /** Whoever is dead or frozen has lost its leases and the frozen know by their clock; the bells are flushed. */
  async lose(fate: Fate = noFate): Promise<void> {
    const { db } = this.#options
    const alive = this.#halted.filter(({ frozen }) => !frozen).map(({ jobId }) => jobId)
    const jobs = await db<{ id: string }[]>`
      select id from job where state = 'running' and not id = any(${alive}::uuid[])`
    await expire(db, ...jobs.map(({ id }) => id))
    for (const { frozen, life } of this.#halted) if (frozen) life.standStill(leaseMs)
    const life = new Life(mortal(fate))
    await liveAs(life, () => sweepLeases(mortalDb(db, life))).catch(ifDead)
    this.#rung = []
    await unringAll(db)
  }

  /** Once more as at the beginning: a story is over. */
  async leave(): Promise<void> {
    for (const { life, hand } of this.#halted) {
      life.kill()
      life.thaw()
      hand.timeOut()
    }
    await Promise.all(this.#halted.map(({ end }) => end))
    this.#halted = []
    this.#rung = []
  }

  async #each(goesOn: (turn: Turn) => Promise<boolean>): Promise<void> {
    const all = this.#halted
    this.#halted = []
    for (const turn of all)
      if (await goesOn(turn)) await this.#onward(turn)
      else this.#halted.push(turn)
  }

  async #onward(turn: Turn): Promise<void> {
    const { end, life, hand } = turn
    const came = await Promise.race([
      end.then(() => 'end' as const),
      ...(turn.thawed ? [] : [life.frozen.then(() => 'frozen' as const)]),
      hand.stuck.then(() => 'stuck' as const),
    ])
    if (came === 'end') return
    turn.frozen = came === 'frozen'
    this.#halted.push(turn)
  }

  #handlers(db: Db, hand: Hand) {
    const { placeOf, sealer, cpu } = this.#options
    const usePlatform = <Result>(site: SiteRow, work: (platform: Platform) => Promise<Result>) =>
      work(platformOf(placeOf(site), hand))
    const { handlers, undoers } = createHandlers({
      world: db,
      cpu,
      sealer,
      images: { dir: undefined, allowPrivate: false },
    })
    const known = [...handlers].map(([kind, handler]): [string, Handler] => [
      kind,
      {
        ...handler,
        run: (ctx) => {
          hand.life.takeUp(kind)
          return handler.run(ctx)
        },
      },
    ])
    return { handlers: new Map(known), undoers, usePlatform }
  }
}

const awake = { frozen: false, thawed: false }
const noFate: Fate = { diesAfter: null, freezesAfter: null }

/** Of what is waited for to its end: it may die and not freeze, because nobody would thaw it. */
const mortal = ({ diesAfter, seeks }: Fate): Fate => ({
  ...{ diesAfter, freezesAfter: null },
  ...(seeks?.for === 'death' ? { seeks } : {}),
})

const ifDead = (error: unknown): void => {
  if (!(error instanceof Dead)) throw error
}
