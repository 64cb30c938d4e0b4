import { describe, expect, test } from 'vitest'
import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { InstanceOverrides } from '../../../src/domain/inventory/overrides.ts'
import { evaluate } from '../../../src/domain/inventory/rules/evaluate.ts'
import { applyWaivers } from '../../../src/domain/inventory/rules/waivers.ts'
import {
  endsRunning,
  instanceBlocks,
  type StartAsk,
  startEntry,
} from '../../../src/domain/migration/batch/start-batch.ts'
import { effective, sampleContext, sampleDisk, sampleNic } from '../inventory/samples.ts'

const findingsOf = (changes: Partial<InstanceFacts> = {}, overrides: InstanceOverrides = {}) =>
  evaluate(effective(changes, overrides), sampleContext({ overrides }))
const there = { gone: false, ignored: null, migrated: false }
const ask = (changes: Partial<StartAsk> = {}): StartAsk => ({
  ...there,
  matches: true,
  findings: [],
  allowances: {},
  force: false,
  running: true,
  overrides: {},
  ...changes,
})
const noAddress = { nics: [sampleNic({ ipv4_addresses: [] })] }

test.each<[string, Partial<StartAsk>, string, string]>([
  ['matches and nothing is wrong with it', {}, 'waiting', 'waiting'],
  ['no longer matches', { matches: false }, 'conflict', 'no-longer-matches'],
  ['cannot be asked', { matches: { problem: 'No such key.' } }, 'conflict', 'expression-failed'],
  ['no longer matches, by force', { matches: false, force: true }, 'waiting', 'waiting'],
  ['cannot be asked, by force', { matches: { problem: 'x' }, force: true }, 'waiting', 'waiting'],
  ['is gone', { gone: true }, 'blocked', 'instance-gone'],
  ['is gone, by force', { gone: true, force: true }, 'blocked', 'instance-gone'],
  ['is left out', { ignored: 'template' }, 'blocked', 'instance-ignored'],
  ['is gone and no longer matches', { gone: true, matches: false }, 'conflict', 'no-longer-matches'],
  ['is restricted', { findings: findingsOf({ cpus: 0 }) }, 'blocked', 'no-size'],
  ['is restricted, by force', { findings: findingsOf({ cpus: 0 }), force: true }, 'blocked', 'no-size'],
  [
    'no longer matches and is restricted',
    { matches: false, findings: findingsOf({ cpus: 0 }) },
    'conflict',
    'no-longer-matches',
  ],
  [
    'no longer matches and is restricted, by force',
    { matches: false, findings: findingsOf({ cpus: 0 }), force: true },
    'blocked',
    'no-size',
  ],
])('an instance that %s', (_what, changes, state, code) => {
  const entry = startEntry(ask(changes))
  expect(entry).toMatchObject({ state, stage: 'background', reason: { code } })
})

test('every reason is listed, the gravest first', () => {
  const findings = evaluate(effective({ cpus: 0, ...noAddress }), sampleContext({ tracking: {} })).reverse()
  const { reason, reasons } = startEntry(ask({ matches: false, findings }))
  const codes = reasons.map(({ code }) => code)
  expect(reason).toEqual(reasons[0])
  expect([codes[0], codes.at(-1)]).toEqual(['no-longer-matches', 'tracking-unverified'])
  expect([...codes].sort()).toEqual(['no-ipv4', 'no-longer-matches', 'no-size', 'tracking-unverified'])
  for (const { message } of reasons) expect(message).toMatch(/\.$/)
})

describe('instanceBlocks', () => {
  test.each([
    ['allow_no_ipv4', noAddress, 'no-ipv4'],
    ['allow_no_background_import', { background_import: false }, 'tracking-off'],
    ['allow_unknown_os', { os: '', os_description: '', os_template: 'Other Linux (64-bit)' }, 'unknown-os'],
  ] as const)('%s settles its own rule and no other', (allowance, changes, rule) => {
    const findings = findingsOf(changes)
    const codes = (allowed: string) =>
      instanceBlocks({ ...there, findings }, { [allowed]: true }).map(({ code }) => code)
    expect(codes(allowance)).not.toContain(rule)
    for (const other of ['allow_no_ipv4', 'allow_no_background_import', 'allow_unknown_os'])
      if (other !== allowance) expect(codes(other)).toContain(rule)
  })

  test('a waiver settles what may be waived, and nothing else', () => {
    const findings = findingsOf({ disks: [sampleDisk({ mode: 'independent' })], cpus: 0 })
    const waive = (rule: string) =>
      applyWaivers(findings, [{ rule, who: 'ada', why: 'known', until: null }], new Date(0))
    const codes = (rule: string) =>
      instanceBlocks({ ...there, findings: waive(rule) }, {}).map(({ code }) => code)
    expect(codes('disk-independent')).toEqual(codes('none').filter((code) => code !== 'disk-independent'))
    expect(codes('none')).toEqual(expect.arrayContaining(['disk-independent', 'no-size']))
    expect(codes('no-size')).toEqual(codes('none'))
  })

  test('what was migrated is never begun again, whatever is allowed', () => {
    const begun = startEntry(ask({ migrated: true, force: true }))
    expect(begun).toMatchObject({ state: 'blocked', reason: { code: 'already-migrated' } })
  })

  test('a warning that is no restriction blocks nothing', () => {
    const findings = findingsOf({ cpu_hot_plug: true, memory_hot_plug: true })
    expect(findings.length).toBeGreaterThan(0)
    expect(instanceBlocks({ ...there, findings }, {})).toEqual([])
  })
})

test.each([
  [true, {}, true],
  [false, {}, false],
  [false, { started_after: true }, true],
  [true, { stopped_after: true }, false],
  [true, { started_after: false, stopped_after: false }, true],
])('of a source that runs: %s, with %o, the target runs at the end: %s', (running, overrides, ends) => {
  expect(endsRunning(running, overrides)).toBe(ends)
  expect(startEntry(ask({ running, overrides })).running).toBe(ends)
})
