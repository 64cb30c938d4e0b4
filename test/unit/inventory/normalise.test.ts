import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canonicalIpv4,
  canonicalIpv6,
  canonicalMac,
  canonicalUuid,
} from '../../../src/domain/inventory/addresses.ts'
import { limits, naturalOrder } from '../../../src/domain/inventory/bounded-text.ts'
import { diffFacts } from '../../../src/domain/inventory/changes.ts'
import { canonicalJson, factsHash } from '../../../src/domain/inventory/facts-hash.ts'
import {
  cleanHost,
  cleanInstance,
  cleanNetwork,
  cleanStorage,
} from '../../../src/domain/inventory/normalise.ts'
import { sampleDisk, sampleInstance, sampleNetwork, sampleNic } from './samples.ts'

test.each([
  ['00:50:56:AA:00:01', '00:50:56:aa:00:01'],
  ['00-50-56-aa-00-01', '00:50:56:aa:00:01'],
  ['0050.56aa.0001', '00:50:56:aa:00:01'],
  ['005056AA0001', '00:50:56:aa:00:01'],
  ['0:50:56:aa:0:1', '00:50:56:aa:00:01'],
  ['00:50:56:aa:00', undefined],
  ['hello', undefined],
  ['', undefined],
])('the MAC %s is written %s', (text, expected) => expect(canonicalMac(text)).toBe(expected))

test.each([
  ['5029AAAA-1111-2222-3333-444455556666', '5029aaaa-1111-2222-3333-444455556666'],
  ['{5029aaaa111122223333444455556666}', '5029aaaa-1111-2222-3333-444455556666'],
  ['urn:uuid:5029aaaa-1111-2222-3333-444455556666', '5029aaaa-1111-2222-3333-444455556666'],
  ['50 29 aa aa 11 11 22 22-33 33 44 44 55 55 66 66', '5029aaaa-1111-2222-3333-444455556666'],
  ['00000000-0000-0000-0000-000000000000', undefined],
  ['ffffffff-ffff-ffff-ffff-ffffffffffff', undefined],
  ['not-a-uuid', undefined],
])('the UUID %s is written %s', (text, expected) => expect(canonicalUuid(text)).toBe(expected))

