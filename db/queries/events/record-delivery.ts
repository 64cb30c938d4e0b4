import type { Queryable } from '../../client.ts'
import type { EventCursor } from './read-events-after.ts'

const isAt = (db: Queryable, id: string, cursor: EventCursor) => db`
  id = ${id}::uuid and cursor_era = ${cursor.era} and cursor_xid = ${cursor.xid}::xid8
  and cursor_id = ${cursor.id}`

/**
 * Advances a webhook's cursor: everything before `to` was delivered or is unwanted. False when the cursor has moved
 * (by a replay, or another process delivers): then the caller must stop and look again.
 */
export const recordDelivery = async (
  db: Queryable,
  move: {
    readonly id: string
    readonly from: EventCursor
    readonly to: EventCursor
    readonly delivered: boolean
    readonly leaseMs: number
  },
): Promise<boolean> => {
  const moved = await db<{ state: string }[]>`
    update webhook set cursor_era = ${move.to.era}, cursor_xid = ${move.to.xid}::xid8, cursor_id = ${move.to.id},
      next_try_at = now() + ${move.leaseMs} * interval '1 millisecond',
      failures = case when ${move.delivered} then 0 else failures end,
      last_error = case when ${move.delivered} then null else last_error end,
      last_delivered_at = case when ${move.delivered} then now() else last_delivered_at end
    where ${isAt(db, move.id, move.from)}
    returning state`
  return moved[0]?.state === 'active'
}

/** Postpones the next try. Does nothing when the cursor was moved meanwhile: then a person wants a try now. */
export const recordDeliveryFailure = async (
  db: Queryable,
  failure: { readonly id: string; readonly at: EventCursor; readonly why: string; readonly delayMs: number },
): Promise<void> => {
  await db`
    update webhook set failures = failures + 1, last_error = ${failure.why},
      next_try_at = now() + ${failure.delayMs} * interval '1 millisecond'
    where ${isAt(db, failure.id, failure.at)}`
}

/** Releases a webhook before its lease ends. */
export const releaseWebhook = async (db: Queryable, id: string): Promise<void> => {
  await db`update webhook set next_try_at = now() where id = ${id}::uuid`
}
