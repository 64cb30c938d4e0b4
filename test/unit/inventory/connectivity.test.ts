import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  connectivityAfter,
  connectivityMeanings,
  connectivityStates,
  healsItself,
} from '../../../src/domain/inventory/connectivity.ts'
import { nextDueAt, spreadOf } from '../../../src/domain/inventory/spread.ts'
import { platformCodes } from '../../../src/platforms/platform-error.ts'

describe('connectivity', () => {
  test.each([
    [null, 'ok'],
    ['platform-unreachable', 'cannot-connect'],
    ['platform-timeout', 'cannot-connect'],
    ['platform-answer-invalid', 'cannot-connect'],
    ['platform-redirects', 'cannot-connect'],
    ['platform-tls', 'tls-error'],
    ['platform-fingerprint', 'confirm-fingerprint'],
    ['platform-authentication', 'authentication-error'],
    ['platform-permission', 'authentication-error'],
  ])('after %s it is %s, whatever it was', (code, state) => {
    for (const before of connectivityStates) expect(connectivityAfter(code, before)).toBe(state)
  })

  test('an error that is not about the connection leaves what was known', () => {
    for (const code of ['platform-busy', 'platform-overloaded', 'constructor', 'unexpected'])
      for (const before of connectivityStates) expect(connectivityAfter(code, before)).toBe(before)
  })

  test('every code that the table knows is a code of platforms', () => {
    const changing = Object.keys(platformCodes).filter(
      (code) => connectivityAfter(code, 'unknown') !== 'unknown',
    )
    expect(changing).toHaveLength(8)
  })

  test('every state has a sentence and a remedy, and those a person must mend say so', () => {
    for (const state of connectivityStates) {
      expect(connectivityMeanings[state].sentence).toMatch(/^[A-Z].*\.$/)
      expect(connectivityMeanings[state].remedy).toMatch(/^[A-Z].*\.$/)
    }
    expect(connectivityStates.filter((state) => !healsItself(state))).toEqual([
      'tls-error',
      'confirm-fingerprint',
      'authentication-error',
    ])
  })
})

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms)

describe('what is due again and again', () => {
  test('nothing is due by itself without an interval', () => {
    expect(nextDueAt({ key: 'sync/a', intervalMs: 0, last: null, failures: 0, now: at(0) })).toBeNull()
  })

  test('something new is due within seconds, and a hundred not in the same one', () => {
    const due = Array.from({ length: 100 }, (_, index) =>
      nextDueAt({ key: `sync/${index}`, intervalMs: 600_000, last: null, failures: 0, now: at(0) }),
    )
    const seconds = due.map((date) => Math.floor((date!.getTime() - at(0).getTime()) / 1_000))
    expect(Math.max(...seconds)).toBeLessThan(15)
    const busiest = Math.max(
      ...Array.from({ length: 15 }, (_, n) => seconds.filter((second) => second === n).length),
    )
    expect(busiest).toBeLessThan(25)
  })

  test('each key keeps its place in the interval, half an interval to one and a half after the last', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.integer({ min: 1_000, max: 86_400_000 }),
        fc.integer({ min: 0, max: 1e10 }),
        fc.nat(4),
        (key, intervalMs, lastMs, failures) => {
          const last = at(lastMs)
          const now = at(lastMs + 1)
          const next = nextDueAt({ key, intervalMs, last, failures, now })!
          const step = intervalMs * Math.min(8, 2 ** failures)
          const gap = next.getTime() - last.getTime()
          expect(gap).toBeGreaterThanOrEqual(step / 2)
          expect(gap).toBeLessThanOrEqual(step * 1.5)
          const again = nextDueAt({ key, intervalMs, last: next, failures, now: next })!
          expect(again.getTime() - next.getTime()).toBe(step)
        },
      ),
    )
  })

  test('a clock that was set back does not mean a long wait', () => {
    const next = nextDueAt({ key: 'a', intervalMs: 60_000, last: at(9e9), failures: 0, now: at(0) })!
    expect(next.getTime()).toBeLessThanOrEqual(at(90_000).getTime())
  })

  test('keys are spread evenly', () => {
    const values = Array.from({ length: 1_000 }, (_, index) => spreadOf(`site-${index}`))
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    expect(mean).toBeGreaterThan(0.45)
    expect(mean).toBeLessThan(0.55)
    expect(values.every((value) => value >= 0 && value < 1)).toBe(true)
  })
})
