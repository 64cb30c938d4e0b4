import type { Call } from '../call.ts'
import type { NewDisk, NewNic } from '../ports/machines.ts'
import { plainName } from './inventory-tree.ts'
import { datacenterOf, everyOf, findFolder } from './machines-folder.ts'
import { absent, readPresent, refused, textAt } from './machines-reading.ts'
import type { NicBacking, PlacedDisk, PlacedNic } from './machines-spec.ts'
import { type ObjectRead, retrieveSome } from './property-read.ts'
import type { Session } from './session.ts'
import { isTrue, type Ref, refOf, refsIn } from './xml-node.ts'

export interface Wish {
  readonly folder: string
  /** A resource pool by ref or name; empty: that of the host, or the first that reaches the storage. */
  readonly project: string
  readonly host: string
  /** Where the machine's own files go, by ref or name; empty: the storage with the most room. */
  readonly storage: string
}

export interface Place {
  readonly folder: Ref
  readonly datacenter: Ref
  readonly pool: Ref
  readonly host: Ref | undefined
  readonly datastore: NamedRef
  /** All of the data centre's. */
  readonly datastores: readonly NamedRef[]
}

export interface NamedRef {
  readonly ref: Ref
  readonly name: string
}

/** Turns what a person or a plan says into what vSphere wants to hear. */
export const findPlace = async (session: Session, call: Call, wish: Wish): Promise<Place> => {
  const folder = await findFolder(session, call, wish.folder)
  const datacenter = await datacenterOf(session, call, folder)
  const stores = await readStores(session, call, datacenter)
  const store = chooseStore(session, stores, wish.storage)
  const host: Ref | undefined = wish.host === '' ? undefined : { type: 'HostSystem', value: wish.host }
  const pool = await findPool(session, call, { project: wish.project, host, store: store.ref })
  const named = (read: ObjectRead): NamedRef => ({ ref: read.ref, name: plainName(textAt(read, 'name')) })
  return { folder, datacenter, pool, host, datastore: named(store), datastores: stores.map(named) }
}

export const placeDisks = (
  session: Session,
  place: Place,
  disks: readonly NewDisk[],
): readonly PlacedDisk[] =>
  disks.map((disk) => {
    const store = disk.pool === '' ? place.datastore : byRefOrName(place.datastores, disk.pool)
    if (!store) throw absent(session, `datastore ${disk.pool} in the data centre of the folder`)
    return { disk, datastore: store.ref, datastoreName: store.name }
  })

const readStores = async (session: Session, call: Call, datacenter: Ref): Promise<readonly ObjectRead[]> => {
  const read = await readPresent(session, call, datacenter, ['datastore'])
  const refs = refsIn(read.properties.get('datastore'))
  const paths = ['name', 'summary.accessible', 'summary.freeSpace', 'host']
  return retrieveSome(session, call, refs, { type: 'Datastore', paths })
}

const chooseStore = (session: Session, stores: readonly ObjectRead[], wanted: string): ObjectRead => {
  if (wanted !== '') {
    const found = stores.find(
      (store) => store.ref.value === wanted || plainName(textAt(store, 'name')) === wanted,
    )
    if (found) return found
    throw absent(session, `datastore ${wanted} in the data centre of the folder`)
  }
  const free = (store: ObjectRead) => Number(textAt(store, 'summary.freeSpace')) || 0
  const usable = stores.filter((store) => isTrue(textAt(store, 'summary.accessible')))
  const [best] = [...usable].sort((left, right) => free(right) - free(left))
  if (best) return best
  throw refused('The data centre has no datastore that can be reached.', 'Look at its storage in vSphere.')
}

const byRefOrName = (all: readonly NamedRef[], wanted: string): NamedRef | undefined =>
  all.find((one) => one.ref.value === wanted || one.name === wanted)

const findPool = async (
  session: Session,
  call: Call,
  wish: { readonly project: string; readonly host: Ref | undefined; readonly store: Ref },
): Promise<Ref> => {
  if (wish.project !== '') return namedPool(session, call, wish.project)
  const hosts = wish.host ? [wish.host] : await hostsOf(session, call, wish.store)
  for (const host of hosts) {
    const pool = await poolOfHost(session, call, host)
    if (pool) return pool
  }
  throw refused(
    'No host that reaches the datastore has a resource pool.',
    'Choose another datastore, or say which resource pool the machine belongs to.',
    { field: 'project' },
  )
}

