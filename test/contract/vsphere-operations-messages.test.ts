import { createHash, X509Certificate } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import type { Connection } from '../../src/platforms/connection.ts'
import type { NewImage } from '../../src/platforms/ports/templates.ts'
import { openMachines } from '../../src/platforms/vsphere/machines.ts'
import { openTemplates } from '../../src/platforms/vsphere/templates.ts'
import {
  type FakeObjects,
  type FakeValue,
  fakeRef,
  fakeRefs,
  readFakeObjects,
} from '../support/fake-objects.ts'
import { type FakeMethod, Fault, startFakeVsphere } from '../support/fake-vsphere.ts'
import { serveTls } from '../support/hostile-server.ts'
import { selfSigned } from '../support/self-signed.ts'
import { testOvf } from '../support/test-ovf.ts'
import { anyCall, callNamed, newMachine } from '../support/vsphere-machines.ts'

const host = selfSigned({ name: 'esx-01' })
const sha1 = createHash('sha1').update(new X509Certificate(host.cert).raw).digest('hex')
const thumbprint = sha1.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:')

const mounts = (...hosts: readonly string[]): FakeValue => ({
  type: 'ArrayOfDatastoreHostMount',
  xml: hosts
    .map((ref) => `<DatastoreHostMount><key type="HostSystem">${ref}</key></DatastoreHostMount>`)
    .join(''),
})

const site: FakeObjects = {
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
    parent: fakeRef('ClusterComputeResource:domain-c7'),
    'runtime.connectionState': 'connected',
    'runtime.inMaintenanceMode': 'false',
  },
  'ClusterComputeResource:domain-c7': { resourcePool: fakeRef('ResourcePool:resgroup-8') },
  'Network:network-11': { name: 'inside net' },
}

/** As a vCenter 8 writes it: entries of its own, what comes after them in the schema, and a reference. */
const importSpec =
  '<importSpec xsi:type="VirtualMachineImportSpec"><configSpec><name>golden</name><version>vmx-19</version>' +
  '<deviceChange xsi:type="VirtualDeviceConfigSpec"><operation>add</operation><device xsi:type="VirtualDisk">' +
  '<key>-200</key><capacityInKB>1024</capacityInKB></device></deviceChange>' +
  '<extraConfig xsi:type="OptionValue"><key>nvram</key><value xsi:type="xsd:string">a &amp; b</value></extraConfig>' +
  '<bootOptions><efiSecureBootEnabled>true</efiSecureBootEnabled></bootOptions><firmware>efi</firmware>' +
  '</configSpec><resPoolEntity type="ResourcePool">resgroup-8</resPoolEntity></importSpec>'

const fileItem =
  '<fileItem><deviceId>/golden/VirtualDisk:0</deviceId><path>disk-0.vmdk</path><size>70000</size>' +
  '<cimType>17</cimType><create>false</create></fileItem>'

interface Scene {
  /** Where the lease wants the disk, and what it says of the certificate there. */
  readonly deviceUrl: string
  readonly thumbprint: string
  readonly more?: Readonly<Record<string, FakeMethod>>
}

const startImport = async ({ deviceUrl, thumbprint: said, more = {} }: Scene) => {
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
      const answer = reading(request.replace('type="ContainerView">view-1', 'type="Network">network-11'))
      // A lease is never ready at the first look.
      if (request.includes('lease-1')) state = 'ready'
      return answer
    },
    FindByInventoryPath: () => '<returnval type="Folder">group-v3</returnval>',
    FindChild: () => '',
    CreateContainerView: () => '<returnval type="ContainerView">view-1</returnval>',
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

