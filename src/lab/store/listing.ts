import type { Db } from '../../../db/client.ts'
import { storableText } from '../../storable.ts'

/** A machine as a listing needs it: its facts are text, because they go to the wire as they are. */
export interface ListedMachine {
  readonly ref: string
  readonly name: string
  readonly seq: number
  /** Not there, or not within the scopes that were asked for. */
  readonly gone: boolean
  readonly facts: string
  readonly unreadable: string | null
  /** Its host does not answer. */
  readonly dead: boolean
}

interface Asked {
  readonly site: string
  readonly scopes: readonly string[]
  readonly limit: number
}

/** Machines whose path, or whose data centre, is one of the scopes or below it; no scopes: all. */
const inScope = (db: Db, scopes: readonly string[]) => {
  if (scopes.length === 0) return db`true`
  const paths = scopes.map((scope) => storableText(scope).replace(/\/+$/, ''))
  return db`(m.datacenter = any(${paths}::text[]) or exists (
    select from unnest(${paths}::text[]) scope where m.location = scope or starts_with(m.location, scope || '/')))`
}

const columns = (db: Db) => db`
  m.ref, m.name, m.seq, m.facts::text as facts, m.traits ->> 'unreadable' as unreadable,
  coalesce((h.trouble ->> 'dead')::boolean, false) as dead`

const from = (db: Db) => db`
  lab.machine m left join lab.entity h on h.site = m.site and h.type = 'host' and h.ref = m.host`

/** The machines after that ref, in order. */
export const listMachines = async (db: Db, asked: Asked & { after: string }): Promise<ListedMachine[]> =>
  await db<ListedMachine[]>`
    select ${columns(db)}, false as gone from ${from(db)}
    where m.site = ${asked.site} and not m.gone and m.ref > ${asked.after} and ${inScope(db, asked.scopes)}
    order by m.ref limit ${asked.limit}`

/** The machines that changed after that place, in the order of their changes, those that went too. */
export const changedMachines = async (
  db: Db,
  asked: Asked & { seq: number; after: string },
): Promise<ListedMachine[]> =>
  await db<ListedMachine[]>`
    select ${columns(db)}, m.gone or not ${inScope(db, asked.scopes)} as gone from ${from(db)}
    where m.site = ${asked.site} and m.seq >= ${asked.seq}
      and (m.seq > ${asked.seq} or (${asked.after} <> '' and m.ref > ${asked.after}))
    order by m.seq, m.ref limit ${asked.limit}`

/** Hosts, networks and the like that went after that number. */
export const goneEntities = async (
  db: Db,
  asked: { site: string; since: number; types: readonly string[] },
): Promise<{ type: string; ref: string }[]> =>
  await db<{ type: string; ref: string }[]>`
    select type, ref from lab.entity
    where site = ${asked.site} and gone and seq > ${asked.since} and type = any(${asked.types as string[]}::text[])`
