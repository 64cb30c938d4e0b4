import { describe, expect, test } from 'vitest'
import { type Baseline, readBaseline } from '../../../src/domain/migration/verify/baseline.ts'
import { type BootFacts, decideBoot } from '../../../src/domain/migration/verify/verify-boot.ts'
import {
  checkGuest,
  failedChecks,
  type GuestSeen,
} from '../../../src/domain/migration/verify/verify-guest.ts'
import { whyStale } from '../../../src/domain/migration/verify/verify-source.ts'

const mac = '00:50:56:00:00:01'
const baseline: Baseline = {
  agent: 'running',
  hostname: 'web-01',
  addresses: [{ mac, address: '192.0.2.11' }],
  ports: [
    { port: 22, open: true },
    { port: 81, open: false },
  ],
}
const seen: GuestSeen = { agent: 'running', hostname: 'web-01', addresses: baseline.addresses, open: [22] }
const ports = [22, 81]
const resultsOf = (before: Baseline | null, now: GuestSeen) =>
  Object.fromEntries(checkGuest(before, now, ports).map(({ name, result }) => [name, result]))

describe('a guest is compared with its baseline', () => {
  test('one that is as it was passes all', () => {
    expect(resultsOf(baseline, seen)).toEqual({
      agent: 'passed',
      hostname: 'passed',
      [`addresses-${mac}`]: 'passed',
      'port-22': 'passed',
      'port-81': 'passed',
    })
  })
  test.each([
    ['agent', { agent: 'not-running' }, 'failed'],
    ['agent', { agent: 'unknown' }, 'failed'],
    ['port-22', { open: [] }, 'failed'],
    ['port-81', { open: [22, 81] }, 'differs'],
    ['hostname', { hostname: 'localhost' }, 'differs'],
    [`addresses-${mac}`, { addresses: [] }, 'differs'],
    [`addresses-${mac}`, { addresses: [{ mac, address: '192.0.2.99' }] }, 'differs'],
  ] as const)('%s of %j: %s', (name, change, result) => {
    expect(resultsOf(baseline, { ...seen, ...change } as GuestSeen)[name]).toBe(result)
  })
  test('an address on a card that had none is told', () => {
    const more = [...baseline.addresses, { mac: '00:50:56:00:00:02', address: '192.0.2.12' }]
    expect(resultsOf(baseline, { ...seen, addresses: more })['addresses-00:50:56:00:00:02']).toBe('differs')
  })
  test('without a baseline nothing can fail, and it says that it was not asked', () => {
    const checks = checkGuest(null, { ...seen, agent: 'unknown', open: [] }, ports)
    expect(failedChecks(checks)).toEqual([])
    expect(new Set(checks.map(({ result }) => result))).toEqual(new Set(['not-asked']))
  })
})

test('a baseline that says nothing of a guest is none; a broken one is not taken for that', () => {
  expect(readBaseline(null)).toBeNull()
  expect(readBaseline({ guest: null, asked_ports: [22], open_ports: null })).toBeNull()
  expect(() => readBaseline({ guest: 'yes' })).toThrow()
  const guest = { agent: 'running', hostname: 'web-01', addresses: [] }
  expect(readBaseline({ guest, asked_ports: [22, 81], open_ports: [22] })?.ports).toEqual(baseline.ports)
  expect(readBaseline({ guest, asked_ports: [22], open_ports: null })?.ports).toEqual([])
})

describe('a copy is stale', () => {
  const disks = (...written: ('no' | 'yes' | 'unknown')[]) =>
    written.map((one, at) => ({ disk: String(2_000 + at), written: one }))
  test.each([
    [false, disks('no'), false],
    [true, disks('no', 'no'), false],
    [false, disks('unknown'), false],
    [true, disks('no', 'unknown'), true],
    [false, disks('no', 'yes'), true],
    [true, disks('yes'), true],
  ])('ran: %s, %j: %s', (ran, given, stale) => {
    expect(whyStale({ ran, disks: given }) !== undefined).toBe(stale)
  })
})

describe('a target that is to run', () => {
  const facts: BootFacts = {
    ...{ power: 'on', starts: 1, waitedMs: 0, lacking: false, bootLimitMs: 10_000, retries: 2 },
  }
  test.each([
    ['is started', { power: 'off', starts: 0 }, 'start'],
    ['is started although somebody has already: then it is ours to stop', { starts: 0 }, 'start'],
    ['is judged when it shows all', {}, 'judge'],
    ['is waited for while something lacks', { lacking: true, waitedMs: 9_999 }, 'wait'],
    ['is judged as it is when its time is over', { lacking: true, waitedMs: 10_000 }, 'judge'],
    ['rests after it went off', { power: 'off', waitedMs: 1_999 }, 'wait'],
    ['is started again after the rest', { power: 'off', waitedMs: 2_000 }, 'start'],
    ['rests longer each time', { power: 'off', starts: 2, waitedMs: 3_999 }, 'wait'],
    ['is given up when it was started often enough', { power: 'off', starts: 3 }, 'give-up'],
    ['is given up at once when nothing is to be tried again', { power: 'off', retries: 0 }, 'give-up'],
  ] as const)('as it stands %s', (_what, change, expected) => {
    expect(decideBoot({ ...facts, ...change }).do).toBe(expected)
  })
})
