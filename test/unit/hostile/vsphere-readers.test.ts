import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  cleanHost,
  cleanInstance,
  cleanNetwork,
  cleanStorage,
} from '../../../src/domain/inventory/normalise.ts'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import { instancePaths, readInstance } from '../../../src/platforms/vsphere/inventory/instance-facts.ts'
import { parseDetailedData } from '../../../src/platforms/vsphere/inventory/instance-guest.ts'
import { unpackCursor } from '../../../src/platforms/vsphere/inventory/inventory-cursor.ts'
import { siteItems } from '../../../src/platforms/vsphere/inventory/inventory-read.ts'
import { InventoryTree, type TreeNode } from '../../../src/platforms/vsphere/inventory/inventory-tree.ts'
import {
  readHost,
  readNetwork,
  readStorage,
  sitePaths,
} from '../../../src/platforms/vsphere/inventory/site-facts.ts'
import type { ObjectRead } from '../../../src/platforms/vsphere/soap/property-read.ts'
import { readServiceContent } from '../../../src/platforms/vsphere/soap/service-content.ts'
import { faultError, localizedFault, soapFault } from '../../../src/platforms/vsphere/soap/soap-fault.ts'
import {
  matchDisks,
  networkNames,
  specWithEntries,
} from '../../../src/platforms/vsphere/templates/templates-ovf.ts'
import { numberOf, type XmlNode } from '../../../src/xml/xml-node.ts'
import { usualXmlLimits, XmlRefusal, XmlStream } from '../../../src/xml/xml-stream.ts'
import { hostileNumbers, hostileWords, plainLine } from '../../support/hostile-words.ts'
import { imaginedTree } from '../vsphere/imagined-tree.ts'

/** Names that the readers look for, and words that decide something: so that random trees reach all of them. */
const names = [
  ...['device', 'key', 'backing', 'parent', 'fileName', 'snapshot', 'childSnapshotList', 'rootSnapshotList'],
  ...['GuestNicInfo', 'deviceConfigId', 'macAddress', 'ipAddress', 'ipConfig', 'connectable', 'connected'],
  ...['OptionValue', 'value', 'file', 'disk', 'chain', 'fileKey', 'size', 'type', 'capacityInBytes', 'spec'],
  ...['name', 'vlanId', 'vlan', 'start', 'end', 'HostPortGroup', 'mountInfo', 'accessible', 'summary'],
  ...['numCPU', 'memoryMB', 'deviceInfo', 'label', 'datastore', 'port', 'portgroupKey', 'fault', 'detail'],
]
const words = [
  ...Object.values(hostileWords).map((word) => word.slice(0, 3_000)),
  ...hostileNumbers.map(String),
  ...['NaN', 'Infinity', '1e999', '0x10', '99999999999999999999', 'true', 'poweredOn', 'toString', 'valueOf'],
]
const types = [
  ...['', 'VirtualDisk', 'VirtualE1000', 'VirtualVmxnet3', 'VirtualTPM', 'VirtualDiskFlatVer2BackingInfo'],
  ...['VirtualMachine', 'HostSystem', 'constructor', '__proto__', 'toString', 'hasOwnProperty'],
]

const node = (depth: number): fc.Arbitrary<XmlNode> =>
  fc.record({
    name: fc.constantFrom(...names),
    xsiType: fc.constantFrom(...types),
    refType: fc.constantFrom(...types),
    text: fc.constantFrom(...words),
    children: depth === 0 ? fc.constant([]) : fc.array(node(depth - 1), { maxLength: 5 }),
  })

const objectWith = (paths: readonly string[]): fc.Arbitrary<ObjectRead> =>
  fc
    .tuple(
      fc.constantFrom(
        'VirtualMachine',
        'HostSystem',
        'Datastore',
        'OpaqueNetwork',
        'DistributedVirtualPortgroup',
      ),
      fc.dictionary(fc.constantFrom(...paths), node(4)),
      fc.dictionary(
        fc.constantFrom(...paths),
        fc.record({ type: fc.constantFrom(...types), message: fc.constantFrom(...words) }),
      ),
    )
    .map(([type, properties, missing]) => ({
      ref: { type, value: 'x-1' },
      properties: new Map(Object.entries(properties)),
      missing: new Map(Object.entries(missing)),
    }))

