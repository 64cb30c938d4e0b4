import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDatastorePath } from '../../../src/platforms/vsphere/disks/datastore.ts'
import { plainName } from '../../../src/platforms/vsphere/inventory/inventory-tree.ts'
import { wireName } from '../../../src/platforms/vsphere/machines/machines-folder.ts'
import { markEntries, marksOf } from '../../../src/platforms/vsphere/machines/machines-ownership.ts'
import {
  configSpec,
  diskDevices,
  mostDisks,
  nicDevices,
  optionValues,
  upToExtraConfig,
} from '../../../src/platforms/vsphere/machines/machines-spec.ts'
import { wrap } from '../../../src/platforms/vsphere/soap/soap-request.ts'
import { at, childrenOf, textOf } from '../../../src/xml/xml-node.ts'
import { xmlNode } from '../../support/soap-answers.ts'

const store = { type: 'Datastore', value: 'datastore-10' }
const placed = (key: string) => ({
  disk: { key, capacity: 1536 * 1024, pool: '' },
  datastore: store,
  datastoreName: 'fast & <big>',
})
const nic = (mac: string) => ({ mac, network: 'n', type: 'managed', vlan: '' }) as const

test('a configuration stands in the order of the schema, whatever order it was said in', () => {
  const spec = configSpec({
    firmware: 'efi',
    changeTracking: true,
    secureBoot: true,
    extraConfig: { a: '1' },
    devices: ['<deviceChange/>'],
    memoryMb: 512,
    cpus: 2,
    directory: '[fast]',
    annotation: 'x < y',
    guestId: 'otherGuest64',
    instanceUuid: 'u',
    machineName: 'web',
  })
  expect(spec).toBe(
    '<name>web</name><instanceUuid>u</instanceUuid><guestId>otherGuest64</guestId>' +
      '<annotation>x &lt; y</annotation><files><vmPathName>[fast]</vmPathName></files>' +
      '<numCPUs>2</numCPUs><memoryMB>512</memoryMB><deviceChange/>' +
      '<extraConfig xsi:type="OptionValue"><key>a</key><value xsi:type="xsd:string">1</value></extraConfig>' +
      '<bootOptions><efiSecureBootEnabled>true</efiSecureBootEnabled></bootOptions>' +
      '<changeTrackingEnabled>true</changeTrackingEnabled><firmware>efi</firmware>',
  )
  const names = xmlNode(wrap('spec', spec, undefined)).children.map(({ name }) => name)
  const split = names.indexOf('bootOptions')
  expect(names.slice(0, split).every((name) => upToExtraConfig.has(name))).toBe(true)
  expect(names.slice(split).some((name) => upToExtraConfig.has(name))).toBe(false)
})

test('what is not to be changed is not in the configuration', () => {
  expect(configSpec({})).toBe('')
  expect(configSpec({ changeTracking: false })).toBe('<changeTrackingEnabled>false</changeTrackingEnabled>')
  expect(configSpec({ annotation: '' })).toBe('<annotation></annotation>')
})

test('disks hang on one controller, each at a place of its own and none at the controller’s', () => {
  const all = Array.from({ length: mostDisks }, (_, index) => placed(String(index)))
  const [controller, ...disks] = xmlNode(wrap('spec', diskDevices(all).join(''))).children
  const key = textOf(at(controller, 'device'), 'key')
  const devices = disks.map((change) => at(change, 'device'))
  expect(devices).toHaveLength(15)
  expect(new Set(devices.map((device) => textOf(device, 'controllerKey')))).toEqual(new Set([key]))
  const units = devices.map((device) => Number(textOf(device, 'unitNumber')))
  expect(units).toEqual([0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15])
  expect(new Set([key, ...devices.map((device) => textOf(device, 'key'))]).size).toBe(16)
  expect(diskDevices([])).toEqual([])
})

test('a new disk is a thin file on its datastore, with its capacity rounded up in kilobytes', () => {
  const odd = { ...placed('a'), disk: { key: 'a', capacity: 1025, pool: '' } }
  expect(diskDevices([odd])[1]).toBe(
    '<deviceChange xsi:type="VirtualDeviceConfigSpec"><operation>add</operation>' +
      '<fileOperation>create</fileOperation><device xsi:type="VirtualDisk"><key>-200</key>' +
      '<backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName>[fast &amp; &lt;big&gt;]</fileName>' +
      '<datastore type="Datastore">datastore-10</datastore><diskMode>persistent</diskMode>' +
      '<thinProvisioned>true</thinProvisioned></backing><controllerKey>-100</controllerKey>' +
      '<unitNumber>0</unitNumber><capacityInKB>2</capacityInKB><capacityInBytes>1025</capacityInBytes>' +
      '</device></deviceChange>',
  )
})

