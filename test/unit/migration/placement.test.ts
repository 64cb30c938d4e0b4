import { describe, expect, test } from 'vitest'
import type { HostFacts, ProjectFacts, StorageFacts } from '../../../src/domain/inventory/facts.ts'
import {
  type MappedNetwork,
  mergePlacement,
  type PlacementAsk,
  type ScriptPlacement,
} from '../../../src/domain/migration/batch/merge-placement.ts'
import {
  checkPlace,
  type PlaceAsk,
  type TargetView,
} from '../../../src/domain/migration/place/place-check.ts'
import type { Placement } from '../../../src/domain/migration/place/placement.ts'
import { isInSubnet } from '../../../src/domain/migration/place/subnet.ts'
import { effective, sampleDisk, sampleNetwork, sampleNic } from '../inventory/samples.ts'

const mac = '00:50:56:aa:00:01'
const gib = 2 ** 30
const bridge: MappedNetwork = { network: 'shop', nictype: 'managed', vlan_id: '', overridden: false }

describe('mergePlacement', () => {
  const script = (changes: Partial<ScriptPlacement>): ScriptPlacement => ({
    pools: {},
    networks: {},
    ...changes,
  })
  const ask = (changes: Partial<PlacementAsk> = {}): PlacementAsk => ({
    defaults: { target: 'cloud', target_project: 'default', storage_pool: 'local' },
    facts: effective(),
    networks: new Map([['network-7', bridge]]),
    script: null,
    ...changes,
  })

  test('without a script the defaults and the networks decide, and it is said so', () => {
    const { placement, why, problems } = mergePlacement(ask())
    expect(placement).toEqual({
      target: 'cloud',
      project: 'default',
      host: '',
      pools: { 2000: 'local' },
      networks: { [mac]: { network: 'shop', nictype: 'managed', vlan_id: '' } },
    })
    expect(problems).toEqual([])
    expect(why).toEqual([
      { what: 'target', value: 'cloud', because: 'the defaults of the batch' },
      { what: 'project', value: 'default', because: 'the defaults of the batch' },
      { what: 'pool of Hard disk 1', value: 'local', because: 'the defaults of the batch' },
      { what: 'network of Network adapter 1', value: 'shop (managed)', because: 'the name of its network' },
    ])
  })

  test('the script has the last word, on what it speaks of', () => {
    const place = { network: 'dmz', nictype: 'bridged', vlan_id: '7' } as const
    const { placement, why } = mergePlacement(
      ask({ script: script({ target: 'edge', pools: { 2000: 'fast' }, networks: { [mac]: place } }) }),
    )
    expect(placement).toMatchObject({
      target: 'edge',
      project: 'default',
      pools: { 2000: 'fast' },
      networks: { [mac]: place },
    })
    expect(why.filter(({ because }) => because === 'the placement script').map(({ value }) => value)).toEqual(
      ['edge', 'fast', 'dmz (bridged, VLAN 7)'],
    )
  })

  test.each(['2000', 'Hard disk 1', '[ssd] web-01/web-01.vmdk'])('a script may call a disk %s', (called) => {
    const { placement, problems } = mergePlacement(ask({ script: script({ pools: { [called]: 'fast' } }) }))
    expect([placement.pools, problems]).toEqual([{ 2000: 'fast' }, []])
  })

  test.each([mac, '00-50-56-AA-00-01', '4000', 'Network adapter 1'])(
    'a script may call a NIC %s',
    (called) => {
      const place = { network: 'dmz', nictype: 'managed', vlan_id: '' } as const
      const { placement, problems } = mergePlacement(
        ask({ script: script({ networks: { [called]: place } }) }),
      )
      expect([placement.networks, problems]).toEqual([{ [mac]: place }, []])
    },
  )

  test('a disk or a NIC that the instance does not have is refused by name', () => {
    const place = { network: 'dmz', nictype: 'managed', vlan_id: '' } as const
    const strange = script({
      pools: { 'Hard disk 9': 'fast', '': 'fast' },
      networks: { '00:00:00:00:00:09': place },
    })
    const { problems, placement } = mergePlacement(ask({ script: strange }))
    expect(problems.map(({ code }) => code)).toEqual(['unknown-disk', 'unknown-disk', 'unknown-nic'])
    expect(problems[0]?.message).toContain('"Hard disk 9"')
    expect(problems[0]?.message).toContain('"Hard disk 1"')
    expect(problems[2]?.message).toContain('"00:00:00:00:00:09"')
    expect(placement.pools).toEqual({ 2000: 'local' })
  })

  test('a NIC of a network that is not mapped has no place, unless the script places it', () => {
    const networks = new Map<string, MappedNetwork>()
    expect(mergePlacement(ask({ networks })).problems).toMatchObject([{ code: 'nic-without-place' }])
    const place = { network: 'dmz', nictype: 'managed', vlan_id: '' } as const
    const placed = script({ networks: { [mac]: place } })
    expect(mergePlacement(ask({ networks, script: placed })).problems).toEqual([])
  })

  test('a NIC without an address of its own cannot be placed', () => {
    const facts = effective({ nics: [sampleNic({ mac: '' })] })
    expect(mergePlacement(ask({ facts })).problems).toMatchObject([{ code: 'nic-without-mac' }])
  })

  test('a mapping by a person, and a host by a hint, are told apart', () => {
    const networks = new Map([['network-7', { ...bridge, overridden: true }]])
    const host = { name: 'node-2', because: 'spread over hosts' }
    const { why, placement } = mergePlacement(ask({ networks, host }))
    expect(placement.host).toBe('node-2')
    expect(why).toEqual(
      expect.arrayContaining([
        { what: 'host', value: 'node-2', because: 'spread over hosts' },
        {
          what: 'network of Network adapter 1',
          value: 'shop (managed)',
          because: 'a mapping of its network',
        },
      ]),
    )
  })
})

