import { isTrue, type Ref, refOf, refsIn } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { NewDisk, NewNic } from '../../ports/machines.ts'
import { plainName } from '../inventory/inventory-tree.ts'
import { absent, readPresent, refused, textAt } from '../soap/machines-reading.ts'
import { type ObjectRead, retrieveSome } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import { type Compute, type ComputeRequest, findCompute } from './machines-compute.ts'
import { datacenterOf, everyOf, findFolder } from './machines-folder.ts'
import type { NicBacking, PlacedDisk, PlacedNic } from './machines-spec.ts'

export interface PlaceRequest extends Omit<ComputeRequest, 'store'> {
  readonly folder: string
  /** Where the machine's own files go, by ref or name; empty: the storage with the most room. */
  readonly storage: string
}

export interface Place extends Compute {
  readonly folder: Ref
  readonly datacenter: Ref
  readonly datastore: NamedRef
  /** All of the data centre's. */
  readonly datastores: readonly NamedRef[]
}

export interface NamedRef {
  readonly ref: Ref
  readonly name: string
}

/** Turns what a person or a plan says into what vSphere wants to hear. */
export const findPlace = async (session: Session, call: Call, request: PlaceRequest): Promise<Place> => {
  const folder = await findFolder(session, call, request.folder)
  const datacenter = await datacenterOf(session, call, folder)
  const stores = await readStores(session, call, datacenter)
  const store = chooseStore(session, stores, request.storage)
  const compute = await findCompute(session, call, { ...request, store: store.ref })
  const named = (read: ObjectRead): NamedRef => ({ ref: read.ref, name: plainName(textAt(read, 'name')) })
  return { ...compute, folder, datacenter, datastore: named(store), datastores: stores.map(named) }
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

/** By a view: the data centre's own list leaves NSX segments out at times. */
export const networksOf = async (
  session: Session,
  call: Call,
  datacenter: Ref,
): Promise<readonly NamedRef[]> => {
  const reads = await everyOf(session, call, { type: 'Network', paths: ['name'], below: datacenter })
  return reads.map((read) => ({ ref: read.ref, name: plainName(textAt(read, 'name')) }))
}

export const pickNetwork = (session: Session, networks: readonly NamedRef[], wanted: string): NamedRef => {
  const network = byRefOrName(networks, wanted)
  if (network) return network
  throw absent(session, `network ${wanted} in the data centre`)
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
