import { at, isTrue, type Ref, refOf, refsIn } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { plainName } from '../inventory/inventory-tree.ts'
import { absent, readPresent, refused, textAt } from '../soap/machines-reading.ts'
import { retrieveSome } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import { everyOf } from './machines-folder.ts'

/** Where a machine runs: its pool, and a host where the platform does not choose one by itself. */
export interface Compute {
  readonly pool: Ref
  readonly host: Ref | undefined
}

export interface ComputeRequest {
  /** A resource pool by ref or name; empty: that of the host, or the first that reaches the storage. */
  readonly project: string
  /** By ref; empty: whichever. */
  readonly host: string
  readonly store: Ref
}

export const findCompute = async (
  session: Session,
  call: Call,
  request: ComputeRequest,
): Promise<Compute> => {
  const host: Ref | undefined = request.host === '' ? undefined : { type: 'HostSystem', value: request.host }
  if (request.project !== '') {
    const { pool, owner } = await namedPool(session, call, request.project)
    return { pool, host: host ?? (await hostIfNeeded(session, call, owner)) }
  }
  if (host) {
    const found = await computeOf(session, call, host)
    if (found) return { pool: found.pool, host }
  }
  for (const reaching of await usableHosts(session, call, await hostsOf(session, call, request.store))) {
    const found = await computeOf(session, call, reaching)
    if (found) return found
  }
  throw refused(
    'No host that can be used reaches the datastore.',
    'Choose another datastore, or say which resource pool the machine belongs to.',
    { field: 'project' },
  )
}

/** The pool of the cluster that the host is in, or of the host itself. */
export const computeOf = async (session: Session, call: Call, host: Ref): Promise<Compute | undefined> => {
  const parent = refOf((await readPresent(session, call, host, ['parent'])).properties.get('parent'))
  if (!parent) return undefined
  const pool = refOf(
    (await readPresent(session, call, parent, ['resourcePool'])).properties.get('resourcePool'),
  )
  return pool && { pool, host: (await choosesHosts(session, call, parent)) ? undefined : host }
}

/** A cluster without DRS wants to be told a host; one with it, and a host that stands alone, does not. */
const choosesHosts = async (session: Session, call: Call, compute: Ref): Promise<boolean> => {
  if (compute.type !== 'ClusterComputeResource') return true
  const read = await readPresent(session, call, compute, ['configurationEx'])
  return at(read.properties.get('configurationEx'), 'drsConfig/enabled')?.text !== 'false'
}

const hostIfNeeded = async (session: Session, call: Call, compute: Ref): Promise<Ref | undefined> => {
  if (await choosesHosts(session, call, compute)) return undefined
  const hosts = refsIn((await readPresent(session, call, compute, ['host'])).properties.get('host'))
  const [first] = await usableHosts(session, call, hosts)
  if (first) return first
  throw refused('No host of the cluster can be used.', 'Look at the hosts of the cluster in vSphere.')
}

/** Connected and not in maintenance. */
const usableHosts = async (session: Session, call: Call, hosts: readonly Ref[]): Promise<readonly Ref[]> => {
  const paths = ['runtime.connectionState', 'runtime.inMaintenanceMode']
  const reads = await retrieveSome(session, call, hosts, { type: 'HostSystem', paths })
  return reads
    .filter((read) => textAt(read, 'runtime.connectionState') === 'connected')
    .filter((read) => !isTrue(textAt(read, 'runtime.inMaintenanceMode')))
    .map((read) => read.ref)
}

const hostsOf = async (session: Session, call: Call, store: Ref): Promise<readonly Ref[]> => {
  const read = await readPresent(session, call, store, ['host'])
  return (read.properties.get('host')?.children ?? []).flatMap((mount) => {
    const host = mount.children.find((one) => one.name === 'key')
    return refOf(host) ?? []
  })
}

const namedPool = async (
  session: Session,
  call: Call,
  wanted: string,
): Promise<{ readonly pool: Ref; readonly owner: Ref }> => {
  const pools = await everyOf(session, call, { type: 'ResourcePool', paths: ['name', 'owner'] })
  const fitting = pools.filter(
    (pool) => pool.ref.value === wanted || plainName(textAt(pool, 'name')) === wanted,
  )
  const [only, another] = fitting
  const owner = refOf(only?.properties.get('owner'))
  if (!only || !owner) throw absent(session, `resource pool ${wanted}`)
  if (!another) return { pool: only.ref, owner }
  throw refused(`There are ${fitting.length} resource pools named ${wanted}.`, 'Give its ref instead.', {
    field: 'project',
  })
}
