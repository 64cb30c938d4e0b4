import { addBulkMachines } from '../store/bulk.ts'
import type { WorldMaker } from './make-world.ts'
import { addHost, addNetwork, addProject, addStorage } from './places.ts'
import { TiB, uuidOf } from './short-form.ts'

const networks = 40

/** As many machines as a large company has, at one source; a target of many hosts that takes them in. */
export const makeLarge = async (maker: WorldMaker): Promise<void> => {
  const { seed, machines } = maker
  const source = await maker.site({
    name: 'vcenter',
    kind: 'source',
    product: 'Drover Lab Center',
    version: '8.0.2',
    instanceId: uuidOf(seed, 'vcenter'),
  })
  const hosts = Math.max(4, Math.ceil(machines / 100))
  const refs = Array.from({ length: hosts }, (_, index) => `host-${index + 1}`)
  for (const [index, ref] of refs.entries())
    await addHost(source, {
      ref,
      name: `${ref}.lab`,
      // Numbered from 1, as the machines are: each is in the cluster of its host.
      cluster: `cluster-${(index + 1) % 4}`,
      datacenter: `DC${(index + 1) % 4}`,
      memoryGib: 4_096,
      cpus: 1_024,
    })
  for (let index = 1; index <= networks; index += 1)
    await addNetwork(source, {
      ref: `network-${index}`,
      name: `net-${index}`,
      datacenter: `DC${index % 4}`,
      type: 'distributed',
      switch: 'dvs-prod',
      vlan: String(100 + index),
    })
  const storage = 'datastore-1'
  await addStorage(source, { ref: storage, name: 'bulk', type: 'VMFS', capacity: 10_000 * TiB, hosts: refs })
  await addBulkMachines(source, { machines, hosts, networks, seed, storage, storageName: 'bulk' })
  await makeTarget(maker, hosts)
}

const makeTarget = async (maker: WorldMaker, hosts: number): Promise<void> => {
  const target = await maker.site({
    name: 'cloud',
    kind: 'target',
    product: 'Drover Lab Cloud',
    version: '6.0',
    instanceId: uuidOf(maker.seed, 'cloud'),
  })
  const refs = Array.from({ length: hosts }, (_, index) => `node-${index + 1}`)
  for (const ref of refs)
    await addHost(target, {
      ref,
      name: ref,
      cluster: 'cloud',
      datacenter: 'cloud',
      memoryGib: 4_096,
      cpus: 1_024,
    })
  for (let index = 1; index <= networks; index += 1)
    await addNetwork(target, {
      ref: `bridge-${index}`,
      name: `net-${index}`,
      datacenter: 'cloud',
      type: 'bridge',
      vlan: String(100 + index),
    })
  await addStorage(target, { ref: 'ceph', name: 'ceph', type: 'ceph', capacity: 10_000 * TiB, hosts: refs })
  await addProject(target, { ref: 'default', name: 'default', limits: {} })
}
