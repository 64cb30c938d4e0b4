import { expect, test } from 'vitest'
import type { Placement } from '../../../src/domain/migration/place/placement.ts'
import { hintOf, hostHints } from '../../../src/migration/place/choose-host.ts'
import { SupposedHosts } from '../../../src/migration/place/plan-hosts.ts'

const place = (host: string, target = 'cloud'): Placement => ({
  ...{ target, project: 'default', host },
  ...{ pools: {}, networks: {} },
})
const inGroup = (group: string) => ({ attributes: { [hostHints.spread]: group } })

/** What a plan adds to the hosts that the entries of group `a` have. */
const over = (supposed: SupposedHosts, taken: Record<string, number>, target = 'cloud') => {
  const hint = hintOf(inGroup('a'))
  if (!hint) throw new Error('A group is no hint.')
  return Object.fromEntries(supposed.over(target, hint, new Map(Object.entries(taken))))
}

test('hosts that a plan gives out count like those that entries have, for their group and target alone', () => {
  const supposed = new SupposedHosts()
  expect(over(supposed, { one: 1 })).toEqual({ one: 1 })
  supposed.move(inGroup('a'), { before: null, now: place('one') })
  supposed.move(inGroup('a'), { before: null, now: place('two') })
  supposed.move(inGroup('b'), { before: null, now: place('one') })
  supposed.move(inGroup('a'), { before: null, now: place('one', 'other') })
  supposed.move({ attributes: {} }, { before: null, now: place('one') })
  supposed.move(inGroup('a'), { before: null, now: place('') })
  expect(over(supposed, { one: 1 })).toEqual({ one: 2, two: 1 })
  expect(over(supposed, {}, 'other')).toEqual({ one: 1 })
})

test('one that an entry is counted for already is moved, not counted twice', () => {
  const supposed = new SupposedHosts()
  supposed.move(inGroup('a'), { before: place('one'), now: place('two') })
  expect(over(supposed, { one: 1 })).toEqual({ one: 0, two: 1 })
  const still = new SupposedHosts()
  still.move(inGroup('a'), { before: place('one'), now: place('one') })
  expect(over(still, { one: 1 })).toEqual({ one: 1 })
})
