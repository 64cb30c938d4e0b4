import type { Db } from '../../../db/client.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../process/log.ts'
import { Loop, type Service } from '../../process/service.ts'
import type { Bell } from '../bell/bell.ts'
import { createBellWatch, createSilentBellSweep } from '../bell/bell-watch.ts'
import { createPromoter, Relay } from '../bell/relay.ts'
import { dueChannel } from '../jobs/nudge.ts'
import { Leader } from './leader.ts'
import { createSweeps } from './sweeps.ts'

const unlistenMs = 500
/** A bell that is not queued any more after this time was taken by a worker that died before its claim. */
const silentBellMs = 2_000

export interface ConductorOptions {
  readonly db: Db
  readonly databaseUrl: string
  readonly bell: Bell
  readonly clock: Clock
  readonly log: Logger
  readonly leaseMs: number
  /** Further duties of the leader: sealing, webhooks, retention. */
  readonly services?: readonly Service[]
}

/**
 * Everything that happens without a request: rings, sweeps, seals. One conductor leads, the others stand by; two
 * leaders for a moment do no harm, because every duty is idempotent.
 */
export class Conductor implements Service {
  readonly name = 'conductor'
  readonly #options: ConductorOptions
  readonly #leader: Leader
  readonly #hints: Loop
  readonly #relay: Relay
  readonly #promoter: Loop
  readonly #duties: readonly Service[]
  #unlisten: (() => Promise<void>) | undefined

  constructor(options: ConductorOptions) {
    this.#options = options
    const { db, bell, clock, log } = options
    const silentMs = options.leaseMs
    const onDue = () => this.#relay.wake()
    this.#relay = new Relay({ db, bell, clock, log, silentMs })
    this.#promoter = createPromoter({ db, bell, clock, log, silentMs, onDue })
    this.#duties = [
      this.#relay,
      this.#promoter,
      createBellWatch({ db, bell, clock, log, onLost: onDue }),
      createSilentBellSweep({ db, bell, clock, log, onLost: onDue, olderMs: silentBellMs }),
      ...createSweeps({ db, clock, log, silentMs, onDue }),
      ...(options.services ?? []),
    ]
    // Hints only: without them the relay finds work at its next poll.
    this.#hints = new Loop({
      name: 'hints',
      intervalMs: 2_000,
      clock,
      log,
      runOnce: async () => {
        this.#unlisten ??= (await db.listen(dueChannel, () => this.#hint())).unlisten
        return false
      },
    })
    this.#leader = new Leader({
      databaseUrl: options.databaseUrl,
      clock,
      log,
      onElected: () => {
        for (const duty of this.#duties) duty.start()
      },
      onDeposed: async () => {
        await Promise.all(this.#duties.map((duty) => duty.stop()))
      },
    })
  }

  get leading(): boolean {
    return this.#leader.leading
  }

  start(): void {
    this.#leader.start()
    this.#hints.start()
  }

  #hint(): void {
    this.#relay.wake()
    // The job may be due very soon: the promoter checks.
    this.#promoter.wake()
  }

  async stop(): Promise<void> {
    await Promise.race([this.#hints.stop(), this.#options.clock.sleep(unlistenMs)])
    await this.#leader.stop()
    // An unreachable Postgres never answers an UNLISTEN; closing the pool ends it as well.
    const { clock } = this.#options
    await Promise.race([this.#unlisten?.().catch(() => {}), clock.sleep(unlistenMs)])
  }
}