const surroundings = { tree: imaginedTree(), attributes: new Map([['1', '__proto__']]), tags: new Map() }

/** What is thrown is a typed error of a platform, and says nothing that a terminal obeys. */
const typed = (read: () => unknown) => {
  try {
    return read()
  } catch (error) {
    expect(error).toBeInstanceOf(PlatformError)
    const { message, detail } = error as PlatformError
    expect(message).toMatch(plainLine)
    expect(message.length).toBeLessThan(1_100)
    expect(JSON.stringify(detail ?? {}).length).toBeLessThan(20_000)
    return undefined
  }
}

/** They survive being stored: no value is lost on the way through JSON, and no word decides that is none of ours. */
const expectStorable = (facts: object) => {
  expect(JSON.parse(JSON.stringify(facts))).toEqual(facts)
  expect(JSON.stringify(facts)).not.toContain('\\u0000')
}

describe('any tree of elements', () => {
  test('is a machine with facts that can be stored, or a typed error', () => {
    fc.assert(
      fc.property(objectWith(instancePaths), (object) => {
        const facts = typed(() => cleanInstance(readInstance(object, surroundings)).facts)
        if (facts) expectStorable(facts as object)
      }),
      { numRuns: 300 },
    )
  })

  test('is a host, a datastore or a network that can be stored', () => {
    const paths = [...new Set([...sitePaths.host, ...sitePaths.storage, ...sitePaths.portgroup])]
    fc.assert(
      fc.property(objectWith(paths), (object) => {
        expectStorable(cleanHost(readHost(object, surroundings.tree, new Map())).facts)
        expectStorable(cleanStorage(readStorage(object, surroundings.tree)).facts)
        const network = readNetwork(object, surroundings.tree, new Map())
        if (network) expectStorable(cleanNetwork(network).facts)
        siteItems([object], surroundings.tree)
      }),
      { numRuns: 200 },
    )
  })

  test('is a fault that is said in one bounded line, without a secret', () => {
    fc.assert(
      fc.property(node(3), (tree) => {
        for (const fault of [soapFault(tree), localizedFault(tree)]) {
          const error = faultError(fault, { host: 'vc', method: 'X', secrets: ['secret'] })
          expect(error.message).toMatch(plainLine)
          expect(error.message).not.toContain('secret')
          expect(error.message.length).toBeLessThan(1_000)
          expect(String(error.detail?.fault).length).toBeLessThan(101)
        }
      }),
    )
  })

  test('is the content of a service, or the lack of one', () => {
    fc.assert(
      fc.property(node(3), (tree) => {
        expect(readServiceContent(tree).refs).toBeInstanceOf(Map)
      }),
    )
  })
})

test('a word that every object knows is no state, no device and no card', () => {
  const leaf = (name: string, text: string, more: Partial<XmlNode> = {}): XmlNode => ({
    ...{ name, text, xsiType: '', refType: '', children: [] },
    ...more,
  })
  for (const word of ['constructor', '__proto__', 'toString']) {
    const devices = [leaf('device', '', { xsiType: word, children: [leaf('key', '1')] })]
    const object = (state: string): ObjectRead => ({
      ref: { type: 'VirtualMachine', value: 'vm-1' },
      properties: new Map([
        ['config.hardware', leaf('val', '', { children: devices })],
        ['runtime.powerState', leaf('val', state)],
      ]),
      missing: new Map(),
    })
    expect(() => readInstance(object(word), surroundings)).toThrow(PlatformError)
    expect(readInstance(object('poweredOn'), surroundings)).toMatchObject({
      devices: [],
      nics: [],
      power_state: 'on',
    })
  }
})

