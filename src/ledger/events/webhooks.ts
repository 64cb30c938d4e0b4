import type { Db } from '../../../db/client.ts'
import { type FeedEvent, readEventsAfter } from '../../../db/queries/events/read-events-after.ts'
import {
  recordDelivery,
  recordDeliveryFailure,
  releaseWebhook,
} from '../../../db/queries/events/record-delivery.ts'
import { type DueWebhook, takeDueWebhooks } from '../../../db/queries/events/take-due-webhooks.ts'
import type { Clock } from '../../clock.ts'
import { backoffMs } from '../../domain/job/retry.ts'
import type { Logger } from '../../process/log.ts'
import { Loop, type Service } from '../../process/service.ts'
import type { Sealer } from '../../seal/seal.ts'
import { webhookSecretPlace, webhookUrlPlace } from '../../seal/seal-places.ts'
import { formatCursor } from './event-cursor.ts'
import { type FailedPost, webhookFailures } from './webhook-failure.ts'
import { createWebhookSender, type PostOutcome, type WebhookSender } from './webhook-request.ts'
import { signWebhook, webhookKey } from './webhook-signature.ts'

export interface WebhooksOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly sealer: Pick<Sealer, 'open'>
  readonly pollMs?: number
  readonly requestMs?: number
  /** Receivers that are called at once. */
  readonly concurrencyMax?: number
  /** Whether receivers in private networks and on this machine are allowed; metadata services never are. */
  readonly allowPrivate?: boolean
  readonly retryBaseMs?: number
  readonly retryCapMs?: number
  readonly random?: () => number
}

/** Events per turn before a webhook goes back to the end of the queue. */
const turnEvents = 200

/**
 * Delivers events to webhooks: in order, at least once, each webhook at its own rate. The cursor in the webhook's row
 * moves after the receiver's 2xx, one event at a time, so a crash in between delivers that event again, under the same
 * id.
 */
export class Webhooks implements Service {
  readonly name = 'webhooks'
  readonly #options: WebhooksOptions
  readonly #loop: Loop
  readonly #active = new Map<string, Promise<void>>()
  readonly #requestMs: number
  #sender: WebhookSender | undefined
  #stopping = new AbortController()

  constructor(options: WebhooksOptions) {
    this.#options = options
    this.#requestMs = options.requestMs ?? 10_000
    this.#loop = new Loop({
      name: this.name,
      intervalMs: options.pollMs ?? 500,
      runOnce: () => this.#takeTurns(),
      clock: options.clock,
      log: options.log,
    })
  }

  start(): void {
    this.#stopping = new AbortController()
    this.#loop.start()
  }

  /** Stops deliveries in progress; the next leader repeats an event that was cut off. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop.stop()
    await Promise.all(this.#active.values())
    this.#sender?.close()
    this.#sender = undefined
  }

  /** Long enough for one request and the record of its outcome. */
  get #leaseMs(): number {
    return this.#requestMs + 20_000
  }

  async #takeTurns(): Promise<boolean> {
    const free = (this.#options.concurrencyMax ?? 64) - this.#active.size
    if (free <= 0) return false
    const due = await takeDueWebhooks(this.#options.db, {
      limit: free,
      leaseMs: this.#leaseMs,
      except: [...this.#active.keys()],
    })
    for (const webhook of due) this.#active.set(webhook.id, this.#takeTurn(webhook))
    return false
  }

  async #takeTurn(webhook: DueWebhook): Promise<void> {
    try {
      const goOn = await this.#deliverSome(webhook)
      if (goOn) await releaseWebhook(this.#options.db, webhook.id)
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        this.#options.log.warn(
          { err: error, webhook: webhook.id },
          'a webhook could not be served; its turn comes again',
        )
    } finally {
      this.#active.delete(webhook.id)
      // There may be more, and a place is free.
      this.#loop.wake()
    }
  }

  /** True when the webhook may continue at once; false when a failure has scheduled its next try. */
  async #deliverSome(webhook: DueWebhook): Promise<boolean> {
    const { db } = this.#options
    const page = await readEventsAfter(db, webhook.cursor, { types: webhook.types, limit: turnEvents })
    let at = webhook.cursor
    const move = async (to: typeof at, delivered: boolean) => {
      const moved = await recordDelivery(db, {
        id: webhook.id,
        from: at,
        to,
        delivered,
        leaseMs: this.#leaseMs,
      })
      at = to
      return moved
    }
    for (const event of page.events) {
      if (this.#stopping.signal.aborted) return true
      const outcome = await this.#post(webhook, event)
      if (this.#stopping.signal.aborted && !outcome.delivered) return true
      if (!outcome.delivered) {
        await this.#postpone(
          { ...webhook, cursor: at, failures: at === webhook.cursor ? webhook.failures : 0 },
          outcome,
        )
        return false
      }
      if (!(await move(event.cursor, true))) return true
    }
    const last = page.events.at(-1)
    if (last?.cursor !== page.next && formatCursor(page.next) !== formatCursor(at))
      await move(page.next, false)
    return true
  }

  async #post(webhook: DueWebhook, event: FeedEvent): Promise<PostOutcome> {
    const { key, url } = this.#open(webhook) ?? {}
    if (!key || url === undefined) return { delivered: false, failure: 'sealed' }
    this.#sender ??= createWebhookSender({
      requestMs: this.#requestMs,
      allowPrivate: this.#options.allowPrivate ?? true,
    })
    const id = formatCursor(event.cursor)
    const body = JSON.stringify(webhookBody(event))
    const timestamp = Math.floor(this.#options.clock.now() / 1_000)
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Drover',
      ...signWebhook(key, { id, timestamp, body }),
    }
    return await this.#sender.post({ url, headers, body }, this.#stopping.signal)
  }

  #open({ id, origin, sealedUrl, secret }: DueWebhook) {
    const { sealer } = this.#options
    try {
      const key = webhookKey(sealer.open(secret, webhookSecretPlace(id)))
      return sealedUrl ? { key, url: sealer.open(sealedUrl, webhookUrlPlace(id, origin)) } : undefined
    } catch {
      return undefined
    }
  }

  async #postpone(webhook: DueWebhook, { failure, detail }: FailedPost): Promise<void> {
    const why = webhookFailures[failure]
    const failures = webhook.failures + 1
    const { retryBaseMs = 5_000, retryCapMs = 900_000, random = Math.random } = this.#options
    const delayMs = backoffMs(failures, retryBaseMs, retryCapMs, random())
    await recordDeliveryFailure(this.#options.db, { id: webhook.id, at: webhook.cursor, why, delayMs })
    this.#options.log.info(
      { webhook: webhook.id, name: webhook.name, failures, delayMs, why, detail },
      'a webhook was not delivered; it will be tried again',
    )
  }
}

/** The body that a receiver gets, as documented in docs/events.md. */
const webhookBody = (event: FeedEvent): Record<string, unknown> => ({
  id: formatCursor(event.cursor),
  type: event.type,
  at: event.at.toISOString(),
  subject: event.subject,
  job_id: event.job,
  actor: event.actor,
  from: event.from,
  to: event.to,
  reason: event.reason,
  detail: event.detail,
})
