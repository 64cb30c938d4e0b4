import type { Change } from '../model/context.ts'
import { addMachine } from '../tasks/machine-spec.ts'
import type { WorldMaker } from './make-world.ts'
import { addHost, addNetwork, addProject, addStorage } from './places.ts'
import { GiB, machineSpec, type ShortMachine, type SiteForm, TiB, uuidOf } from './short-form.ts'
import { smallMachines } from './small-machines.ts'

/** The newcomer's world: a source with what a real one has, oddities included, and an almost empty target. */
export const makeSmall = async (maker: WorldMaker): Promise<void> => {
  await makeVcenter(
    await maker.site({
      name: 'vcenter',
      kind: 'source',
      product: 'Drover Lab Center',
      version: '8.0.2',
      instanceId: uuidOf(maker.seed, 'vcenter'),
    }),
    maker.seed,
  )
  await makeCloud(
    await maker.site({
      name: 'cloud',
      kind: 'target',
      product: 'Drover Lab Cloud',
      version: '6.0',
      instanceId: uuidOf(maker.seed, 'cloud'),
    }),
    maker.seed,
  )
}

export const sourceForm = (seed: number, site: string): SiteForm => ({
  seed,
  site,
  datacenter: 'Paris',
  cluster: 'prod',
  storage: 'datastore-31',
  storageName: 'fast',
  networks: {
    'network-21': 'VM Network',
    'dvportgroup-22': 'shop',
    'dvportgroup-23': 'office',
    'nsx-24': 'dmz-segment',
  },
  project: '',
})

/** What every source of ours has besides machines. */
export const addSourcePlaces = async (change: Change): Promise<void> => {
  const datacenter = 'Paris'
  const cluster = 'prod'
  await addHost(change, { ref: 'host-11', name: 'esx-01.lab', cluster, datacenter, memoryGib: 512 })
  await addHost(change, {
    ref: 'host-12',
    name: 'esx-02.lab',
    cluster,
    datacenter,
    memoryGib: 512,
    cpu_model: 'AMD EPYC 7543',
    cpu_class: 'x86-64-v3-amd',
    devices: ['nvidia-a16'],
  })
  await addNetwork(change, {
    ref: 'network-21',
    name: 'VM Network',
    datacenter,
    type: 'standard',
    switch: 'vSwitch0',
  })
  await addNetwork(change, {
    ref: 'dvportgroup-22',
    name: 'shop',
    datacenter,
    type: 'distributed',
    switch: 'dvs-prod',
    vlan: '10',
    subnets: ['192.0.2.0/25'],
  })
  await addNetwork(change, {
    ref: 'dvportgroup-23',
    name: 'office',
    datacenter,
    type: 'distributed',
    switch: 'dvs-prod',
    vlan: '20,30-40',
    subnets: ['198.51.100.0/24'],
  })
  await addNetwork(change, {
    ref: 'nsx-24',
    name: 'dmz-segment',
    datacenter,
    type: 'nsx',
    segment_id: '5a1d3c0e-0000-4000-8000-000000000024',
    subnets: ['203.0.113.0/24'],
  })
  const hosts = ['host-11', 'host-12']
  await addStorage(change, { ref: 'datastore-31', name: 'fast', type: 'VMFS', capacity: 40 * TiB, hosts })
  await addStorage(change, { ref: 'datastore-32', name: 'archive', type: 'NFS', capacity: 100 * TiB, hosts })
}

const makeVcenter = async (change: Change, seed: number): Promise<void> => {
  await addSourcePlaces(change)
  const form = sourceForm(seed, 'vcenter')
  for (const [index, short] of smallMachines.entries())
    await addMachine(change, machineSpec(form, { host: index % 3 === 0 ? 'host-12' : 'host-11', ...short }))
}

const cloudMachines: readonly ShortMachine[] = [
  {
    ref: 'vm-1',
    name: 'bastion',
    folder: '/cloud/vm',
    os: 'debian-12',
    osText: 'Debian GNU/Linux 12 (bookworm)',
    disksGib: [10],
    network: 'bridge-office',
    ip: '198.51.100.250',
    host: 'node-1',
    tracked: false,
  },
  {
    ref: 'template-1',
    name: 'debian-12',
    folder: '/cloud/templates',
    os: 'debian-12',
    osText: 'Debian GNU/Linux 12 (bookworm)',
    disksGib: [4],
    template: true,
    tracked: false,
  },
]

const makeCloud = async (change: Change, seed: number): Promise<void> => {
  const datacenter = 'cloud'
  const cluster = 'cloud'
  const hosts = ['node-1', 'node-2', 'node-3']
  for (const ref of hosts)
    await addHost(change, {
      ref,
      name: ref,
      cluster,
      datacenter,
      memoryGib: 256,
      version: '6.0',
      hypervisor_build: '6.0-1',
    })
  await addNetwork(change, {
    ref: 'bridge-shop',
    name: 'bridge-shop',
    datacenter,
    type: 'bridge',
    vlan: '10',
  })
  await addNetwork(change, {
    ref: 'bridge-office',
    name: 'bridge-office',
    datacenter,
    type: 'bridge',
    vlan: '20',
  })
  await addNetwork(change, {
    ref: 'overlay',
    name: 'overlay',
    datacenter,
    type: 'other',
    subnets: ['10.77.0.0/16'],
  })
  await addStorage(change, { ref: 'local', name: 'local', type: 'zfs', capacity: 20 * TiB, hosts })
  await addStorage(change, { ref: 'ceph', name: 'ceph', type: 'ceph', capacity: 60 * TiB, hosts })
  const form = {
    seed,
    site: 'cloud',
    datacenter,
    cluster,
    storage: 'local',
    storageName: 'local',
    networks: { 'bridge-office': 'bridge-office' },
    project: 'default',
  }
  await addProject(change, { ref: 'default', name: 'default', limits: { instances: 500, memory: 700 * GiB } })
  await addProject(change, {
    ref: 'shop',
    name: 'shop',
    limits: { instances: 20, cpus: 64, memory: 128 * GiB },
  })
  for (const short of cloudMachines) await addMachine(change, machineSpec(form, short))
}
