import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  decideTopUp,
  latestTopUp,
  notedTopUps,
  topUpForecast,
} from '../../../src/domain/migration/schedule/top-up.ts'

const second = 1_000
const minute = 60 * second

interface Setting {
  readonly intervalMs: number
  readonly finalLimitMs: number
  readonly forecastMs: number
  readonly opensAt: number
  readonly tookMs: number
  /** How late whoever looks is. */
  readonly lateMs: number
}

/** When copies begin, on a clock of its own, for somebody who looks only when he is told to. */
const simulate = ({ opensAt, tookMs, lateMs, ...given }: Setting): number[] => {
  const begun = [0]
  let now = tookMs
  for (let look = 0; look < 10_000; look += 1) {
    const answer = decideTopUp({ now, syncedAt: begun.at(-1) ?? 0, opensAt, ...given })
    if (answer.due) {
      begun.push(now)
      now += tookMs
    } else if (answer.lookAt >= opensAt) return begun
    else {
      if (answer.lookAt <= now) throw new Error('It is to be looked at again at once.')
      now = answer.lookAt + lateMs
    }
    if (now >= opensAt) return begun
  }
  throw new Error('The clock did not come to the window.')
}

const setting: fc.Arbitrary<Setting> = fc
  .record({
    intervalMs: fc.integer({ min: 5, max: 3_600 }),
    limit: fc.integer({ min: 1, max: 3_600 }),
    forecast: fc.nat(4_000),
    opens: fc.integer({ min: 1, max: 20_000 }),
    took: fc.integer({ min: 1, max: 20 }),
    lateMs: fc.integer({ min: 0, max: 900 }),
  })
  .map(({ intervalMs, limit, forecast, opens, took, lateMs }) => ({
    intervalMs: Math.max(intervalMs, limit) * second,
    finalLimitMs: limit * second,
    forecastMs: forecast * second,
    opensAt: opens * second,
    tookMs: took * 10,
    lateMs,
  }))

/** Topped up as long as was foreseen, which is longer than a tick of the clock. */
const slow = setting.map((given) => ({ ...given, tookMs: Math.max(given.tookMs, given.forecastMs) }))

// promise: top-up
test('none begins within the final limit, nor so that its forecast passes the opening', () => {
  fc.assert(
    fc.property(fc.oneof(setting, slow), (given) => {
      for (const at of simulate(given).slice(1)) {
        expect(given.opensAt - at).toBeGreaterThanOrEqual(given.finalLimitMs)
        expect(at + given.forecastMs).toBeLessThanOrEqual(given.opensAt)
      }
    }),
    { numRuns: 1_000 },
  )
})

// promise: top-up
test('the last one really happens, right before the last moment for it, whatever the intervals are', () => {
  fc.assert(
    fc.property(setting, (given) => {
      const latest = latestTopUp(given)
      const last = simulate(given).at(-1) ?? 0
      // Where the first copy ends after that moment there is time for none.
      if (given.tookMs > latest) expect(last).toBe(0)
      else expect(latest - last).toBeLessThanOrEqual(30 * second)
    }),
    { numRuns: 1_000 },
  )
})

test('no two top-ups follow each other closer than the final limit', () => {
  fc.assert(
    fc.property(setting, (given) => {
      // The first copy is none: it ends when it ends, and the last top-up may be due right then.
      const topUps = simulate(given).slice(1)
      const gaps = topUps.slice(1).map((at, index) => at - (topUps[index] ?? 0))
      expect(gaps.every((gap) => gap >= given.finalLimitMs)).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test('until the window it is never older than an interval, and what the last one needs', () => {
  fc.assert(
    fc.property(setting, (given) => {
      const begun = simulate(given)
      const gaps = begun.slice(1).map((at, index) => at - (begun[index] ?? 0))
      const needs = Math.max(given.finalLimitMs, given.forecastMs)
      const most = given.intervalMs + needs + 2 * given.lateMs + given.tookMs
      expect(gaps.every((gap) => gap <= most)).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test('with the defaults, ten minutes each, the last one is due half a minute before the limit', () => {
  const given = {
    intervalMs: 10 * minute,
    finalLimitMs: 10 * minute,
    forecastMs: 0,
    tookMs: second,
    lateMs: 0,
  }
  expect(simulate({ ...given, opensAt: 35 * minute })).toEqual([0, 10 * minute, 24.5 * minute])
  expect(simulate({ ...given, opensAt: 25 * minute })).toEqual([0, 14.5 * minute])
  expect(simulate({ ...given, opensAt: 8 * minute })).toEqual([0])
  // A machine of which a top-up takes twenty minutes has its last one earlier.
  expect(simulate({ ...given, forecastMs: 20 * minute, opensAt: 35 * minute })).toEqual([0, 14.5 * minute])
})

test('nothing is topped up once the window is open', () => {
  fc.assert(
    fc.property(setting, fc.nat(1_000_000), (given, after) => {
      const { intervalMs, finalLimitMs, forecastMs, opensAt } = given
      const now = opensAt + after
      const answer = decideTopUp({ now, syncedAt: 0, intervalMs, finalLimitMs, forecastMs, opensAt })
      expect(answer).toEqual({ due: false, lookAt: opensAt })
    }),
  )
})

test('the forecast rests on the last two: one that stood still tells nothing while the other did not', () => {
  const minutes = (...took: number[]) =>
    took.reduce<readonly number[]>((all, one) => notedTopUps(all, one * minute), [])
  expect(topUpForecast(minutes())).toBe(0)
  expect(topUpForecast(minutes(20))).toBe(30 * minute)
  expect(topUpForecast(minutes(2, 300))).toBe(3 * minute)
  expect(topUpForecast(minutes(2, 300, 280))).toBe(420 * minute)
})

test('while nobody knows when a window opens, it is topped up every interval', () => {
  const at = (now: number) =>
    decideTopUp({ now, syncedAt: 0, intervalMs: minute, finalLimitMs: second, forecastMs: 0, opensAt: null })
  expect(at(minute - 1)).toEqual({ due: false, lookAt: minute })
  expect(at(minute)).toEqual({ due: true })
})
