import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DeviceFacts, InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import { findRule, rules, rulesVersion } from '../../../src/domain/inventory/rules/catalogue.ts'
import { describeRules } from '../../../src/domain/inventory/rules/describe-rules.ts'
import {
  countFleet,
  evaluate,
  readiness,
  restrictions,
} from '../../../src/domain/inventory/rules/evaluate.ts'
import type { RuleContext } from '../../../src/domain/inventory/rules/rule.ts'
import { applyWaivers, waiverRequestSchema } from '../../../src/domain/inventory/rules/waivers.ts'
import { readSource } from '../repository/sources.ts'
import { effective, sampleContext, sampleDisk, sampleNic } from './samples.ts'

const device = (kind: DeviceFacts['kind'], connected = true): Partial<InstanceFacts> => ({
  devices: [{ kind, label: `a ${kind}`, connected }],
})
const disk = (changes: Parameters<typeof sampleDisk>[0]): Partial<InstanceFacts> => ({
  disks: [sampleDisk(changes)],
})
const nic = (changes: Parameters<typeof sampleNic>[0]): Partial<InstanceFacts> => ({
  nics: [sampleNic(changes)],
})
const guest = (changes: Partial<InstanceFacts['guest']>): Partial<InstanceFacts> => ({
  guest: { agent: 'running', agent_version: '1', hostname: 'web-01', ...changes },
})
const snapshot = (ref: string) => ({ ref, name: ref, created_at: null, memory: false, parent: null })
const twins = (changes: Partial<InstanceFacts>) => ({
  fleet: countFleet([effective(), effective({ uuid: 'x', name: 'other', nics: [], ...changes })]),
})

type Case = [rule: string, changes: Partial<InstanceFacts>, context?: Partial<RuleContext>]

/** For each rule, facts that break it and nothing else, but for what the third column says goes with it. */
const cases: Case[] = [
  ['disabled', {}, { overrides: { disable_migration: true } }],
  ['no-size', { cpus: 0 }],
  ['suspended', { power_state: 'suspended' }],
  ['fault-tolerant', { fault_tolerant: true }],
  ['cpu-hot-plug', { cpu_hot_plug: true }],
  ['memory-hot-plug', { memory_hot_plug: true }],
  ['secure-boot', { secure_boot: true }],
  ['snapshots-present', { snapshots: [snapshot('a')] }],
  ['too-many-snapshots', { snapshots: Array.from({ length: 31 }, (_, index) => snapshot(`${index}`)) }],
  ['needs-consolidation', { needs_consolidation: true }],
  ['tracking-off', { background_import: false }],
  ['tracking-refused', {}, { tracking: { 2000: 'refused' } }],
  ['tracking-unverified', {}, { tracking: {} }],
  ['hardware-too-old', { hardware_version: 'vmx-04' }],
  ['pci-passthrough', device('pci-passthrough', false)],
  ['vgpu', device('vgpu')],
  ['sriov', device('sriov-nic')],
  ['usb', device('usb')],
  ['nvdimm', device('nvdimm')],
  ['serial-port', device('serial')],
  ['parallel-port', device('parallel')],
  ['cdrom-mounted', device('cdrom')],
  ['floppy-mounted', device('floppy')],
  ['tpm', { tpm: true }],
  ['encrypted', { encrypted: true }],
  ['no-disks', { disks: [] }],
  ['disk-raw', disk({ backing: 'raw' })],
  ['disk-raw-mapping', disk({ backing: 'raw-mapping' })],
  ['disk-backing-unknown', disk({ backing: 'unknown' })],
  ['disk-capacity-invalid', disk({ capacity: 0 })],
  ['disk-independent', disk({ mode: 'independent' })],
  ['disk-mode-unknown', disk({ mode: 'unknown' })],
  ['disk-shared', disk({ shared: true })],
  ['disk-encrypted', disk({ encrypted: true })],
  ['disk-unreadable', disk({ unreadable: 'is encrypted' })],
  ['disk-without-datastore', disk({ datastore: '' })],
  ['datastore-unknown', {}, { datastoreAccessible: () => undefined }],
  ['datastore-inaccessible', {}, { datastoreAccessible: () => false }],
  ['disk-huge', disk({ capacity: 2 ** 42 })],
  ['too-many-disks', { disks: Array.from({ length: 51 }, () => sampleDisk()) }],
  ['unknown-os', { os: '', os_description: '', os_template: 'Other 4.x Linux (64-bit)' }],
  ['unknown-windows', { os: 'Windows', os_description: 'Windows Vista', os_template: '' }],
  ['architecture-unknown', { architecture: '' }],
  ['architecture-unsupported', { architecture: 'sparc64' }],
  ['name-invalid', { name: '___' }],
  ['name-changes', { name: 'web_01' }],
  ['name-clash', {}, twins({ name: 'WEB-01' })],
  ['uuid-clash', {}, twins({ uuid: effective().uuid })],
  ['default-host-name', guest({ hostname: 'localhost.localdomain' })],
  ['host-name-unknown', guest({ hostname: '' })],
  ['agent-missing', guest({ agent: 'not-installed' })],
  ['agent-not-running', guest({ agent: 'not-running' })],
  ['no-ipv4', nic({ ipv4_addresses: [], ipv6_addresses: ['2001:db8::1'] })],
  ['nic-without-address', { nics: [sampleNic(), sampleNic({ key: '2', mac: 'b', ipv4_addresses: [] })] }],
  ['nic-not-connected', nic({ connected: false })],
  ['nic-without-network', nic({ network_ref: '' })],
  ['nic-without-mac', nic({ mac: '' })],
  ['too-many-nics', { nics: Array.from({ length: 11 }, (_, index) => sampleNic({ mac: `m${index}` })) }],
  ['mac-clash', {}, twins({ nics: [sampleNic({ ipv4_addresses: [] })] })],
  ['address-clash', {}, twins({ nics: [sampleNic({ mac: 'other' })] })],
]

