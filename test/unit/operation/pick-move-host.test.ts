import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type HostSeen,
  hostsToTry,
  isHost,
  whyNone,
  whyUnsuited,
} from '../../../src/domain/operation/move/pick-move-host.ts'

const GiB = 1024 ** 3
const host = (over: Partial<HostSeen> & { readonly name: string }): HostSeen => ({
  ...{ ref: `host-${over.name}`, cluster: 'prod', state: 'connected', cpuClass: 'v3' },
  ...{ freeMemory: 100 * GiB, slots: 2 },
  ...over,
})
const from = host({ name: 'a' })
const needs = { from, memory: 8 * GiB }
const names = (hosts: readonly HostSeen[]) => hosts.map(({ name }) => name)

test('the most free host is the best, its own is none, and equal ones go by name', () => {
  const hosts = [from, host({ name: 'c' }), host({ name: 'b' }), host({ name: 'd', freeMemory: 200 * GiB })]
  expect(names(hostsToTry(hosts, needs))).toEqual(['d', 'b', 'c'])
})

test('one that could take it at once goes before a freer one where it would stand in line', () => {
  const hosts = [host({ name: 'b', freeMemory: 500 * GiB, slots: 0 }), host({ name: 'c' })]
  expect(names(hostsToTry(hosts, needs))).toEqual(['c', 'b'])
})

test.each([
  ['too little memory', { freeMemory: 8 * GiB - 1 }],
  ['another class of CPU', { cpuClass: 'v4' }],
  ['another cluster', { cluster: 'test' }],
  ['maintenance', { state: 'maintenance' }],
  ['no answer', { state: 'not-responding' }],
  ['no connection', { state: 'disconnected' }],
] as const)('nothing is moved to a host with %s', (_what, over) => {
  expect(hostsToTry([host({ name: 'b', ...over })], needs)).toEqual([])
})

test('what nobody knows keeps nothing away: a class of CPU, a cluster, the host itself', () => {
  const hosts = [host({ name: 'b', cpuClass: '', cluster: 'prod' })]
  expect(names(hostsToTry(hosts, needs))).toEqual(['b'])
  expect(names(hostsToTry(hosts, { ...needs, from: undefined }))).toEqual(['b'])
  expect(
    names(hostsToTry([host({ name: 'b', cluster: 'x' })], { ...needs, from: { ...from, cluster: '' } })),
  ).toEqual(['b'])
})

test('a host that was named is judged by what lasts and by what passes; room the platform tells itself', () => {
  expect(whyUnsuited(from, needs)).toMatchObject({ lasts: true })
  expect(whyUnsuited(host({ name: 'b', cpuClass: 'v4' }), needs)).toMatchObject({ lasts: true })
  expect(whyUnsuited(host({ name: 'b', state: 'maintenance' }), needs)).toEqual({
    why: 'is maintenance',
    lasts: false,
  })
  expect(whyUnsuited(host({ name: 'b', freeMemory: 0 }), needs)).toBeUndefined()
})

test('a host is known by its id and by its name, and never by nothing', () => {
  expect([isHost(from, 'a'), isHost(from, 'host-a'), isHost(from, 'b')]).toEqual([true, true, false])
  expect(isHost(host({ name: '', ref: '' }), '')).toBe(false)
})

test('why there is none is said for each host, and for no more than five', () => {
  expect(whyNone([from], needs)).toBe('The target has no other host.')
  const hosts = [
    from,
    host({ name: 'b', freeMemory: GiB }),
    host({ name: 'c', cluster: 'test' }),
    host({ name: 'd' }),
  ]
  expect(whyNone(hosts, needs)).toBe(
    'b has 1024 MiB of memory left, and 8192 MiB are needed; c is in another cluster; d was refused by the target.',
  )
  const many = Array.from({ length: 9 }, (_, index) => host({ name: `m${index}`, state: 'maintenance' }))
  expect(whyNone([from, ...many], needs)).toMatch(/; and 4 more\.$/)
})

test('whatever the hosts are, each that is tried could take the machine, and none is tried twice', () => {
  const some = fc.record({
    name: fc.string({ minLength: 1, maxLength: 3 }),
    cluster: fc.constantFrom('prod', 'test', ''),
    state: fc.constantFrom('connected', 'maintenance', 'not-responding', 'disconnected'),
    cpuClass: fc.constantFrom('v3', 'v4', ''),
    freeMemory: fc.integer({ min: -GiB, max: 64 * GiB }),
    slots: fc.integer({ min: -3, max: 3 }),
  })
  fc.assert(
    fc.property(fc.uniqueArray(some, { selector: ({ name }) => name }), (drawn) => {
      const hosts = drawn.map((one) => host(one))
      const tried = hostsToTry(hosts, needs)
      expect(new Set(tried).size).toBe(tried.length)
      for (const one of tried) {
        expect(whyUnsuited(one, needs)).toBeUndefined()
        expect(one.freeMemory).toBeGreaterThanOrEqual(needs.memory)
      }
      const waits = tried.findIndex(({ slots }) => slots <= 0)
      if (waits >= 0) expect(tried.slice(waits).every(({ slots }) => slots <= 0)).toBe(true)
    }),
  )
})
