import type { Queryable } from '../../../db/client.ts'
import type { HostFacts, ProjectFacts, StorageFacts } from '../../domain/inventory/facts.ts'
import type { Change } from '../model/context.ts'

export type EntityType = 'host' | 'network' | 'storage' | 'project' | 'folder'

/** What is wrong with a thing on request. */
export interface Trouble {
  /** Its host does not answer: after a crash its machines are off, in a partition they run on unseen. */
  readonly dead?: boolean
  /** No more fits in. */
  readonly full?: boolean
}

export interface Entity<Data = Record<string, unknown>> {
  readonly type: EntityType
  readonly ref: string
  readonly name: string
  readonly data: Data
  readonly trouble: Trouble
  readonly seq: number
  readonly gone: boolean
}

export const addEntity = async (
  change: Pick<Change, 'tx' | 'site' | 'seq'>,
  type: EntityType,
  data: { ref: string; name: string },
): Promise<void> => {
  const { tx, site, seq } = change
  await tx`
    insert into lab.entity (site, type, ref, name, data, seq)
    values (${site}, ${type}, ${data.ref}, ${data.name}, ${JSON.stringify(data)}::text::json, ${seq})`
}

export const listEntities = async <Data = Record<string, unknown>>(
  db: Queryable,
  site: string,
  type: EntityType,
): Promise<Entity<Data>[]> =>
  await db<Entity<Data>[]>`
    select type, ref, name, data, trouble, seq, gone from lab.entity
    where site = ${site} and type = ${type} and not gone order by ref`

/** By ref, or by name where a caller may give either. */
export const findEntity = async <Data = Record<string, unknown>>(
  db: Queryable,
  site: string,
  which: { type: EntityType; ref: string },
): Promise<Entity<Data> | undefined> => {
  const [row] = await db<Entity<Data>[]>`
    select type, ref, name, data, trouble, seq, gone from lab.entity
    where site = ${site} and type = ${which.type} and (ref = ${which.ref} or name = ${which.ref}) and not gone
    order by (ref = ${which.ref}) desc limit 1`
  return row
}

/** A listing shows it anew. */
export const touchEntity = async (change: Change, type: EntityType, ref: string): Promise<void> => {
  const { tx, site, seq } = change
  await tx`update lab.entity set seq = ${seq} where site = ${site} and type = ${type} and ref = ${ref}`
}

export const setTrouble = async (
  change: Change,
  which: { type: EntityType; ref: string },
  trouble: Trouble,
): Promise<boolean> => {
  const { tx, site, seq } = change
  const rows = await tx`
    update lab.entity set trouble = trouble || ${tx.json(trouble as never)}, seq = ${seq}
    where site = ${site} and type = ${which.type} and (ref = ${which.ref} or name = ${which.ref}) returning 1`
  return rows.length > 0
}

export interface HostData extends HostFacts {
  /** Names of devices that a machine may ask for. */
  readonly devices: readonly string[]
  readonly hypervisor_build: string
}

export interface HostLoad {
  readonly host: Entity<HostData>
  /** What runs there, and what is on its way. */
  readonly cpus: number
  readonly memory: number
}

/** Every host with what is taken on it, promises of running tasks included. */
export const hostLoads = async (db: Queryable, site: string): Promise<HostLoad[]> => {
  const hosts = await listEntities<HostData>(db, site, 'host')
  const rows = await db<{ host: string; cpus: number; memory: number }[]>`
    select host, sum(cpus)::int as cpus, sum(memory)::bigint as memory from (
      select host, cpus, memory from lab.machine where site = ${site} and power = 'on' and not gone
      union all
      select t.args ->> 'host', m.cpus, m.memory
      from lab.task t join lab.machine m on m.site = t.site and m.ref = t.machine
      where t.site = ${site} and t.state = 'running' and t.kind in ('start', 'restore', 'move')
    ) taken group by host`
  const taken = new Map(rows.map((row) => [row.host, row]))
  return hosts.map((host) => ({
    host,
    cpus: taken.get(host.ref)?.cpus ?? 0,
    memory: taken.get(host.ref)?.memory ?? 0,
  }))
}

export const hostFacts = ({ host, cpus, memory }: HostLoad): HostFacts => {
  const { devices: _devices, hypervisor_build: _build, ...facts } = host.data
  return {
    ...facts,
    state: host.trouble.dead ? 'not-responding' : facts.state,
    cpus_used: host.trouble.full ? facts.cpus : cpus,
    memory_used: host.trouble.full ? facts.memory : memory,
  }
}

/** Bytes that are taken on each storage: what thin disks hold, and all of the others. */
export const storageUse = async (db: Queryable, site: string): Promise<ReadonlyMap<string, number>> => {
  const rows = await db<{ storage: string; used: number }[]>`
    select storage, sum(allocated)::bigint as used from lab.disk where site = ${site} group by storage`
  return new Map(rows.map(({ storage, used }) => [storage, used]))
}

export const storageFacts = (entity: Entity<StorageFacts>, used: number): StorageFacts => ({
  ...entity.data,
  free: entity.trouble.full ? 0 : Math.max(0, entity.data.capacity - used),
})

/** What a project's machines take together. */
export const projectUse = async (
  db: Queryable,
  site: string,
): Promise<ReadonlyMap<string, Readonly<Record<string, number>>>> => {
  const rows = await db<{ project: string; instances: number; cpus: number; memory: number; disk: number }[]>`
    select m.project, count(*)::int as instances, sum(m.cpus)::int as cpus, sum(m.memory)::bigint as memory,
      coalesce(sum(d.bytes), 0)::bigint as disk
    from lab.machine m left join lateral (
      select sum(capacity) as bytes from lab.disk where site = m.site and machine = m.ref) d on true
    where m.site = ${site} and m.project <> '' and not m.gone group by m.project`
  return new Map(rows.map(({ project, ...used }) => [project, used]))
}

export const projectFacts = (
  entity: Entity<ProjectFacts>,
  used: Readonly<Record<string, number>> | undefined,
): ProjectFacts => ({ ...entity.data, used: used ?? { instances: 0, cpus: 0, memory: 0, disk: 0 } })
