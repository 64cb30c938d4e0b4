import type { Queryable } from '../../client.ts'
import type { EventCursor } from './read-events-after.ts'

export interface DueWebhook {
  readonly id: string
  readonly name: string
  readonly origin: string
  /** The whole URL. */
  readonly sealedUrl: Buffer | null
  /** Sealed. */
  readonly secret: Buffer
  readonly types: readonly string[]
  readonly failures: number
  readonly cursor: EventCursor
}

interface DueLine extends Omit<DueWebhook, 'cursor'> {
  readonly cursorEra: number
  readonly cursorXid: string
  readonly cursorId: number
}

/**
 * Webhooks with an event to deliver and no pause. Taking one postpones its next try by `leaseMs`: the process that
 * delivers keeps extending it, and after its death another may take the webhook. A webhook with nothing new is not
 * written to.
 */
export const takeDueWebhooks = async (
  db: Queryable,
  options: { readonly limit: number; readonly leaseMs: number; readonly except: readonly string[] },
): Promise<DueWebhook[]> => {
  const lines = await db<DueLine[]>`
    with due as (
      select id from webhook w
      where state = 'active' and next_try_at <= now() and id <> all(${options.except as string[]}::uuid[])
        and exists (
          select 1 from event
          where (era, xid, id) > (w.cursor_era, w.cursor_xid, w.cursor_id)
            and (era, xid) < (coalesce((select value::smallint from ledger_fact where name = 'era'), 1::smallint),
              pg_snapshot_xmin(pg_current_snapshot()))
        )
      order by next_try_at limit ${options.limit}
      for update skip locked
    )
    update webhook set next_try_at = now() + ${options.leaseMs} * interval '1 millisecond'
    from due where webhook.id = due.id
    returning webhook.id, name, url as origin, sealed_url, secret, types, failures, cursor_era, cursor_xid::text as cursor_xid, cursor_id`
  return lines.map(({ cursorEra, cursorXid, cursorId, ...webhook }) => ({
    ...webhook,
    cursor: { era: cursorEra, xid: cursorXid, id: cursorId },
  }))
}
