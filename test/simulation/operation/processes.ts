import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../../db/client.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import { handleOperateMachine } from '../../../workers/handlers/operate-machine.ts'
import { handleSettleDebt } from '../../../workers/handlers/settle-debt.ts'
import { LeaseKeeper } from '../../../workers/lease-keeper.ts'
import { Runner } from '../../../workers/runner.ts'
import { quietLog } from '../../support/events.ts'
import { expire, leaseMs } from '../../support/ledger.ts'
import type { ImaginedCloud } from './imagined-cloud.ts'
import { Dead, type Fate, Life, mortalDb } from './life.ts'

interface Worker {
  readonly life: Life
  readonly keeper: LeaseKeeper
  readonly end: Promise<unknown>
}

/** Workers of the real code, each with a life of its own: they end, die or freeze. */
export class Processes {
  readonly #db: Db
  readonly #cloud: ImaginedCloud
  readonly #frozen: Worker[] = []

  constructor(db: Db, cloud: ImaginedCloud) {
    this.#db = db
    this.#cloud = cloud
  }

  get frozen(): number {
    return this.#frozen.length
  }

  /** One takes up a job, until it has ended its turn, is dead or stands still. */
  async work(job: { readonly id: string; readonly kind: string }, fate: Fate): Promise<void> {
    const life = new Life(fate)
    const db = mortalDb(this.#db, life)
    const usePlatform = <Result>(_site: SiteRow, work: (platform: Platform) => Promise<Result>) =>
      work(this.#cloud.reachedBy(life))
    const undoers = new Map(Object.entries(handleOperateMachine.undoers ?? {}))
    const handlers = [handleOperateMachine, handleSettleDebt(undoers)]
    const base = { workerId: uuidv7(), leaseMs, clock: life.clock, log: quietLog }
    const keeper = new LeaseKeeper({ ...base, db: this.#db })
    life.beat = () => keeper.beat()
    const runner = new Runner({
      ...{ ...base, db, keeper, undoers, usePlatform },
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
    const froze = await Promise.race([end.then(() => false), life.frozen.then(() => true)])
    if (froze) this.#frozen.push({ life, keeper, end })
  }

  /** A frozen one goes on; `heard`: it has looked at its leases before. */
  async thaw(pick: number, heard: boolean): Promise<void> {
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
  async lose(): Promise<void> {
    const jobs = await this.#db<{ id: string }[]>`select id from job where state = 'running'`
    await expire(this.#db, ...jobs.map(({ id }) => id))
    for (const { life } of this.#frozen) life.standStill(leaseMs)
    await sweepLeases(this.#db)
  }
}
