import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { detectOs, distributions, effectiveOs, osProblem, osTypes } from '../../../src/domain/inventory/os.ts'
import {
  applyOverrides,
  defaultPlacement,
  instanceOverridesSchema,
  isHostName,
  networkOverridesSchema,
  overridesProblem,
  placeNetwork,
  targetName,
} from '../../../src/domain/inventory/overrides.ts'
import { sampleInstance, sampleNetwork } from './samples.ts'

/** What guests and platforms really write: os, os_description, os_template. */
test.each([
  ['Ubuntu', 'Ubuntu 22.04.3 LTS', 'Ubuntu Linux (64-bit)', 'linux', 'ubuntu', '22.04'],
  ['', '', 'Ubuntu Linux (64-bit)', 'linux', 'ubuntu', ''],
  [
    'Debian GNU/Linux',
    'Debian GNU/Linux 12 (bookworm)',
    'Debian GNU/Linux 10 (64-bit)',
    'linux',
    'debian',
    '12',
  ],
  ['', '', 'Debian GNU/Linux 11 (64-bit)', 'linux', 'debian', '11'],
  ['Red Hat Enterprise Linux', 'Red Hat Enterprise Linux 9.2 (Plow)', '', 'linux', 'rhel', '9'],
  ['', '', 'Red Hat Enterprise Linux 8 (64-bit)', 'linux', 'rhel', '8'],
  ['AlmaLinux', 'AlmaLinux 9.3 (Shamrock Pampas Cat)', 'Red Hat Enterprise Linux 9', 'linux', 'alma', '9'],
  ['Rocky Linux', 'Rocky Linux 8.8 (Green Obsidian)', '', 'linux', 'rocky', '8'],
  ['CentOS Linux', 'CentOS Linux 7 (Core)', 'CentOS 4/5 or later (64-bit)', 'linux', 'centos', '7'],
  ['', '', 'CentOS 4/5 or later (64-bit)', 'linux', 'centos', ''],
  ['Oracle Linux Server', 'Oracle Linux Server 8.8', '', 'linux', 'oracle', '8'],
  ['SLES', 'SUSE Linux Enterprise Server 15 SP5', '', 'linux', 'suse', '15'],
  ['Amazon Linux', 'Amazon Linux 2023', '', 'linux', 'amazon', '2023'],
  ['Fedora Linux', 'Fedora Linux 39 (Server Edition)', '', 'linux', 'fedora', '39'],
  ['Arch Linux', 'Arch Linux', 'Other 5.x Linux (64-bit)', 'linux', 'arch', ''],
  ['', '', 'Other 5.x or later Linux (64-bit)', 'linux', 'other', ''],
  ['', '', '', 'linux', 'other', ''],
  ['Windows', 'Windows Server 2012 R2, 64-bit (Build 9600)', '', 'windows', 'other', 'Server 2012 R2'],
  ['', '', 'Microsoft Windows Server 2012 (64-bit)', 'windows', 'other', 'Server 2012'],
  ['', '', 'Microsoft Windows Server 2008 R2 (64-bit)', 'windows', 'other', 'Server 2008 R2'],
  ['', '', 'Microsoft Windows Server 2022 (64-bit)', 'windows', 'other', 'Server 2022'],
  ['', '', 'Microsoft Windows Server 2016 or later (64-bit)', 'windows', 'other', ''],
  ['Windows', 'Windows 10 Enterprise, 64-bit', 'Microsoft Windows 10 (64-bit)', 'windows', 'other', '10'],
  ['', '', 'Microsoft Windows 11 (64-bit)', 'windows', 'other', '11'],
  ['', 'Windows Server® 2019', '', 'windows', 'other', 'Server 2019'],
  ['FreeBSD', 'FreeBSD 13.2-RELEASE', 'FreeBSD 13 or later versions (64-bit)', 'bsd', 'freebsd', '13'],
  ['OpenBSD', '', '', 'bsd', 'other', ''],
  ['', 'FortiGate-VM64 v7.2.5', 'Other Linux (64-bit)', 'fortigate', 'other', ''],
])(
  '%s | %s | %s is %s %s %s',
  (os, os_description, os_template, os_type, distribution, distribution_version) => {
    expect(detectOs({ os, os_description, os_template })).toEqual({
      os_type,
      distribution,
      distribution_version,
    })
  },
)