test('a card is plugged in as its kind of network wants it', () => {
  const network = { type: 'Network', value: 'network-7' }
  const backings = nicDevices([
    { nic: nic('00:50:56:00:00:01'), backing: { kind: 'standard', network, name: 'VM Network' } },
    { nic: nic(''), backing: { kind: 'distributed', switchUuid: '50 1a', portgroupKey: 'dvportgroup-3' } },
    { nic: nic(''), backing: { kind: 'opaque', networkId: 'seg-1', networkType: 'nsx.LogicalSwitch' } },
  ])
  expect(backings.map((text) => /<backing.*<\/backing>/.exec(text)?.[0])).toEqual([
    '<backing xsi:type="VirtualEthernetCardNetworkBackingInfo"><deviceName>VM Network</deviceName>' +
      '<network type="Network">network-7</network></backing>',
    '<backing xsi:type="VirtualEthernetCardDistributedVirtualPortBackingInfo"><port>' +
      '<switchUuid>50 1a</switchUuid><portgroupKey>dvportgroup-3</portgroupKey></port></backing>',
    '<backing xsi:type="VirtualEthernetCardOpaqueNetworkBackingInfo"><opaqueNetworkId>seg-1</opaqueNetworkId>' +
      '<opaqueNetworkType>nsx.LogicalSwitch</opaqueNetworkType></backing>',
  ])
  expect(backings[0]).toContain('<addressType>manual</addressType><macAddress>00:50:56:00:00:01</macAddress>')
  expect(backings[1]).not.toContain('addressType')
})

const readOf = (entries: Readonly<Record<string, string>>) => {
  const options = childrenOf(xmlNode(wrap('spec', optionValuesText(entries))), 'extraConfig')
  const list = { name: 'val', xsiType: 'ArrayOfOptionValue', refType: '', text: '', children: options }
  const ref = { type: 'VirtualMachine', value: 'vm-1' }
  return { ref, properties: new Map([['config.extraConfig', list]]), missing: new Map() }
}

const optionValuesText = (entries: Readonly<Record<string, string>>): string => optionValues(entries).join('')

test('what is written of an owner is read again, whatever is in it, and one owner has one spelling', () => {
  const texts = fc.string({ unit: 'grapheme' }).filter((text) => !/[\p{Cc}\p{Cn}]/u.test(text))
  fc.assert(
    fc.property(fc.dictionary(texts, texts), texts, (owner, madeBy) => {
      const entries = markEntries({ owner, madeBy, import: 'pending' })
      expect(marksOf(readOf(entries))).toEqual({
        owner: { ...owner },
        madeBy,
        import: 'pending',
        readable: true,
      })
      const turned = Object.fromEntries(Object.entries(owner).reverse())
      expect(markEntries({ owner: turned })['drover.owner']).toBe(entries['drover.owner'])
    }),
  )
})

test('a machine whose configuration is not shown is told from one without marks', () => {
  const ref = { type: 'VirtualMachine', value: 'vm-1' }
  const nothing = { owner: {}, madeBy: '', import: '' }
  expect(marksOf({ ref, properties: new Map(), missing: new Map() })).toEqual({ ...nothing, readable: false })
  expect(marksOf(readOf({ other: 'x' }))).toEqual({ ...nothing, readable: true })
  expect(marksOf(readOf({ 'drover.import': 'whatever', 'drover.owner': '{"a":"1","b":2}' }))).toEqual({
    ...nothing,
    owner: { a: '1' },
    readable: true,
  })
})

test('a name goes to vSphere and comes back the same', () => {
  expect(wireName('50% a/b\\c')).toBe('50%25 a%2fb%5cc')
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (name) => plainName(wireName(name)) === name))
})

test('a path on a datastore is taken apart, and what is none is refused', () => {
  expect(parseDatastorePath('[fast one] web/web 1.vmdk')).toEqual({
    datastore: 'fast one',
    path: 'web/web 1.vmdk',
  })
  for (const wrong of ['web/web.vmdk', '[] x', ''])
    expect(() => parseDatastorePath(wrong)).toThrow('is no path on a datastore')
})