describe('checkPlace', () => {
  const pool = (changes: Partial<StorageFacts> = {}): StorageFacts => ({
    ...{ ref: 'local', name: 'local', type: 'zfs', capacity: 100 * gib, free: 50 * gib, accessible: true },
    hosts: [],
    ...changes,
  })
  const host = (changes: Partial<HostFacts> = {}): HostFacts => ({
    ...{ ref: 'h1', name: 'node-1', cluster: '', datacenter: '', state: 'connected', cpu_model: '' },
    ...{ cpu_class: '', cpus: 8, memory: 64 * gib, cpus_used: 0, memory_used: 0, version: '' },
    ...changes,
  })
  const project = (changes: Partial<ProjectFacts> = {}): ProjectFacts => ({
    ...{ ref: 'p', name: 'default', limits: {}, used: {} },
    ...changes,
  })
  const shop = sampleNetwork({ name: 'shop', ref: 'net', type: 'bridge', subnets: ['10.1.0.0/16'] })
  const target = (changes: Partial<TargetView> = {}): TargetView => ({
    name: 'cloud',
    projects: [project()],
    networks: [shop],
    pools: [pool()],
    hosts: [host()],
    nameHeldBy: 'nobody',
    ...changes,
  })
  const placement = (changes: Partial<Placement> = {}): Placement => ({
    ...{ target: 'cloud', project: 'default', host: '', pools: { 2000: 'local' } },
    networks: { [mac]: { network: 'shop', nictype: 'managed', vlan_id: '' } },
    ...changes,
  })
  const codes = (changes: Partial<PlaceAsk> = {}) =>
    checkPlace({ placement: placement(), facts: effective(), target: target(), late: false, ...changes }).map(
      ({ code }) => code,
    )
  const on = (network: string, nictype: 'managed' | 'bridged' | 'physical', vlan_id = '') =>
    placement({ networks: { [mac]: { network, nictype, vlan_id } } })
  const kinds = (['bridge', 'standard', 'distributed', 'nsx', 'nsx-distributed', 'other'] as const).map(
    (type) => ({ ...shop, name: type, ref: type, type }),
  )

  test.each<[string, Partial<PlaceAsk>, string[]]>([
    ['that is fine', {}, []],
    ['of a target that is not there', { target: undefined }, ['target-absent']],
    ['of another target', { target: target({ name: 'edge' }) }, ['target-absent']],
    ['in no project', { placement: placement({ project: 'shop' }) }, ['project-absent']],
    ['with a name that is taken', { target: target({ nameHeldBy: 'somebody' }) }, ['name-taken']],
    ['with a machine of ours', { target: target({ nameHeldBy: 'us' }) }, []],
    ['with a machine of ours, late', { target: target({ nameHeldBy: 'us' }), late: true }, []],
    ['without our machine, late', { late: true }, ['machine-absent']],
    ['without a place for a NIC', { placement: placement({ networks: {} }) }, ['nic-without-place']],
    ['on no network', { placement: on('office', 'managed') }, ['network-absent']],
    [
      'on a network of another project',
      { target: target({ networks: [{ ...shop, projects: ['shop'] }] }) },
      ['network-of-another-project'],
    ],
    [
      'on a network of its project',
      { target: target({ networks: [{ ...shop, projects: ['default'] }] }) },
      [],
    ],
    [
      'on that of two networks of one name which its project has',
      {
        target: target({
          networks: [
            { ...shop, ref: 'theirs', projects: ['shop'] },
            { ...shop, ref: 'its', projects: ['default'] },
          ],
        }),
      },
      [],
    ],
    [
      'in a pool of another project',
      { target: target({ pools: [pool({ projects: ['shop'] })] }) },
      ['pool-of-another-project'],
    ],
    ['in a pool of its project', { target: target({ pools: [pool({ projects: ['default'] })] }) }, []],
    [
      'on a network that cannot be reached',
      { target: target({ networks: [{ ...shop, accessible: false }] }) },
      ['network-inaccessible'],
    ],
    ['bridged with a VLAN', { placement: on('shop', 'bridged', '10') }, []],
    ['managed with a VLAN', { placement: on('shop', 'managed', '10') }, ['vlan-unavailable']],
    [
      'with a VLAN that the network carries',
      {
        placement: on('shop', 'physical', '20,32-34'),
        target: target({ networks: [{ ...shop, vlan: '20,30-40' }] }),
      },
      [],
    ],
    [
      'with a VLAN that the network does not carry',
      {
        placement: on('shop', 'physical', '20,39-41'),
        target: target({ networks: [{ ...shop, vlan: '20,30-40' }] }),
      },
      ['vlan-unavailable'],
    ],
    ...['3 0 1', '1e2', '0x10', '20-10', '4095', '-5'].map((vlan): [string, Partial<PlaceAsk>, string[]] => [
      `with "${vlan}" for a VLAN, whatever the network carries`,
      { placement: on('shop', 'physical', vlan) },
      ['vlan-invalid'],
    ]),
    [
      'with every VLAN, left to the guest',
      {
        placement: on('shop', 'physical', '0-4094'),
        target: target({ networks: [{ ...shop, vlan: '0-4094' }] }),
      },
      [],
    ],
    [
      'with a VLAN on a network whose own list cannot be read',
      {
        placement: on('shop', 'physical', '20'),
        target: target({ networks: [{ ...shop, vlan: '2 0' }] }),
      },
      ['vlan-unavailable'],
    ],
    [
      'with an address outside',
      { target: target({ networks: [{ ...shop, subnets: ['10.2.0.0/16', 'fd00::/8'] }] }) },
      ['address-outside-subnet'],
    ],
    [
      'in a network of the other family',
      { target: target({ networks: [{ ...shop, subnets: ['fd00::/8'] }] }) },
      [],
    ],
    [
      'with a disk of which no copy can be made, whatever is waived',
      {
        facts: effective(
          { disks: [sampleDisk(), sampleDisk({ key: '2001', shared: true })] },
          { ignore_restrictions: true },
        ),
        placement: placement({ pools: { 2000: 'local', 2001: 'local' } }),
      },
      ['disk-not-copyable'],
    ],
    ['without a pool for a disk', { placement: placement({ pools: {} }) }, ['disk-without-place']],
    ['in no pool', { placement: placement({ pools: { 2000: 'fast' } }) }, ['pool-absent']],
    [
      'in a pool that cannot be reached',
      { target: target({ pools: [pool({ accessible: false })] }) },
      ['pool-inaccessible'],
    ],
    ['in a pool with just enough room', { target: target({ pools: [pool({ free: 9 * gib })] }) }, []],
    ['in a full pool', { target: target({ pools: [pool({ free: 9 * gib - 1 })] }) }, ['pool-full']],
    [
      'in a full pool, late',
      { target: target({ pools: [pool({ free: 0 })], nameHeldBy: 'us' }), late: true },
      [],
    ],
    ['on no host', { placement: placement({ host: 'node-9' }) }, ['host-absent']],
    ['on a host', { placement: placement({ host: 'node-1' }) }, []],
    [
      'on a host that is not up',
      {
        placement: placement({ host: 'node-1' }),
        target: target({ hosts: [host({ state: 'maintenance' })] }),
      },
      ['host-unavailable'],
    ],
    [
      'on a host that does not reach the pool',
      { placement: placement({ host: 'node-1' }), target: target({ pools: [pool({ hosts: ['h2'] })] }) },
      ['host-unavailable'],
    ],
    [
      'on a full host',
      {
        placement: placement({ host: 'node-1' }),
        target: target({ hosts: [host({ memory_used: 61 * gib, cpus: 1 })] }),
      },
      ['host-full', 'host-full'],
    ],
    ['where no host has room', { target: target({ hosts: [host({ memory: gib })] }) }, ['host-full']],
    [
      'where one of the hosts has room',
      { target: target({ hosts: [host({ memory: gib }), host({ ref: 'h2', name: 'node-2' })] }) },
      [],
    ],
    [
      'in a project with just enough room',
      {
        target: target({
          projects: [project({ limits: { cpus: 4, instances: 2 }, used: { cpus: 2, instances: 1 } })],
        }),
      },
      [],
    ],
    [
      'in a full project',
      {
        target: target({
          projects: [
            project({ limits: { cpus: 3, memory: gib, disk: gib, instances: 0 }, used: { cpus: 2 } }),
          ],
        }),
      },
      ['project-full', 'project-full', 'project-full', 'project-full'],
    ],
  ])('a place %s', (_what, changes, found) => {
    expect(codes(changes)).toEqual(found)
  })

  test.each([
    ['bridge', ['managed', 'bridged', 'physical']],
    ['standard', ['managed', 'physical']],
    ['distributed', ['managed', 'physical']],
    ['nsx', ['managed']],
    ['nsx-distributed', ['managed']],
    ['other', ['managed']],
  ] as const)('a network of type %s can be used as %s', (type, fitting) => {
    for (const nictype of ['managed', 'bridged', 'physical'] as const)
      expect(codes({ placement: on(type, nictype), target: target({ networks: kinds }) }), nictype).toEqual(
        fitting.some((one) => one === nictype) ? [] : ['network-unsuited'],
      )
  })

  test('everything that is wrong is listed, each with a sentence', () => {
    const problems = checkPlace({
      placement: placement({ project: 'x', pools: { 2000: 'x' }, networks: {}, host: 'x' }),
      facts: effective({ disks: [sampleDisk(), sampleDisk({ key: '2001' })] }),
      target: target({ nameHeldBy: 'somebody' }),
      late: false,
    })
    expect(problems.map(({ code }) => code).sort()).toEqual([
      'disk-without-place',
      'host-absent',
      'name-taken',
      'nic-without-place',
      'pool-absent',
      'project-absent',
    ])
    for (const { message } of problems) expect(message).toMatch(/\.$/)
  })
})

test.each<[string, string, boolean | undefined]>([
  ['10.1.2.3', '10.1.0.0/16', true],
  ['10.2.2.3', '10.1.0.0/16', false],
  ['10.1.2.3', '0.0.0.0/0', true],
  ['10.1.2.3', '10.1.2.3/32', true],
  ['10.1.2.4', '10.1.2.3/32', false],
  ['fd00::7', 'fd00::/8', true],
  ['2001:db8:0:1::7', '2001:db8:0:1::/64', true],
  ['2001:db8:0:2::7', '2001:db8:0:1::/64', false],
  ['::1', '::/0', true],
  ['10.1.2.3', 'fd00::/8', undefined],
  ['10.1.2.3', '10.1.0.0/33', undefined],
  ['10.1.2.3', '10.1.0.0', undefined],
  ['nothing', '10.1.0.0/16', undefined],
])('%s in %s: %s', (address, subnet, answer) => {
  expect(isInSubnet(address, subnet)).toBe(answer)
})