test('whatever a guest says, what is detected fits together', () => {
  const words = fc.constantFrom(
    'Ubuntu',
    'Windows',
    'Server',
    '2019',
    '7.9',
    'FreeBSD',
    'or later',
    'Debian',
    '(64-bit)',
    'SUSE',
    '22.04',
  )
  const text = fc.oneof(
    fc.array(words, { maxLength: 5 }).map((parts) => parts.join(' ')),
    fc.string(),
  )
  fc.assert(
    fc.property(text, text, text, (os, os_description, os_template) => {
      expect(osProblem(detectOs({ os, os_description, os_template }))).toBeNull()
    }),
  )
})

describe('a combination that a person sets', () => {
  test.each([
    [{ os_type: 'windows', distribution: 'debian', distribution_version: '' }, 'distribution'],
    [{ os_type: 'fortigate', distribution: 'ubuntu', distribution_version: '' }, 'distribution'],
    [{ os_type: 'linux', distribution: 'freebsd', distribution_version: '' }, 'distribution'],
    [{ os_type: 'bsd', distribution: 'debian', distribution_version: '' }, 'distribution'],
    [{ os_type: 'windows', distribution: 'other', distribution_version: '2019' }, 'distribution_version'],
    [{ os_type: 'linux', distribution: 'ubuntu', distribution_version: '22' }, 'distribution_version'],
    [{ os_type: 'linux', distribution: 'debian', distribution_version: '12.1' }, 'distribution_version'],
    [{ os_type: 'linux', distribution: 'other', distribution_version: '1' }, 'distribution_version'],
  ] as const)('%o is wrong in its %s', (os, field) => expect(osProblem(os)?.field).toBe(field))

  test.each([
    { os_type: 'windows', distribution: 'other', distribution_version: 'Server 2008 R2' },
    { os_type: 'linux', distribution: 'ubuntu', distribution_version: '24.04' },
    { os_type: 'linux', distribution: 'rhel', distribution_version: '9' },
    { os_type: 'bsd', distribution: 'freebsd', distribution_version: '14' },
    { os_type: 'fortigate', distribution: 'other', distribution_version: '7.2.5' },
  ] as const)('%o is right', (os) => expect(osProblem(os)).toBeNull())

  test('takes away what was detected for another system', () => {
    const ubuntu = { os_type: 'linux', distribution: 'ubuntu', distribution_version: '22.04' } as const
    expect(effectiveOs(ubuntu, { os_type: 'windows' })).toEqual({
      os_type: 'windows',
      distribution: 'other',
      distribution_version: '',
    })
    expect(effectiveOs(ubuntu, { distribution: 'debian' })).toMatchObject({ distribution_version: '' })
    expect(effectiveOs(ubuntu, { distribution: 'freebsd' })).toMatchObject({ os_type: 'bsd' })
    expect(effectiveOs(ubuntu, { distribution_version: '24.04' })).toMatchObject({ distribution: 'ubuntu' })
    expect(effectiveOs(ubuntu, {})).toEqual(ubuntu)
    expect(osTypes.length * distributions.length).toBe(52)
  })
})

