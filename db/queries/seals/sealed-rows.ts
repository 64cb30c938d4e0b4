import type { Queryable } from '../../client.ts'
import type { SiteRow } from '../../schema/inventory.ts'

/** Sealed values are read in pages by key, and replaced only if still unchanged. */
export interface Page<Key> {
  readonly after: Key | undefined
  readonly limit: number
}

export type SealedSite = Pick<
  SiteRow,
  | 'id'
  | 'role'
  | 'name'
  | 'kind'
  | 'endpoint'
  | 'username'
  | 'ca'
  | 'fingerprint'
  | 'settings'
  | 'secret'
  | 'cursor'
>

export const pageSealedSites = async (db: Queryable, page: Page<string>): Promise<SealedSite[]> => db<
  SealedSite[]
>`
  select id, role, name, kind, endpoint, username, ca, fingerprint, settings, secret, cursor from site
  where ${page.after === undefined ? db`true` : db`id > ${page.after}::uuid`} order by id limit ${page.limit}`

export interface SealedWebhook {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly sealedUrl: Buffer | null
  readonly secret: Buffer
}

export const pageSealedWebhooks = async (db: Queryable, page: Page<string>): Promise<SealedWebhook[]> => db<
  SealedWebhook[]
>`
  select id, name, url, sealed_url, secret from webhook
  where ${page.after === undefined ? db`true` : db`id > ${page.after}::uuid`} order by id limit ${page.limit}`

export const pageSigningKeys = async (
  db: Queryable,
  page: Page<string>,
): Promise<{ id: string; privateKey: Buffer }[]> => db<{ id: string; privateKey: Buffer }[]>`
  select id, private_key from signing_key
  where private_key is not null and ${page.after === undefined ? db`true` : db`id > ${page.after}`}
  order by id limit ${page.limit}`

export const pageFormerKeys = async (
  db: Queryable,
  page: Page<string>,
): Promise<{ id: string; sealed: Buffer }[]> => db<{ id: string; sealed: Buffer }[]>`
  select id, sealed from former_key where ${page.after === undefined ? db`true` : db`id > ${page.after}`}
  order by id limit ${page.limit}`

export interface SealedAnswer {
  readonly actor: string
  readonly key: string
  readonly digest: Buffer
  readonly body: string
}

export const pageSealedAnswers = async (
  db: Queryable,
  page: Page<{ readonly actor: string; readonly key: string }>,
): Promise<SealedAnswer[]> => db<SealedAnswer[]>`
  select actor, key, digest, body from api_request
  where body like 'sealed:%'
    and ${page.after === undefined ? db`true` : db`(actor, key) > (${page.after.actor}, ${page.after.key})`}
  order by actor, key limit ${page.limit}`

/** Replaces a sealed value. False: a newer one was stored meanwhile. */
export const replaceSeal = async (
  db: Queryable,
  seal: {
    readonly table: 'site' | 'webhook' | 'signing_key' | 'former_key'
    readonly column: 'secret' | 'cursor' | 'sealed_url' | 'private_key' | 'sealed'
    readonly id: string
    readonly was: Buffer
    readonly fresh: Buffer
  },
): Promise<boolean> => {
  const { table, column, id, was, fresh } = seal
  const { count } = await db`update ${db(table)} set ${db(column)} = ${fresh}
    where id::text = ${id} and ${db(column)} = ${was}`
  return count === 1
}

export const replaceAnswer = async (db: Queryable, was: SealedAnswer, body: string): Promise<boolean> => {
  const { count } = await db`update api_request set body = ${body}
    where actor = ${was.actor} and key = ${was.key} and body = ${was.body}`
  return count === 1
}

/** Moves the URL of a webhook from an older version out of the clear column. */
export const hideUrl = async (
  db: Queryable,
  webhook: { readonly id: string; readonly was: string; readonly origin: string; readonly sealedUrl: Buffer },
): Promise<boolean> => {
  const { count } = await db`update webhook set url = ${webhook.origin}, sealed_url = ${webhook.sealedUrl}
    where id = ${webhook.id}::uuid and url = ${webhook.was} and sealed_url is null`
  return count === 1
}

/** Workers and conductors with a recent heartbeat, for a person to find. */
export const findLiveProcesses = async (db: Queryable, silentMs: number): Promise<string[]> => {
  const rows = await db<{ name: string }[]>`
    select role || ' ' || pid || ' on ' || host as name from worker
    where stopped_at is null and heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond' order by 1`
  return rows.map(({ name }) => name)
}
