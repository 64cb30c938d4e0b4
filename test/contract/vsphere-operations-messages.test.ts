import { expect, test } from 'vitest'
import { openMachines } from '../../src/platforms/vsphere/machines/machines.ts'
import { readFakeObjects } from '../support/fake-objects.ts'
import { Fault, startFakeVsphere } from '../support/fake-vsphere.ts'
import { serveTls } from '../support/hostile-server.ts'
import {
  fileItem,
  image,
  importSpec,
  leaseHost,
  leaseThumbprint,
  mounts,
  site,
  size,
  startImport,
} from '../support/lease-scene.ts'
import { selfSigned } from '../support/self-signed.ts'
import { anyCall, callNamed, newMachine } from '../support/vsphere-machines.ts'

test('recorded shapes: an import goes back with our marks where the schema has them, to the host of the lease', async () => {
  const got = { bytes: 0, method: '', type: '', length: '', cookie: '' }
  const nfc = await serveTls(leaseHost, (incoming, answer) => {
    const { headers, method = '' } = incoming
    Object.assign(got, { method, type: headers['content-type'], length: headers['content-length'] })
    got.cookie = String(headers.cookie ?? '')
    incoming.on('data', (chunk: Buffer) => {
      got.bytes += chunk.length
    })
    incoming.on('end', () => answer.end())
  })
  const scene = await startImport({ deviceUrl: `${nfc.url}/nfc/1/disk-0.vmdk`, thumbprint: leaseThumbprint })
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
  const scene = await startImport({ deviceUrl: `${nfc.url}/nfc/1/disk-0.vmdk`, thumbprint: leaseThumbprint })
  await expect(scene.templates.importImage(anyCall(), image, () => undefined)).rejects.toMatchObject({
    code: 'platform-fingerprint',
  })
  expect(nfc.seen.requests).toBe(0)
  expect(scene.fake.asked).toContain('HttpNfcLeaseAbort')
  expect(scene.fake.asked).not.toContain('MarkAsTemplate')
})

test('recorded shapes: a lease that ends under an upload ends it, and a host that refuses a disk does too', async () => {
  const silent = await serveTls(leaseHost, (incoming) => void incoming.resume())
  const gone = await startImport({
    deviceUrl: `${silent.url}/disk`,
    thumbprint: leaseThumbprint,
    more: { HttpNfcLeaseProgress: () => new Fault('ManagedObjectNotFound') },
  })
  await expect(gone.templates.importImage(anyCall(), image, () => undefined)).rejects.toMatchObject({
    code: 'platform-fault',
    failure: 'unknown',
  })
  const full = await serveTls(leaseHost, (incoming, answer) => {
    incoming.resume().on('end', () => answer.writeHead(507).end())
  })
  const scene = await startImport({ deviceUrl: `${full.url}/disk`, thumbprint: leaseThumbprint })
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