/** What cannot be without the other. */
const companions: Readonly<Record<string, readonly string[]>> = {
  'too-many-snapshots': ['snapshots-present'],
  'name-invalid': [],
}

const found = (changes: Partial<InstanceFacts>, context: Partial<RuleContext> = {}) =>
  evaluate(effective(changes, context.overrides), sampleContext(context))

describe('eligibility rules', () => {
  test('an ordinary instance breaks none', () => {
    expect(found({})).toEqual([])
    expect(readiness([])).toBe('ready')
  })

  test.each(cases)('%s is found where it holds, alone', (rule, changes, context) => {
    const findings = found(changes, context)
    expect(findings.map((finding) => finding.rule).sort()).toEqual([rule, ...(companions[rule] ?? [])].sort())
    for (const { evidence } of findings) {
      expect(evidence.length).toBeGreaterThan(0)
      expect(evidence.length).toBeLessThanOrEqual(21)
      for (const sentence of evidence) expect(sentence).toMatch(/\S.*\.$/)
    }
  })

  test('every rule has a case', () => {
    expect(cases.map(([rule]) => rule).sort()).toEqual(rules.map(({ id }) => id).sort())
  })

  test('rules are data that a person can read', () => {
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length)
    for (const rule of rules) {
      expect(rule.id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      expect(rule.remedy).toMatch(/^[A-Z].*\.$/s)
      expect(rule.title).not.toMatch(/[.|]$/)
      expect(`${rule.title}${rule.remedy}`).not.toContain('|')
      if (rule.severity === 'critical') expect(rule.restriction).toBe(true)
    }
    expect(rulesVersion).toMatch(/^[\w-]{12}$/)
  })

  test('all reasons are listed, the gravest first', () => {
    const findings = found({
      ...disk({ shared: true, mode: 'independent' }),
      tpm: true,
      secure_boot: true,
      cpus: 0,
    })
    expect(findings.map(({ rule }) => rule)).toEqual([
      'disk-independent',
      'disk-shared',
      'no-size',
      'tpm',
      'secure-boot',
    ])
    expect(readiness(findings)).toBe('blocked')
  })

  test('many pieces of evidence are counted, not listed', () => {
    const disks = Array.from({ length: 50 }, (_, index) => sampleDisk({ key: `${index}`, shared: true }))
    expect(found({ disks }, { tracking: {} })[0]?.evidence.at(-1)).toBe('And 30 more.')
  })

  test('hostile facts break no rule', () => {
    const text = fc.string({ unit: 'binary', maxLength: 50 })
    fc.assert(
      fc.property(text, text, text, fc.integer(), (name, os, architecture, cpus) => {
        expect(() =>
          found({ name, os, architecture, cpus, os_template: os, hardware_version: name }),
        ).not.toThrow()
      }),
    )
  })
})

