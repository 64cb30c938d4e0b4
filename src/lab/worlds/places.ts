import type { NetworkFacts, NetworkType, ProjectFacts, StorageFacts } from '../../domain/inventory/facts.ts'
import type { Change } from '../model/context.ts'
import { addEntity, type HostData } from '../store/entities.ts'
import { GiB } from './short-form.ts'

/** Hosts, networks, storage and projects of a site, in few words each. */
export const addHost = async (
  change: Change,
  host: Pick<HostData, 'ref' | 'name' | 'cluster' | 'datacenter'> & Partial<HostData> & { memoryGib: number },
): Promise<void> => {
  const { memoryGib, ...rest } = host
  await addEntity(change, 'host', {
    state: 'connected',
    cpu_model: 'Intel Xeon Gold 6338',
    cpu_class: 'x86-64-v3',
    cpus: 64,
    memory: memoryGib * GiB,
    cpus_used: 0,
    memory_used: 0,
    version: '8.0.2',
    devices: [],
    hypervisor_build: '22380479',
    ...rest,
  } satisfies HostData)
}

export const addNetwork = async (
  change: Change,
  network: Pick<NetworkFacts, 'ref' | 'name' | 'datacenter'> & { type: NetworkType } & Partial<NetworkFacts>,
): Promise<void> => {
  await addEntity(change, 'network', {
    location: `/${network.datacenter}/network/${network.name}`,
    switch: '',
    vlan: '',
    segment_id: '',
    subnets: [],
    accessible: true,
    ...network,
  } satisfies NetworkFacts)
}

export const addStorage = async (
  change: Change,
  storage: Pick<StorageFacts, 'ref' | 'name' | 'type' | 'capacity' | 'hosts'>,
): Promise<void> => {
  const facts: StorageFacts = { ...storage, free: storage.capacity, accessible: true }
  await addEntity(change, 'storage', facts)
}

export const addProject = async (change: Change, project: Omit<ProjectFacts, 'used'>): Promise<void> => {
  const facts: ProjectFacts = { ...project, used: {} }
  await addEntity(change, 'project', facts)
}