test('folders in a circle, and in a chain without end, have places all the same', () => {
  const folder = (value: string, parent: string): [string, TreeNode] => [
    value,
    { ref: { type: 'Folder', value }, rawName: 'n'.repeat(100), parent },
  ]
  const chain = Array.from({ length: 50_000 }, (_, index) => folder(`f-${index}`, `f-${index + 1}`))
  const tree = new InventoryTree(new Map([folder('a', 'b'), folder('b', 'a'), folder('c', 'c'), ...chain]), {
    networks: new Map(),
    switches: new Map(),
  })
  for (const id of ['a', 'b', 'c', 'f-0', 'f-49999']) {
    expect(tree.path(id).length).toBeLessThanOrEqual(2_048)
    expect(tree.nearest(id, 'Datacenter')).toBeUndefined()
  }
})

test('snapshots and cards by the hundred thousand are read as fast as a list of them is long', () => {
  const leaf = (name: string, text: string): XmlNode => ({
    name,
    text,
    xsiType: '',
    refType: '',
    children: [],
  })
  const many = 100_000
  const tree = (name: string, index: number): XmlNode => ({
    ...leaf(name, ''),
    children: [leaf('snapshot', `s-${index}`), leaf('name', 'x')],
  })
  const card = (index: number): XmlNode => ({
    ...leaf('device', ''),
    xsiType: 'VirtualE1000',
    children: [leaf('key', String(index)), leaf('macAddress', String(index))],
  })
  const told = (index: number): XmlNode => ({
    ...leaf('GuestNicInfo', ''),
    children: [leaf('deviceConfigId', String(many - index)), leaf('ipAddress', '192.0.2.1')],
  })
  const list = (make: (index: number) => XmlNode) => Array.from({ length: many }, (_, index) => make(index))
  const facts = readInstance(
    {
      ref: { type: 'VirtualMachine', value: 'vm-1' },
      properties: new Map([
        ['config.hardware', { ...leaf('val', ''), children: list(card) }],
        ['guest.net', { ...leaf('val', ''), children: list(told) }],
        ['snapshot', { ...leaf('val', ''), children: list((index) => tree('rootSnapshotList', index)) }],
      ]),
      missing: new Map(),
    },
    surroundings,
  )
  const { facts: clean, problems } = cleanInstance(facts)
  expect([clean.nics.length, clean.snapshots.length, problems.length > 0]).toEqual([256, 1_024, true])
})

test.each([
  ['a word without an end', 'a'.repeat(2_000_000)],
  ['values without an end', "a='".repeat(700_000)],
  ['escapes without an end', `a='${'\\'.repeat(2_000_000)}`],
])('what a guest writes of itself is read in the time that its length allows: %s', (_what, text) => {
  expect(parseDetailedData(text).size).toBeLessThan(3_000)
})

test('a message of a fault is looked through for secrets in the time that its length allows', () => {
  const error = faultError(
    { type: 'X'.repeat(4_000_000), message: `${'session['.repeat(500_000)}secret` },
    { host: 'vc', method: 'X', secrets: ['secret'] },
  )
  expect(error.message.length).toBeLessThan(1_000)
  // A secret that lies across the cut is not told by half.
  const across = faultError(
    {
      type: 'X',
      message: `${'session[x]y '.repeat(682)}${'z'.repeat(8_192 - 682 * 12 - 3)}secret${'z'.repeat(99)}`,
    },
    { host: 'vc', method: 'X', secrets: ['secret'] },
  )
  expect(across.message).not.toContain('sec')
})

test.each(Object.entries(hostileWords))(
  'a cursor that is %s is lost, and everything is read',
  (_kind, word) => {
    for (const text of [
      word,
      JSON.stringify(word),
      JSON.stringify({ format: 1, cookie: word }),
      '[[[[',
      'null',
    ])
      expect(() => unpackCursor(text)).toThrow(expect.objectContaining({ code: 'platform-cursor-lost' }))
  },
)