describe('overrides of an instance', () => {
  const fieldsOf = (overrides: unknown) =>
    instanceOverridesSchema.safeParse(overrides).error?.issues.map(({ path }) => path.join('.')) ?? []

  test.each([
    [{ name: 'web_01' }, ['name']],
    [{ name: 'a'.repeat(64) }, ['name']],
    [{ name: '-web' }, ['name']],
    [{ name: '42' }, ['name']],
    [{ cpus: 0 }, ['cpus']],
    [{ memory: 1.5 }, ['memory']],
    [{ architecture: 'vax' }, ['architecture']],
    [{ os_type: 'windows', distribution: 'debian' }, ['distribution']],
    [{ started_after: true, stopped_after: true }, ['stopped_after']],
    [{ attributes: { a: 'b\0' } }, ['attributes.a']],
    [{ comment: '\ud800' }, ['comment']],
    [{ unknown: 1 }, ['']],
  ])('%o is refused in %s', (overrides, fields) => expect(fieldsOf(overrides)).toEqual(fields))

  test('what is right is taken as it is', () => {
    const overrides = {
      name: 'web-01',
      cpus: 4,
      memory: 2 ** 31,
      architecture: 'aarch64',
      os_type: 'linux',
      distribution: 'debian',
      distribution_version: '12',
      attributes: { owner: 'eve' },
      comment: 'because',
      disable_migration: false,
      ignore_restrictions: true,
      started_after: false,
      stopped_after: true,
    }
    expect(instanceOverridesSchema.parse(overrides)).toEqual(overrides)
    expect(instanceOverridesSchema.parse({})).toEqual({})
  })

  test('the version alone is judged with what the instance is', () => {
    const facts = sampleInstance()
    expect(overridesProblem(facts, { distribution_version: '24.04' })).toBeNull()
    expect(overridesProblem(facts, { distribution_version: '12' })?.field).toBe('distribution_version')
    expect(overridesProblem(facts, { cpus: 3 })).toBeNull()
  })

  test('they replace the source word by word, and attributes key by key', () => {
    const facts = sampleInstance({ name: 'Web 01 (old)', attributes: { owner: 'ada', site: 'paris' } })
    expect(applyOverrides(facts, {})).toMatchObject({ ...facts, target_name: 'Web01old', os_type: 'linux' })
    const changed = applyOverrides(facts, {
      name: 'web-9',
      cpus: 16,
      attributes: { owner: 'eve' },
      os_type: 'bsd',
    })
    expect(changed).toMatchObject({
      name: 'web-9',
      target_name: 'web-9',
      cpus: 16,
      memory: facts.memory,
      attributes: { owner: 'eve', site: 'paris' },
      os_type: 'bsd',
      distribution: 'other',
    })
  })

  test('a name is one for a host or it is not', () => {
    expect(['a', 'web-01', 'A1', 'x'.repeat(63)].every(isHostName)).toBe(true)
    expect(['', '-a', 'a-', 'a.b', 'a_b', 'ä', '12', 'x'.repeat(64)].some(isHostName)).toBe(false)
    expect(targetName('Wéb_01 (x)')).toBe('Wb01x')
  })
})

describe('where a network lands', () => {
  test('by default under its own name, distributed ones on a trunk with their VLAN', () => {
    expect(defaultPlacement(sampleNetwork())).toEqual({
      network: 'shop-front',
      nictype: 'managed',
      vlan_id: '',
    })
    const distributed = sampleNetwork({ type: 'distributed', vlan: '100,200-210' })
    expect(defaultPlacement(distributed)).toMatchObject({ nictype: 'physical', vlan_id: '100,200-210' })
    expect(defaultPlacement(sampleNetwork({ type: 'nsx', vlan: '9' }))).toMatchObject({
      nictype: 'managed',
      vlan_id: '',
    })
    expect(defaultPlacement(sampleNetwork({ location: '' })).network).toBe('shop')
  })

  test('unless a person says otherwise', () => {
    const distributed = sampleNetwork({ type: 'distributed', vlan: '100' })
    expect(placeNetwork(distributed, {})).toEqual(defaultPlacement(distributed))
    expect(placeNetwork(distributed, { nictype: 'managed', network: 'br0' })).toEqual({
      network: 'br0',
      nictype: 'managed',
      vlan_id: '',
    })
    expect(placeNetwork(distributed, { nictype: 'bridged', vlan_id: '7' })).toMatchObject({ vlan_id: '7' })
  })

  test('a VLAN list is stored without the spaces around its parts', () => {
    expect(networkOverridesSchema.parse({ nictype: 'bridged', vlan_id: ' 100, 200-210' }).vlan_id).toBe(
      '100,200-210',
    )
  })

  test.each([
    [{ network: 'br0' }, ['nictype']],
    [{ vlan_id: '7' }, ['nictype']],
    [{ nictype: 'managed', vlan_id: '7' }, ['vlan_id']],
    [{ nictype: 'bridged', vlan_id: '4095' }, ['vlan_id']],
    [{ nictype: 'bridged', vlan_id: '20-10' }, ['vlan_id']],
    [{ nictype: 'bridged', vlan_id: 'x' }, ['vlan_id']],
    [{ nictype: 'bridged', vlan_id: '3 0 1' }, ['vlan_id']],
    [{ nictype: 'bridged', vlan_id: '100 200' }, ['vlan_id']],
    [{ nictype: 'routed' }, ['nictype']],
    [{ nictype: 'bridged', network: 'a b' }, ['network']],
    [{ nictype: 'bridged', network: 'br0', vlan_id: '1,20-30' }, []],
    [{ nictype: 'physical' }, []],
    [{}, []],
  ])('of a network %o is wrong in %s', (overrides, fields) => {
    const issues = networkOverridesSchema.safeParse(overrides).error?.issues ?? []
    expect(issues.map(({ path }) => path.join('.'))).toEqual(fields)
  })
})
