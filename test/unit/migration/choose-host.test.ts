import { expect, test } from 'vitest'
import type { HostFacts } from '../../../src/domain/inventory/facts.ts'
import { chooseHost, type HostHint, hintOf } from '../../../src/migration/place/choose-host.ts'

const host = (name: string, more: Partial<HostFacts> = {}): HostFacts => ({
  ...{ ref: name, name, cluster: '', datacenter: '', state: 'connected', cpu_model: '', cpu_class: '' },
  ...{ cpus: 8, memory: 64, cpus_used: 0, memory_used: 0, version: '' },
  ...more,
})
const needs = { cpus: 4, memory: 16 }
const hint = (grouping: HostHint['grouping']): HostHint => ({ grouping, attribute: 'a', group: 'g' })
const choose = (grouping: HostHint['grouping'], hosts: HostFacts[], taken: Record<string, number> = {}) =>
  chooseHost(hint(grouping), hosts, new Map(Object.entries(taken)), needs)?.name

test('a hint is an attribute with a group; spreading goes first', () => {
  expect(hintOf({ attributes: {} })).toBeUndefined()
  expect(hintOf({ attributes: { 'drover.spread': '' } })).toBeUndefined()
  expect(hintOf({ attributes: { 'drover.keep-with': 'x' } })).toMatchObject({
    grouping: 'together',
    group: 'x',
  })
  expect(hintOf({ attributes: { 'drover.keep-with': 'x', 'drover.spread': 'y' } })).toMatchObject({
    group: 'y',
  })
})

test('spread takes the host with the fewest of the group, keep-with the one with the most', () => {
  const hosts = [host('one'), host('two'), host('three')]
  expect(choose('spread', hosts, { one: 1, two: 1 })).toBe('three')
  expect(choose('together', hosts, { one: 1, two: 2 })).toBe('two')
})

test('alike in that, the one with more memory free is taken, then the first by name', () => {
  expect(choose('spread', [host('b'), host('a')])).toBe('a')
  expect(choose('spread', [host('a', { memory_used: 8 }), host('b')])).toBe('b')
})

test('a host that is away or has no room is never chosen; without one the target chooses', () => {
  const unfit = [
    host('away', { state: 'maintenance' }),
    host('small', { cpus: 2 }),
    host('full', { memory_used: 60 }),
  ]
  expect(choose('together', unfit, { away: 3, small: 3, full: 3 })).toBeUndefined()
  expect(choose('together', [...unfit, host('fit')], { away: 3 })).toBe('fit')
})