const size = 70_000
const image: NewImage = {
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

test('recorded shapes: an import goes back with our marks where the schema has them, to the host of the lease', async () => {
  const got = { bytes: 0, method: '', type: '', length: '', cookie: '' }
  const nfc = await serveTls(host, (incoming, answer) => {
    const { headers, method = '' } = incoming
    Object.assign(got, { method, type: headers['content-type'], length: headers['content-length'] })
    got.cookie = String(headers.cookie ?? '')
    incoming.on('data', (chunk: Buffer) => {
      got.bytes += chunk.length
    })
    incoming.on('end', () => answer.end())
  })
  const scene = await startImport({ deviceUrl: `${nfc.url}/nfc/1/disk-0.vmdk`, thumbprint })
  const ref = await scene.templates.importImage(callNamed('import-7'), image, () => undefined)
  expect(ref).toBe('vm-99')
  expect(got).toEqual({
    bytes: size,
    method: 'POST',
    type: 'application/x-vnd.vmware-streamVmdk',
    length: String(size),
    cookie: '',
  })
  const option = (key: string, value: string) =>
    `<extraConfig xsi:type="OptionValue"><key>${key}</key><value xsi:type="xsd:string">${value}</value></extraConfig>`
  const ours =
    option('drover.owner', '{&quot;drover&quot;:&quot;x \\&quot;y\\&quot;&quot;}') +
    option('drover.call', 'import-7') +
    option('drover.import', 'pending')
  const sent = importSpec.replace('<bootOptions>', `${ours}<bootOptions>`).replaceAll('importSpec', 'spec')
  expect(scene.requests.get('ImportVApp')).toContain(
    `<_this type="ResourcePool">resgroup-8</_this>${sent}<folder type="Folder">group-v3</folder></ImportVApp>`,
  )
  expect(scene.requests.get('CreateImportSpec')).toContain(
    '<resourcePool type="ResourcePool">resgroup-8</resourcePool><datastore type="Datastore">datastore-10</datastore>' +
      '<cisp><locale></locale><deploymentOption></deploymentOption><entityName>golden</entityName>' +
      '<networkMapping><name>inside</name><network type="Network">network-11</network></networkMapping>' +
      '<diskProvisioning>thin</diskProvisioning></cisp>',
  )
  const order = scene.fake.asked.filter((method) => /Lease(Complete|Abort)|Reconfig|MarkAs/.test(method))
  expect(order).toEqual(['HttpNfcLeaseComplete', 'ReconfigVM_Task', 'MarkAsTemplate'])
  expect(scene.requests.get('ReconfigVM_Task')).toContain(option('drover.import', 'complete'))
})

test('recorded shapes: a host with another certificate than the lease says gets no byte of the image', async () => {
  const nfc = await serveTls(selfSigned(), (_incoming, answer) => void answer.end())
  const scene = await startImport({ deviceUrl: `${nfc.url}/nfc/1/disk-0.vmdk`, thumbprint })
  await expect(scene.templates.importImage(anyCall(), image, () => undefined)).rejects.toMatchObject({
    code: 'platform-fingerprint',
  })
  expect(nfc.seen.requests).toBe(0)
  expect(scene.fake.asked).toContain('HttpNfcLeaseAbort')
  expect(scene.fake.asked).not.toContain('MarkAsTemplate')
})

test('recorded shapes: a lease that ends under an upload ends it, and a host that refuses a disk does too', async () => {
  const silent = await serveTls(host, (incoming) => void incoming.resume())
  const gone = await startImport({
    deviceUrl: `${silent.url}/disk`,
    thumbprint,
    more: { HttpNfcLeaseProgress: () => new Fault('ManagedObjectNotFound') },
  })
  await expect(gone.templates.importImage(anyCall(), image, () => undefined)).rejects.toMatchObject({
    code: 'platform-fault',
    failure: 'unknown',
  })
  const full = await serveTls(host, (incoming, answer) => {
    incoming.resume().on('end', () => answer.writeHead(507).end())
  })
  const scene = await startImport({ deviceUrl: `${full.url}/disk`, thumbprint })
  await expect(scene.templates.importImage(anyCall(), image, () => undefined)).rejects.toMatchObject({
    message: expect.stringContaining('507') as unknown,
  })
  expect(scene.fake.asked).toContain('HttpNfcLeaseAbort')
})

test('recorded shapes: what vSphere does not take of an image is said, and nothing is begun', async () => {
  const error =
    '<error><fault xsi:type="OvfUnsupportedType"><name>Odd card</name></fault>' +
    '<localizedMessage>Odd card is not supported.</localizedMessage></error>'
  const answers = [
    `<returnval>${fileItem}${error}</returnval>`,
    '<returnval></returnval>',
    `<returnval>${importSpec.replace('VirtualMachineImportSpec', 'VirtualAppImportSpec')}${fileItem}</returnval>`,
  ]
  for (const answer of answers) {
    const scene = await startImport({
      deviceUrl: 'https://*/x',
      thumbprint: '',
      more: { CreateImportSpec: () => answer },
    })
    await expect(scene.templates.importImage(anyCall(), image, () => undefined)).rejects.toMatchObject({
      failure: 'refused',
    })
    expect(scene.fake.asked).not.toContain('ImportVApp')
  }
})

test('recorded shapes: a cluster without DRS is told a host that can be used, one with DRS is not', async () => {
  const drs = { isOn: false }
  const created: string[] = []
  const fake = await startFakeVsphere({
    RetrievePropertiesEx: readFakeObjects(() => ({
      ...site,
      'Datastore:datastore-10': {
        ...site['Datastore:datastore-10'],
        host: mounts('host-19', 'host-21', 'host-20'),
      },
      'HostSystem:host-19': { ...site['HostSystem:host-20'], 'runtime.inMaintenanceMode': 'true' },
      'HostSystem:host-21': { ...site['HostSystem:host-20'], 'runtime.connectionState': 'notResponding' },
      'ClusterComputeResource:domain-c7': {
        ...site['ClusterComputeResource:domain-c7'],
        configurationEx: {
          type: 'ClusterConfigInfoEx',
          xml: `<drsConfig><enabled>${drs.isOn}</enabled></drsConfig>`,
        },
      },
    })),
    FindByInventoryPath: () => '<returnval type="Folder">group-v3</returnval>',
    FindChild: () => '',
    CreateVM_Task: (request) => {
      created.push(/<\/config>(.*)<\/CreateVM_Task>/.exec(request)?.[1] ?? '')
      return '<returnval type="Task">task-1</returnval>'
    },
  })
  const { create } = openMachines(fake.session)
  await create(anyCall(), newMachine({ folder: '/Paris/vm' }))
  drs.isOn = true
  await create(anyCall(), newMachine({ folder: '/Paris/vm' }))
  const pool = '<pool type="ResourcePool">resgroup-8</pool>'
  expect(created).toEqual([`${pool}<host type="HostSystem">host-20</host>`, pool])
})