test.each([
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['2001:db8::0001/64', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['::ffff:10.0.0.1', '::ffff:a00:1'],
  ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
  ['::', '::'],
  ['1:2:3:4:5:6:7:8:9', undefined],
  ['1::2::3', undefined],
  ['10.0.0.1', undefined],
])('the IPv6 address %s is written %s', (text, expected) => expect(canonicalIpv6(text)).toBe(expected))

test.each([
  ['10.1.0.7', '10.1.0.7'],
  ['010.001.0.7/24', '10.1.0.7'],
  ['10.1.0.256', undefined],
  ['10.1.0', undefined],
])('the IPv4 address %s is written %s', (text, expected) => expect(canonicalIpv4(text)).toBe(expected))

describe('a clean instance', () => {
  test('is what it was when nothing was wrong', () => {
    expect(cleanInstance(sampleInstance())).toEqual({ facts: sampleInstance(), problems: [] })
  })

  test('has bounded texts and lists, and says what was cut', () => {
    const nics = Array.from({ length: 10_000 }, (_, index) => sampleNic({ key: `nic-${index}` }))
    const { facts, problems } = cleanInstance(sampleInstance({ name: 'x'.repeat(100_000), nics }))
    expect(facts.name).toHaveLength(limits.name)
    expect(facts.nics).toHaveLength(limits.nics)
    expect(problems).toEqual([
      'The field name has 100000 characters; 512 are kept.',
      'There are 10000 NICs; the first 256 are kept.',
    ])
  })

  test('stays within what a row can hold, whatever comes', () => {
    const long = 'x'.repeat(9_000)
    const many = Array.from({ length: 2_000 }, (_, index) => `${index}-${long}`)
    const record = Object.fromEntries(many.map((name) => [name, many.slice(0, 200)]))
    const { facts } = cleanInstance(
      sampleInstance({
        tags: record,
        attributes: Object.fromEntries(many.map((name) => [name, long])),
        disks: many.map((key) => sampleDisk({ key, name: long })),
      }),
    )
    expect(JSON.stringify(facts).length).toBeLessThan(16_000_000)
    expect(facts.disks).toHaveLength(limits.disks)
  })

  test('says the most of what was wrong, and how much more there was', () => {
    const nics = Array.from({ length: 100 }, (_, index) => sampleNic({ key: `${index}`, mac: 'no' }))
    const { problems } = cleanInstance(sampleInstance({ nics }))
    expect(problems).toHaveLength(21)
    expect(problems.at(-1)).toBe('80 more of the same kind.')
  })

  test('can be stored: NUL and half characters are replaced, also where the cut is', () => {
    const half = '\ud83d\ude00'.charAt(0)
    const description = `${'y'.repeat(limits.description - 1)}\ud83d\ude00`
    const { facts } = cleanInstance(
      sampleInstance({
        name: `a\0b${half}`,
        description,
        tags: { 'k\0': [half] },
        attributes: { [half]: '\0' },
      }),
    )
    expect(facts.name).toBe('a\ufffdb\ufffd')
    expect(facts.description).toBe('y'.repeat(limits.description - 1))
    expect(facts.tags).toEqual({ 'k\ufffd': ['\ufffd'] })
    expect(facts.attributes).toEqual({ '\ufffd': '\ufffd' })
  })

  test('has only addresses that lead somewhere, each once and in order', () => {
    const nic = sampleNic({
      ipv4_addresses: ['10.1.0.10', '169.254.3.4', '10.1.0.9', '10.1.0.10', '127.0.0.1', 'x'],
      ipv6_addresses: ['fe80::250:56ff:feaa:1', '2001:DB8::2', '2001:db8:0::2', '::1'],
    })
    const { facts, problems } = cleanInstance(sampleInstance({ nics: [nic] }))
    expect(facts.nics[0]).toMatchObject({
      ipv4_addresses: ['10.1.0.9', '10.1.0.10'],
      ipv6_addresses: ['2001:db8::2'],
    })
    expect(problems).toEqual(['The IPv4 addresses of NIC 1 hold "x", which is no such address.'])
  })

  test('lists NICs and disks by key, a repeated key once', () => {
    const { facts, problems } = cleanInstance(
      sampleInstance({
        nics: [sampleNic({ key: '4010' }), sampleNic({ key: '4002' }), sampleNic({ key: '4002', mac: '' })],
        disks: [sampleDisk({ key: '' }), sampleDisk({ key: '' })],
      }),
    )
    expect(facts.nics.map(({ key }) => key)).toEqual(['4002', '4010'])
    expect(facts.nics[0]?.mac).toBe('00:50:56:aa:00:01')
    expect(facts.disks.map(({ key }) => key)).toEqual(['#0', '#1'])
    expect(problems).toEqual(['Two NICs have the key "4002"; the first is kept.'])
  })

  test('holds no number that is no count, and no time that is none', () => {
    const { facts } = cleanInstance(
      sampleInstance({
        cpus: Number.NaN,
        memory: -5,
        disks: [sampleDisk({ capacity: 1e300, used: 0.5 })],
        snapshots: [
          { ref: 's1', name: 'a', created_at: 'yesterday', memory: false, parent: null },
          { ref: 's0', name: 'b', created_at: '2026-01-02T03:04:05+01:00', memory: true, parent: 's1' },
        ],
      }),
    )
    expect(facts).toMatchObject({ cpus: 0, memory: 0, disks: [{ capacity: 0, used: 0 }] })
    expect(facts.snapshots.map(({ created_at }) => created_at)).toEqual(['2026-01-02T02:04:05.000Z', null])
  })

  test('survives an answer that has not even the right types, and drops what nobody knows', () => {
    const hostile = { ...sampleInstance(), name: 7, nics: null, tags: null, extra: 'x'.repeat(9_999) }
    const { facts } = cleanInstance(hostile as never)
    expect(facts).toMatchObject({ name: '', nics: [], tags: {} })
    expect(facts).not.toHaveProperty('extra')
  })

  test('a key that means something to JavaScript is an ordinary key', () => {
    const attributes = JSON.parse('{"__proto__":"a","constructor":"b"}') as Record<string, string>
    const { facts } = cleanInstance(sampleInstance({ attributes }))
    expect(JSON.stringify(facts.attributes)).toBe('{"__proto__":"a","constructor":"b"}')
  })

  test('cleaned again is the same, and does not depend on the order of what was said', () => {
    const text = fc.string({ unit: 'binary', maxLength: 30 })
    const nic = fc.record({
      mac: text,
      ipv4_addresses: fc.array(fc.oneof(text, fc.ipV4())),
      ipv6_addresses: fc.array(fc.oneof(text, fc.ipV6())),
    })
    fc.assert(
      fc.property(
        text,
        fc.dictionary(text, fc.array(text, { maxLength: 4 }), { maxKeys: 4 }),
        fc.array(nic, { maxLength: 4 }),
        (name, tags, parts) => {
          const nics = parts.map((part, index) => sampleNic({ ...part, key: `${index}` }))
          const { facts } = cleanInstance(sampleInstance({ name, tags, nics }))
          expect(cleanInstance(facts)).toEqual({ facts, problems: [] })
          const turned = Object.fromEntries(
            Object.entries(tags).map(([key, names]) => [key, names.toReversed()]),
          )
          expect(
            cleanInstance(sampleInstance({ name, tags: turned, nics: nics.toReversed() })).facts.tags,
          ).toEqual(facts.tags)
          expect(JSON.stringify(facts)).not.toContain('\\u0000')
        },
      ),
    )
  })
})

test('networks, hosts and datastores are cleaned alike', () => {
  expect(cleanNetwork(sampleNetwork({ name: 'a\0', subnets: ['b', 'a', 'b'] })).facts).toMatchObject({
    name: 'a\ufffd',
    subnets: ['a', 'b'],
  })
  const host = {
    ref: 'h',
    name: 'esx\0',
    cluster: '',
    datacenter: '',
    state: 'connected',
    cpu_model: '',
    cpu_class: '',
  }
  const sizes = { cpus: 8, memory: -1, cpus_used: 0, memory_used: 0, version: '8' }
  expect(cleanHost({ ...host, ...sizes, state: 'connected' })).toMatchObject({
    facts: { name: 'esx\ufffd', memory: 0 },
    problems: [expect.stringContaining('cannot be stored'), 'The memory is no count and was set to 0.'],
  })
  const storage = { ref: 'd', name: 'ssd', type: 'vmfs', capacity: 9, free: 1, accessible: true }
  expect(cleanStorage({ ...storage, hosts: ['h2', 'h10', 'h2'] }).facts.hosts).toEqual(['h2', 'h10'])
})

describe('the hash of facts', () => {
  const shuffled = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value)
            .toReversed()
            .map(([key, item]) => [key, shuffled(item)]),
        )
      : value

  test('does not depend on the order of keys, and changes with any fact', () => {
    const hash = factsHash(sampleInstance())
    expect(hash).toMatch(/^[\w-]{43}$/)
    expect(factsHash(shuffled(sampleInstance()))).toBe(hash)
    expect(factsHash(sampleInstance({ cpus: 3 }))).not.toBe(hash)
    expect(factsHash(sampleInstance({ tags: { env: ['prod'] } }))).not.toBe(hash)
  })

  test('comes from text that is JSON of the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
        expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value))
      }),
    )
  })
})

