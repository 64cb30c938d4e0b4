import type { Db } from '../../../db/client.ts'
import { endSession } from '../../../db/queries/access/end-session.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../process/log.ts'
import type { ApiLimits } from '../wire/api-limits.ts'
import { problem } from '../wire/problem.ts'
import { TokenBuckets } from './rate-limit.ts'
import type { Session } from './session.ts'

interface SignInsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly limits: Pick<ApiLimits, 'signInsBurst' | 'signInRefillMs' | 'failedSignInsMs' | 'buckets'>
}

interface KnownName {
  readonly id: string
  readonly name: string
}

/** So many addresses of those who failed are told of by name; the attempts of the others are counted together. */
const peersMax = 10

/**
 * Tells who came in and who went, in the log and as events. Who failed is told of in one event for a while of
 * attempts: whoever guesses must not fill the audit trail. Never with a secret or its hash.
 */
export class SignIns {
  readonly #deps: SignInsDeps
  readonly #started: TokenBuckets
  #failed = new Map<string, number>()
  #others = 0
  #timer: NodeJS.Timeout | undefined

  constructor(deps: SignInsDeps) {
    this.#deps = deps
    const { signInsBurst, signInRefillMs, buckets } = deps.limits
    this.#started = new TokenBuckets({
      clock: deps.clock,
      burst: signInsBurst,
      refillMs: signInRefillMs,
      keys: buckets,
    })
  }

  /** Records a sign-in before the browser gets its cookie: nobody is in without it being known. */
  async started(token: KnownName, peer: string): Promise<void> {
    const waitMs = this.#started.take(token.id)
    if (waitMs > 0)
      throw problem('too-many-requests', 'Too many sign-ins with this token.', {
        retryAfterSeconds: waitMs / 1000,
      })
    await insertAuditEvent(this.#deps.db, {
      type: 'session.started',
      subject: { type: 'token', id: token.id },
      actor: `token/${token.name}`,
      detail: { peer },
    })
    this.#deps.log.info({ peer, token: token.name }, 'signed in')
  }

  /** Ends a session for every API at once. */
  async ended(session: Session, token: KnownName, peer: string): Promise<void> {
    const isFirst = await this.#deps.db.begin(async (tx) => {
      if (!(await endSession(tx, session))) return false
      await insertAuditEvent(tx, {
        type: 'session.ended',
        subject: { type: 'token', id: token.id },
        actor: `token/${token.name}`,
        detail: { peer },
      })
      return true
    })
    if (isFirst) this.#deps.log.info({ peer, token: token.name }, 'signed out')
  }

  /** Counts an attempt with a wrong token; the first one of a while begins the next event. */
  failed(peer: string, attempts = 1): void {
    const known = this.#failed.get(peer)
    if (known !== undefined || this.#failed.size < peersMax) this.#failed.set(peer, (known ?? 0) + attempts)
    else this.#others += attempts
    this.#timer ??= setTimeout(() => void this.tell(), this.#deps.limits.failedSignInsMs).unref()
  }

  /** Writes what has failed until now, if anything. What could not be written is told of with what comes next. */
  async tell(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const [failed, others] = [this.#failed, this.#others]
    if (failed.size === 0) return
    this.#failed = new Map()
    this.#others = 0
    const peers = [...failed].map(([peer, attempts]) => ({ peer, attempts }))
    const attempts = peers.reduce((sum, one) => sum + one.attempts, others)
    try {
      await insertAuditEvent(this.#deps.db, {
        type: 'sign-in.failed',
        subject: { type: 'api', id: 'sign-in' },
        actor: 'anonymous',
        detail: { attempts, peers, of_other_addresses: others },
      })
      this.#deps.log.warn({ attempts, peers, ofOtherAddresses: others }, 'sign-ins failed')
    } catch (error) {
      this.#deps.log.warn({ err: error, attempts, peers }, 'sign-ins failed, and the event was not written')
      for (const one of peers) this.failed(one.peer, one.attempts)
      this.#others += others
    }
  }
}
