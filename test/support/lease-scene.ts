import { createHash, X509Certificate } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Connection } from '../../src/platforms/ports/connection.ts'
import type { NewImage } from '../../src/platforms/ports/templates.ts'
import { openMachines } from '../../src/platforms/vsphere/machines/machines.ts'
import { openTemplates } from '../../src/platforms/vsphere/templates/templates.ts'
import { type FakeObjects, type FakeValue, fakeRef, fakeRefs, readFakeObjects } from './fake-objects.ts'
import { type FakeMethod, startFakeVsphere } from './fake-vsphere.ts'
import { selfSigned } from './self-signed.ts'
import { testOvf } from './test-ovf.ts'

/** The host that leases name. */
export const leaseHost = selfSigned({ name: 'esx-01' })
const sha1 = createHash('sha1').update(new X509Certificate(leaseHost.cert).raw).digest('hex')
export const leaseThumbprint = sha1.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:')

export const mounts = (...hosts: readonly string[]): FakeValue => ({
  type: 'ArrayOfDatastoreHostMount',
  xml: hosts
    .map((ref) => `<DatastoreHostMount><key type="HostSystem">${ref}</key></DatastoreHostMount>`)
    .join(''),
})

export const site: FakeObjects = {
  'Folder:group-v3': { name: 'vm', parent: fakeRef('Datacenter:datacenter-2') },
  'Datacenter:datacenter-2': {
    name: 'Paris',
    parent: fakeRef('Folder:group-d1'),
    datastore: fakeRefs('Datastore:datastore-10'),
    network: fakeRefs('Network:network-11'),
  },
  'Folder:group-d1': { name: 'Datacenters' },
  'Datastore:datastore-10': {
    name: 'fast',
    'summary.accessible': 'true',
    'summary.freeSpace': '1000000',
    host: mounts('host-20'),
  },
  'HostSystem:host-20': {
    name: '127.0.0.1',
    parent: fakeRef('ClusterComputeResource:domain-c7'),
    'runtime.connectionState': 'connected',
    'runtime.inMaintenanceMode': 'false',
  },
  'ClusterComputeResource:domain-c7': { resourcePool: fakeRef('ResourcePool:resgroup-8') },
  'Network:network-11': { name: 'inside net' },
}

/** As a vCenter 8 writes it: entries of its own, what comes after them in the schema, and a reference. */
export const importSpec =
  '<importSpec xsi:type="VirtualMachineImportSpec"><configSpec><name>golden</name><version>vmx-19</version>' +
  '<deviceChange xsi:type="VirtualDeviceConfigSpec"><operation>add</operation><device xsi:type="VirtualDisk">' +
  '<key>-200</key><capacityInKB>1024</capacityInKB></device></deviceChange>' +
  '<extraConfig xsi:type="OptionValue"><key>nvram</key><value xsi:type="xsd:string">a &amp; b</value></extraConfig>' +
  '<bootOptions><efiSecureBootEnabled>true</efiSecureBootEnabled></bootOptions><firmware>efi</firmware>' +
  '</configSpec><resPoolEntity type="ResourcePool">resgroup-8</resPoolEntity></importSpec>'

export const fileItem =
  '<fileItem><deviceId>/golden/VirtualDisk:0</deviceId><path>disk-0.vmdk</path><size>70000</size>' +
  '<cimType>17</cimType><create>false</create></fileItem>'

interface Scene {
  /** What the inventory says of the host behind the lease. */
  readonly hostFacts?: Readonly<Record<string, FakeValue>>
  /** Where the lease wants the disk, and what it says of the certificate there. */
  readonly deviceUrl: string
  readonly thumbprint: string
  readonly more?: Readonly<Record<string, FakeMethod>>
}

export const startImport = async ({ deviceUrl, thumbprint: said, hostFacts = {}, more = {} }: Scene) => {
  const requests = new Map<string, string>()
  const noted =
    (method: string, answer: string): FakeMethod =>
    (request) => {
      requests.set(method, request)
      return answer
    }
  let state = 'initializing'
  const objects = (): FakeObjects => ({
    ...site,
    'HostSystem:host-20': { ...site['HostSystem:host-20'], ...hostFacts },
    'HttpNfcLease:lease-1': {
      state,
      info: {
        type: 'HttpNfcLeaseInfo',
        xml:
          '<lease type="HttpNfcLease">lease-1</lease><entity type="VirtualMachine">vm-99</entity><deviceUrl>' +
          `<key>/vm-99/VirtualDisk:0</key><importKey>/golden/VirtualDisk:0</importKey><url>${deviceUrl}</url>` +
          `<sslThumbprint>${said}</sslThumbprint></deviceUrl><leaseTimeout>300</leaseTimeout>`,
      },
    },
    'VirtualMachine:vm-99': {
      name: 'golden',
      'config.template': 'false',
      'config.extraConfig': { type: 'ArrayOfOptionValue', xml: '' },
    },
    'Task:task-1': { info: { type: 'TaskInfo', xml: '<state>success</state>' } },
  })
  const reading = readFakeObjects(objects)
  const fake = await startFakeVsphere({
    RetrievePropertiesEx: (request) => {
      // What a view holds comes without being asked for by its ref.
      const answer = reading(
        request
          .replace('type="ContainerView">view-1', 'type="Network">network-11')
          .replace('type="ContainerView">view-2', 'type="HostSystem">host-20'),
      )
      // A lease is never ready at the first look.
      if (request.includes('lease-1')) state = 'ready'
      return answer
    },
    FindByInventoryPath: () => '<returnval type="Folder">group-v3</returnval>',
    FindChild: () => '',
    CreateContainerView: (request) =>
      `<returnval type="ContainerView">view-${request.includes('<type>HostSystem<') ? 2 : 1}</returnval>`,
    DestroyView: () => '',
    CreateImportSpec: noted('CreateImportSpec', `<returnval>${importSpec}${fileItem}</returnval>`),
    ImportVApp: noted('ImportVApp', '<returnval type="HttpNfcLease">lease-1</returnval>'),
    HttpNfcLeaseProgress: () => '',
    HttpNfcLeaseComplete: () => '',
    HttpNfcLeaseAbort: () => '',
    ReconfigVM_Task: noted('ReconfigVM_Task', '<returnval type="Task">task-1</returnval>'),
    MarkAsTemplate: () => '',
    ...more,
  })
  const connection: Connection = {
    kind: 'vsphere',
    endpoint: fake.url,
    username: 'u',
    password: 'p',
    ca: '',
    fingerprint: '',
    caller: 'drover-test',
    connectTimeoutMs: 10_000,
  }
  const templates = openTemplates(fake.session, connection, openMachines(fake.session))
  return { fake, requests, templates }
}

export const size = 70_000
export const image: NewImage = {
  templateName: 'golden',
  folder: '/Paris/vm',
  project: '',
  pool: 'fast',
  host: '',
  network: 'inside net',
  ovf: testOvf([{ id: 'disk-0', capacity: 1024 ** 2, size }]),
  cpus: 1,
  memory: 1024 ** 3,
  disks: [
    {
      id: 'disk-0',
      capacity: 1024 ** 2,
      size,
      format: 'vmdk-stream',
      open: async () => Readable.from([Buffer.alloc(size, 7)], { objectMode: false }),
    },
  ],
  owner: { drover: 'x "y"' },
}