describe('the difference of facts', () => {
  test('names items by their key and shows both values', () => {
    const after = sampleInstance({
      cpus: 4,
      nics: [sampleNic({ mac: '00:50:56:aa:00:02' })],
      disks: [sampleDisk(), sampleDisk({ key: '2001' })],
      tags: { env: ['test'], team: ['shop', 'web'] },
    })
    expect(diffFacts(sampleInstance(), after)).toEqual([
      { path: 'cpus', from: 2, to: 4 },
      { path: 'disks[2001]', from: null, to: sampleDisk({ key: '2001' }) },
      { path: 'nics[4000].mac', from: '00:50:56:aa:00:01', to: '00:50:56:aa:00:02' },
      { path: 'tags.env', from: ['prod'], to: ['test'] },
    ])
  })

  test('is bounded in number and in size', () => {
    const attributes = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`k${index}`, 'v'.repeat(2_000)]),
    )
    const changes = diffFacts(sampleInstance(), sampleInstance({ attributes }))
    expect(changes).toHaveLength(65)
    expect(changes.at(-1)).toEqual({ path: 'more', from: null, to: 501 - 64 })
    expect(JSON.stringify(changes).length).toBeLessThan(30_000)
  })

  test('is not taken in by names that every object has', () => {
    const proto = JSON.parse('{"__proto__":{}}') as object
    expect(diffFacts({}, proto)).toEqual([{ path: '__proto__', from: null, to: {} }])
    expect(diffFacts({ toString: 1 }, {})).toHaveLength(1)
  })

  test('is empty only for equal facts', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (a, b) => {
          expect(diffFacts(a, structuredClone(a))).toEqual([])
          expect(diffFacts(a, b).length === 0).toBe(canonicalJson(a) === canonicalJson(b))
        },
      ),
    )
  })
})

test('numbers in names count as numbers, and the order is total', () => {
  expect(['nic-10', 'nic-2', 'nic-02', 'a', ''].sort(naturalOrder)).toEqual([
    '',
    'a',
    'nic-02',
    'nic-2',
    'nic-10',
  ])
  const name = fc.stringMatching(/^[a0-9-]{0,6}$/)
  fc.assert(
    fc.property(name, name, name, (a, b, c) => {
      expect(Math.sign(naturalOrder(a, b))).toBe(-Math.sign(naturalOrder(b, a)) + 0)
      expect(naturalOrder(a, b) === 0).toBe(a === b)
      if (naturalOrder(a, b) < 0 && naturalOrder(b, c) < 0) expect(naturalOrder(a, c)).toBeLessThan(0)
    }),
  )
})

test('a network or pool for all projects is recorded as it was before there were any, and one for some names them in order', () => {
  const before = cleanNetwork(sampleNetwork()).facts
  expect(before).not.toHaveProperty('projects')
  expect(factsHash(cleanNetwork(sampleNetwork({ projects: [] })).facts)).toBe(factsHash(before))
  expect(cleanNetwork(sampleNetwork({ projects: ['shop', 'default', 'shop'] })).facts.projects).toEqual([
    'default',
    'shop',
  ])
})
