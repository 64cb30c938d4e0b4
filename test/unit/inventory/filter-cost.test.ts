import { expect, test } from 'vitest'
import { compileFilter, compileNewFilter } from '../../../src/domain/filter/compile-filter.ts'
import { FilterError } from '../../../src/domain/filter/filter-error.ts'
import { maxSteps, metered, spend, stepsSoFar } from '../../../src/domain/filter/meter.ts'
import { instanceView } from '../../../src/domain/filter/view.ts'
import { attack } from '../../bench/api/attack.ts'
import { effective, sampleDisk } from './samples.ts'

const disks = (count: number) =>
  Array.from({ length: count }, (_, at) => sampleDisk({ key: `${at}`, used: at % 2 === 0 ? null : at }))

const viewOf = (changes: Parameters<typeof effective>[0] = {}) =>
  instanceView({
    facts: effective(changes),
    source: 'paris',
    source_kind: 'lab',
    readiness: 'ready',
    findings: [],
  })

const ordinary = viewOf()
const large = viewOf({ disks: disks(1_000), description: 'x'.repeat(8_000) })

/** Steps that one evaluation took, and what it answered. */
const ask = (text: string, view = ordinary) => {
  const filter = compileFilter(text, 'instance')
  const before = stepsSoFar()
  const outcome = filter.run(view)
  return { outcome, steps: stepsSoFar() - before }
}

const list = (items: number) => `[${Array.from({ length: items }, (_, at) => at % 10).join(',')}]`
const tooLong = { error: expect.stringContaining('too long') }

const refused = (text: string): FilterError => {
  try {
    compileNewFilter(text, 'instance')
  } catch (error) {
    if (error instanceof FilterError) return error
    throw error
  }
  throw new Error(`"${text.slice(0, 80)}" was accepted.`)
}

// promise: expensive-filters
test('the filter of 1.8 KB that held everybody up is refused before it is asked of anything', () => {
  expect(attack.length).toBeLessThan(2_000)
  expect(refused(attack)).toMatchObject({
    code: 'filter-too-expensive',
    remedy: expect.stringMatching(/Take out/),
  })
})

// promise: expensive-filters
test('the same filter, stored when it was allowed, fails on each thing and ends within its budget', () => {
  const { outcome, steps } = ask(attack)
  expect(outcome).toEqual(tooLong)
  expect(steps).toBe(maxSteps + 1)
})

test.each([
  [
    'time functions for each pair of items',
    `${list(100)}.exists(a, ${list(100)}.exists(b, timestamp("2026-01-01T00:00:00Z") > timestamp("2027-01-01T00:00:00Z")))`,
  ],
  [
    'durations for each pair of items',
    `${list(60)}.exists(a, ${list(60)}.exists(b, duration("1h2m3s") == duration("2h")))`,
  ],
  ['a list looked through for each item of another', `${list(250)}.all(a, 99 in ${list(250)})`],
  ['a list made for each item of another', `${list(250)}.all(a, ${list(250)} == ${list(250)})`],
  [
    'a pattern for each pair of items',
    `${list(60)}.exists(a, ${list(60)}.exists(b, name.matches("^(web|db)-[0-9]+x$")))`,
  ],
  ['failures that are caught for each item', `${list(250)}.all(a, attributes["nobody"] == "x" || true)`],
  [
    'many patterns of some size',
    Array.from({ length: 32 }, (_, at) => `name.matches("((a{20}){20}${at})")`).join('||'),
  ],
])('%s: too much for an ordinary instance', (_what, text) => {
  const outcome = ask(text).outcome
  // Patterns are refused for the time that making them takes.
  if (!text.includes('{20}')) expect(outcome).toEqual(tooLong)
  if (!text.includes('nobody')) expect(refused(text).code).toBe('filter-too-expensive')
})

test.each([
  ['disks.all(a, disks.all(b, a.key != "x" && b.key != "y"))'],
  ['disks.map(d, d.name + d.name + d.name).all(n, disks.all(d, d.name != n))'],
  ['disks.all(d, (description + d.name).lowerAscii().contains("y") || true)'],
  ['disks.all(d, description.matches("(x|xx)*y") || true)'],
  ['disks.all(d, d.used > 0 || true)'],
  ['(disks + disks + disks).all(a, (disks + disks).all(b, a.key != "x" && b.key != "y"))'],
])('%s: an ordinary instance has its answer, an enormous one has none', (text) => {
  expect(ask(text).outcome).toHaveProperty('match')
  expect(ask(text, large).outcome).toEqual(tooLong)
})

test.each([
  ['name.startsWith("web-") && running', 20],
  ['disks.exists(d, d.capacity > 2199023255552)', 30],
  ['has_tag("env", "prod") && cpus > 1', 30],
  ['location.matches("^/(Paris|London)/vm/.*/db-[0-9]+$")', 200],
  ['nics.exists(n, n.ipv4_addresses.exists(a, a.startsWith("10.1.")))', 60],
])('%s takes at most %i steps', (text, most) => {
  const { outcome, steps } = ask(text)
  expect(outcome).toHaveProperty('match')
  expect(steps).toBeGreaterThan(2)
  expect(steps).toBeLessThanOrEqual(most)
})

test('one long list is gone through, however long', () => {
  expect(ask('disks.all(d, d.capacity > 1 && d.name != "x")', large).outcome).toEqual({ match: true })
})

test('an evaluation that was caught at the end of its budget has no answer', () => {
  const swallowed = () =>
    metered(() => {
      try {
        spend(maxSteps + 1)
      } catch {}
      return true
    })
  expect(swallowed).toThrow(/too long/)
  expect(ask(`${attack} || true`).outcome).toEqual(tooLong)
})
