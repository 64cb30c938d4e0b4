import type { Queryable, Tx } from '../../client.ts'
import type { webhook } from '../../schema/access.ts'

export type WebhookLine = Omit<
  typeof webhook.$inferSelect,
  'url' | 'sealedUrl' | 'secret' | 'state' | 'cursorEra' | 'cursorXid' | 'cursorId'
> & {
  /** The origin of its URL; the rest is sealed. */
  readonly origin: string
  readonly state: 'active' | 'paused'
  readonly cursor: string
}

/** Everything that is not sealed. The cursor in text form: see src/ledger/events/event-cursor.ts. */
const columns = (db: Queryable) => db`
  id, name, url as origin, types, state, version, cursor_era || '-' || cursor_xid::text || '-' || cursor_id as cursor,
  failures, next_try_at, last_error, last_delivered_at, created_by, created_at, updated_at`

export const listWebhooks = async (
  db: Queryable,
  page: { before: string | undefined; limit: number },
): Promise<WebhookLine[]> => db<WebhookLine[]>`
  select ${columns(db)} from webhook
  where ${page.before === undefined ? db`true` : db`id < ${page.before}::uuid`} order by id desc limit ${page.limit}`

export const findWebhook = async (db: Queryable, id: string): Promise<WebhookLine | undefined> => {
  const [row] = await db<WebhookLine[]>`select ${columns(db)} from webhook where id = ${id}::uuid`
  return row
}

/** The webhook, locked until the transaction ends. */
export const lockWebhook = async (tx: Tx, id: string): Promise<WebhookLine | undefined> => {
  const [row] = await tx<WebhookLine[]>`select ${columns(tx)} from webhook where id = ${id}::uuid for update`
  return row
}

interface Cursor {
  readonly era: number
  readonly xid: string
  readonly id: number
}

export const insertWebhook = async (
  tx: Tx,
  webhook: {
    id: string
    name: string
    origin: string
    sealedUrl: Buffer
    secret: Buffer
    types: readonly string[]
    cursor: Cursor
    by: string
  },
): Promise<WebhookLine> => {
  const [row] = await tx<WebhookLine[]>`
    insert into webhook (id, name, url, sealed_url, secret, types, cursor_era, cursor_xid, cursor_id, created_by)
    values (${webhook.id}::uuid, ${webhook.name}, ${webhook.origin}, ${webhook.sealedUrl}, ${webhook.secret},
      ${webhook.types as string[]}::text[], ${webhook.cursor.era}, ${webhook.cursor.xid}::xid8, ${webhook.cursor.id},
      ${webhook.by})
    returning ${columns(tx)}`
  if (!row) throw new Error('A webhook was inserted but did not come back.')
  return row
}

export interface WebhookChange {
  readonly name?: string | undefined
  /** Both or neither. */
  readonly origin?: string | undefined
  readonly sealedUrl?: Buffer | undefined
  readonly types?: readonly string[] | undefined
  readonly state?: 'active' | 'paused' | undefined
  readonly cursor?: Cursor | undefined
}

/** Changes the given fields. Any change allows an immediate try. The caller holds the row's lock. */
export const updateWebhook = async (tx: Tx, id: string, change: WebhookChange): Promise<WebhookLine> => {
  const [row] = await tx<WebhookLine[]>`
    update webhook set version = version + 1, updated_at = now(), next_try_at = now(), failures = 0,
      name = coalesce(${change.name ?? null}, name), url = coalesce(${change.origin ?? null}, url),
      sealed_url = coalesce(${change.sealedUrl ?? null}::bytea, sealed_url),
      types = coalesce(${(change.types as string[] | undefined) ?? null}::text[], types),
      state = coalesce(${change.state ?? null}, state),
      cursor_era = coalesce(${change.cursor?.era ?? null}::smallint, cursor_era),
      cursor_xid = coalesce(${change.cursor?.xid ?? null}::xid8, cursor_xid),
      cursor_id = coalesce(${change.cursor?.id ?? null}::bigint, cursor_id)
    where id = ${id}::uuid returning ${columns(tx)}`
  if (!row) throw new Error(`Webhook ${id} vanished while its row was locked.`)
  return row
}

export const deleteWebhook = async (tx: Tx, id: string): Promise<void> => {
  await tx`delete from webhook where id = ${id}::uuid`
}