describe('what lets an instance through all the same', () => {
  test.each([
    ['unknown-os', { os: '', os_description: '', os_template: '' }, 'allow_unknown_os'],
    ['no-ipv4', nic({ ipv4_addresses: [], ipv6_addresses: ['2001:db8::1'] }), 'allow_no_ipv4'],
    ['tracking-off', { background_import: false }, 'allow_no_background_import'],
  ] as const)('a batch may allow %s', (rule, changes, allowance) => {
    const facts = effective(changes)
    expect(restrictions(evaluate(facts, sampleContext())).map((finding) => finding.rule)).toEqual([rule])
    const findings = evaluate(facts, sampleContext(), { [allowance]: true })
    expect(findings).toMatchObject([{ rule, settled: { by: allowance } }])
    expect(restrictions(findings)).toEqual([])
    expect(readiness(findings)).toBe('ready')
  })

  test('an override of the system makes it known', () => {
    const unknown = { os: '', os_description: '', os_template: '' }
    expect(found(unknown, { overrides: { os_type: 'linux' } })).toEqual([])
    expect(found(unknown, { overrides: { distribution: 'debian' } })).toEqual([])
  })

  test('ignore_restrictions passes over restrictions, never over a hand or the impossible', () => {
    const overrides = { ignore_restrictions: true, disable_migration: true }
    const disks = [sampleDisk({ backing: 'raw' }), sampleDisk({ key: '2001', mode: 'independent' })]
    const findings = found({ disks, encrypted: true }, { overrides })
    expect(restrictions(findings).map(({ rule }) => rule)).toEqual(['disabled', 'disk-raw'])
    const settled = findings.filter((finding) => finding.settled).map(({ rule }) => rule)
    expect(settled).toEqual(['disk-independent', 'encrypted'])
  })

  test('tracking that is still to be verified keeps it waiting, without calling it blocked', () => {
    const findings = found({}, { tracking: {} })
    expect(readiness(findings)).toBe('warning')
    expect(restrictions(findings).map(({ rule }) => rule)).toEqual(['tracking-unverified'])
  })

  const now = new Date('2026-06-01T00:00:00Z')
  const waiver = { rule: 'disk-independent', who: 'ada', why: 'it may be off', until: '2026-06-02T00:00:00Z' }

  test('a waiver counts until it ends, and is shown', () => {
    const findings = found(disk({ mode: 'independent' }))
    const waived = applyWaivers(findings, [waiver], now)
    expect(waived).toMatchObject([
      { rule: 'disk-independent', settled: { by: 'waiver', who: 'ada', why: 'it may be off' } },
    ])
    expect(readiness(waived)).toBe('ready')
    expect(readiness(applyWaivers(findings, [waiver], new Date(waiver.until)))).toBe('blocked')
    expect(readiness(applyWaivers(findings, [{ ...waiver, until: 'nonsense' }], now))).toBe('blocked')
    expect(readiness(applyWaivers(findings, [{ ...waiver, until: null }], now))).toBe('ready')
    expect(readiness(applyWaivers(findings, [{ ...waiver, rule: 'tpm' }], now))).toBe('blocked')
  })

  test('an expired waiver does not hide a valid one', () => {
    const expired = { ...waiver, until: '2026-05-01T00:00:00Z' }
    expect(readiness(applyWaivers(found(disk({ mode: 'independent' })), [expired, waiver], now))).toBe(
      'ready',
    )
  })

  test('what cannot be waived cannot be asked for, and counts for nothing when it was', () => {
    const raw = { rule: 'disk-raw', why: 'please' }
    expect(waiverRequestSchema.safeParse(raw).error?.issues[0]?.message).toContain('cannot be waived')
    expect(waiverRequestSchema.safeParse({ rule: 'nonsense', why: 'x' }).success).toBe(false)
    expect(waiverRequestSchema.safeParse({ rule: 'tpm', why: '  ' }).success).toBe(false)
    expect(waiverRequestSchema.safeParse({ rule: 'tpm', why: 'keys are at hand' }).success).toBe(true)
    const findings = found(disk({ backing: 'raw' }))
    expect(readiness(applyWaivers(findings, [{ ...waiver, rule: 'disk-raw' }], now))).toBe('blocked')
    expect(findRule('disk-raw')?.waivable).toBe(false)
  })
})

test('docs/rules.md is what the rules make it: npm run docs:rules writes it', () => {
  expect(readSource('docs/rules.md')).toBe(describeRules())
})