/** Of the cluster that the host is in, or of the host itself. */
export const poolOfHost = async (session: Session, call: Call, host: Ref): Promise<Ref | undefined> => {
  const read = await readPresent(session, call, host, ['parent'])
  const compute = refOf(read.properties.get('parent'))
  if (!compute) return undefined
  return refOf((await readPresent(session, call, compute, ['resourcePool'])).properties.get('resourcePool'))
}

const hostsOf = async (session: Session, call: Call, store: Ref): Promise<readonly Ref[]> => {
  const read = await readPresent(session, call, store, ['host'])
  return (read.properties.get('host')?.children ?? []).flatMap((mount) => {
    const host = mount.children.find((one) => one.name === 'key')
    return refOf(host) ?? []
  })
}

const namedPool = async (session: Session, call: Call, wanted: string): Promise<Ref> => {
  const pools = await everyOf(session, call, { type: 'ResourcePool', paths: ['name'] })
  const fitting = pools.filter(
    (pool) => pool.ref.value === wanted || plainName(textAt(pool, 'name')) === wanted,
  )
  const [only, another] = fitting
  if (!only) throw absent(session, `resource pool ${wanted}`)
  if (!another) return only.ref
  throw refused(`There are ${fitting.length} resource pools named ${wanted}.`, 'Give its ref instead.', {
    field: 'project',
  })
}

/** Finds the networks of cards among those of the data centre, and how a card is plugged into each. */
export const placeNics = async (
  session: Session,
  call: Call,
  datacenter: Ref,
  nics: readonly NewNic[],
): Promise<readonly PlacedNic[]> => {
  if (nics.length === 0) return []
  const networks = await networksOf(session, call, datacenter)
  const placed: PlacedNic[] = []
  for (const nic of nics) {
    const network = pickNetwork(session, networks, nic.network)
    placed.push({ nic, backing: await backingOf(session, call, network) })
  }
  return placed
}

export const networksOf = async (
  session: Session,
  call: Call,
  datacenter: Ref,
): Promise<readonly NamedRef[]> => {
  const centre = await readPresent(session, call, datacenter, ['network'])
  return namesOf(session, call, refsIn(centre.properties.get('network')))
}

export const pickNetwork = (session: Session, networks: readonly NamedRef[], wanted: string): NamedRef => {
  const network = byRefOrName(networks, wanted)
  if (network) return network
  throw absent(session, `network ${wanted} in the data centre`)
}

const namesOf = async (session: Session, call: Call, refs: readonly Ref[]): Promise<readonly NamedRef[]> => {
  const found: NamedRef[] = []
  for (const type of new Set(refs.map((ref) => ref.type))) {
    const same = refs.filter((ref) => ref.type === type)
    const reads = await retrieveSome(session, call, same, { type, paths: ['name'] })
    found.push(...reads.map((read) => ({ ref: read.ref, name: plainName(textAt(read, 'name')) })))
  }
  return found
}

const backingOf = async (session: Session, call: Call, { ref, name }: NamedRef): Promise<NicBacking> => {
  if (ref.type === 'DistributedVirtualPortgroup') {
    const group = await readPresent(session, call, ref, ['key', 'config.distributedVirtualSwitch'])
    const wire = refOf(group.properties.get('config.distributedVirtualSwitch'))
    if (!wire) throw absent(session, `switch of the port group ${name}`)
    const switchUuid = textAt(await readPresent(session, call, wire, ['uuid']), 'uuid')
    return { kind: 'distributed', switchUuid, portgroupKey: textAt(group, 'key') }
  }
  if (ref.type === 'OpaqueNetwork') {
    const paths = ['summary.opaqueNetworkId', 'summary.opaqueNetworkType']
    const network = await readPresent(session, call, ref, paths)
    const networkId = textAt(network, 'summary.opaqueNetworkId')
    return { kind: 'opaque', networkId, networkType: textAt(network, 'summary.opaqueNetworkType') }
  }
  return { kind: 'standard', network: ref, name }
}