test.each(['NaN', 'Infinity', '-Infinity', '1e999', 'x', '', '0x', '--1'])('%j is no number', (text) => {
  const leaf = (name: string, inner: string): XmlNode => ({
    name,
    text: inner,
    xsiType: '',
    refType: '',
    children: [],
  })
  expect(numberOf({ ...leaf('a', ''), children: [leaf('n', text)] }, 'n', 7)).toBe(7)
})

describe('a descriptor of an image', () => {
  test('that begins a hundred thousand tags and ends none is looked through once', () => {
    expect(networkNames('<Network '.repeat(400_000))).toEqual([])
    expect(networkNames(`<${'a'.repeat(2_000_000)}`)).toEqual([])
  })

  test('that is endless, or names things without end, is refused', () => {
    for (const ovf of ['x'.repeat(5_000_000), '<Network name="x"/>'.repeat(1_001)])
      expect(() => networkNames(ovf)).toThrow(expect.objectContaining({ code: 'platform-refused' }))
  })

  test.each(Object.entries(hostileWords))('that is %s names nothing, and fits no disk', (_kind, word) => {
    expect(networkNames(word)).toEqual([])
    const wanted = [{ deviceId: 'd', path: word, isNew: false }]
    expect(() => matchDisks(word, wanted, [])).toThrow(PlatformError)
  })

  test('an answer that makes something else of it than one machine is refused in a plain line', () => {
    fc.assert(
      fc.property(node(2), (spec) => {
        typed(() => specWithEntries(spec, []))
      }),
    )
  })
})

describe('XML', () => {
  const read = (text: string | Buffer) => {
    const stream = new XmlStream(usualXmlLimits)
    const bytes = Buffer.from(text as string)
    for (let from = 0; from < bytes.length; from += 65_536) stream.write(bytes.subarray(from, from + 65_536))
    return stream.end()
  }

  test.each([
    ['an external entity', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
    ['a billion laughs', '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><a>&c;</a>'],
    ['an entity of nobody', '<a>&owned;</a>'],
    ['UTF-16 as it says', '<?xml version="1.0" encoding="UTF-16"?><a/>'],
    ['UTF-16 in truth', Buffer.from('\ufeff<a/>', 'utf16le')],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x3c, 0x61])],
    ['a depth without end', '<a>'.repeat(100_000)],
    ['elements without end', `<a>${'<b/>'.repeat(600_000)}</a>`],
    [
      'attributes without end',
      `<a ${Array.from({ length: 400_000 }, (_, index) => `a${index}="x"`).join(' ')}/>`,
    ],
    ['the same attribute twice', '<a b="1" b="2"/>'],
    ['a text without end', `<a>${'x'.repeat(6_000_000)}`],
    ['CDATA without end', `<a><![CDATA[${'x'.repeat(6_000_000)}`],
    ['a comment without end', `<a><!--${'x'.repeat(6_000_000)}`],
    ['an instruction without end', `<a><?x ${'x'.repeat(6_000_000)}`],
    ['a name without end', `<${'x'.repeat(6_000_000)}`],
    ['half a document', '<a><b>'],
    ['two documents', '<a/><a/>'],
    ['nothing', ''],
    ['half a surrogate', '<a>&#xD800;</a>'],
    ['a NUL', '<a>&#0;</a>'],
  ])('with %s is refused', (_what, text) => {
    expect(() => read(text)).toThrow(XmlRefusal)
  })

  test('with prefixes, CDATA and an instruction of others says what it says, and nothing is loaded', () => {
    const { children } = read(
      '<x:a xmlns:x="http://169.254.169.254/"><?php die ?><y:b xsi:type="z:T"><![CDATA[<c>]]></y:b></x:a>',
    )
    expect(children).toEqual([{ name: 'b', xsiType: 'T', refType: '', children: [], text: '<c>' }])
  })
})
