import type {
  HostFacts,
  NetworkFacts,
  ProjectFacts,
  StorageFacts,
} from '../../../src/domain/inventory/facts.ts'
import type { SiteRole } from '../../../src/domain/inventory/site-settings.ts'
import type { Queryable, Tx } from '../../client.ts'

/** What a site has besides instances, by table. */
export interface ThingFacts {
  readonly host: HostFacts
  readonly storage: StorageFacts
  readonly project: ProjectFacts
  readonly network: NetworkFacts
}

export type ThingTable = keyof ThingFacts

export interface ThingLine<Facts> {
  readonly id: string
  readonly role: SiteRole
  readonly site: string
  readonly siteKind: string
  readonly siteId: string
  readonly ref: string
  readonly name: string
  readonly facts: Facts
  readonly revision: number
  readonly firstSeenAt: Date
  readonly changedAt: Date
  readonly goneAt: Date | null
}

export interface ThingFilter {
  readonly role?: SiteRole | undefined
  readonly site?: string | undefined
  /** Undefined: both. */
  readonly gone?: boolean | undefined
}

const columns = (db: Queryable) => db`
  t.id, s.role, s.name as site, s.kind as site_kind, t.site_id, t.ref, t.name, t.facts, t.revision, t.first_seen_at, t.changed_at,
  t.gone_at`

const fitting = (db: Queryable, filter: ThingFilter, after: string | undefined) => db`
  ${filter.role === undefined ? db`true` : db`s.role = ${filter.role}`}
  and ${filter.site === undefined ? db`true` : db`s.name = ${filter.site}`}
  and ${filter.gone === undefined ? db`true` : filter.gone ? db`t.gone_at is not null` : db`t.gone_at is null`}
  and ${after === undefined ? db`true` : db`t.id > ${after}::uuid`}`

/** In the order of first sight, which never changes, so that pages stay stable during a sync. */
export const listSiteThings = async <Table extends ThingTable>(
  db: Queryable,
  table: Table,
  filter: ThingFilter,
  page: { after: string | undefined; limit: number },
): Promise<ThingLine<ThingFacts[Table]>[]> => db<ThingLine<ThingFacts[Table]>[]>`
  select ${columns(db)} from ${db(table as string)} t join site s on s.id = t.site_id
  where ${fitting(db, filter, page.after)} order by t.id limit ${page.limit}`

export interface NetworkLine extends ThingLine<NetworkFacts> {
  readonly location: string
  readonly overrides: Record<string, unknown>
  readonly version: number
}

const networkColumns = (db: Queryable) => db`${columns(db)}, t.location, t.overrides, t.version`

export const listNetworks = async (
  db: Queryable,
  filter: ThingFilter,
  page: { after: string | undefined; limit: number },
): Promise<NetworkLine[]> => db<NetworkLine[]>`
  select ${networkColumns(db)} from network t join site s on s.id = t.site_id
  where ${fitting(db, filter, page.after)} order by t.id limit ${page.limit}`

export const findNetwork = async (db: Queryable, id: string): Promise<NetworkLine | undefined> => {
  const [row] = await db<NetworkLine[]>`
    select ${networkColumns(db)} from network t join site s on s.id = t.site_id where t.id = ${id}::uuid`
  return row
}

/** The networks of one source with these ids of the platform. */
export const findNetworksByRef = async (
  db: Queryable,
  siteId: string,
  refs: readonly string[],
): Promise<NetworkLine[]> => db<NetworkLine[]>`
  select ${networkColumns(db)} from network t join site s on s.id = t.site_id
  where t.site_id = ${siteId}::uuid and t.ref = any(${refs as string[]}::text[]) and t.gone_at is null`

/** The network, locked until the transaction ends. */
export const lockNetwork = async (tx: Tx, id: string): Promise<NetworkLine | undefined> => {
  const [row] = await tx<NetworkLine[]>`
    select ${networkColumns(tx)} from network t join site s on s.id = t.site_id where t.id = ${id}::uuid
    for no key update of t`
  return row
}

export const writeNetworkOverrides = async (
  tx: Tx,
  id: string,
  overrides: Readonly<Record<string, unknown>>,
): Promise<void> => {
  await tx`
    update network set overrides = ${JSON.stringify(overrides)}::text::jsonb, version = version + 1
    where id = ${id}::uuid`
}
