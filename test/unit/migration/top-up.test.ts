import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decideTopUp } from '../../../src/domain/migration/top-up.ts'

const second = 1_000
const minute = 60 * second

interface Setting {
  readonly intervalMs: number
  readonly finalLimitMs: number
  readonly opensAt: number
  readonly tookMs: number
  /** How late whoever looks is. */
  readonly lateMs: number
}

/** When copies begin, on a clock of its own, for somebody who looks only when he is told to. */
const simulate = ({ intervalMs, finalLimitMs, opensAt, tookMs, lateMs }: Setting): number[] => {
  const begun = [0]
  let now = tookMs
  for (let look = 0; look < 10_000; look += 1) {
    const answer = decideTopUp({ now, syncedAt: begun.at(-1) ?? 0, intervalMs, finalLimitMs, opensAt })
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
    opens: fc.integer({ min: 1, max: 20_000 }),
    took: fc.integer({ min: 1, max: 20 }),
    lateMs: fc.integer({ min: 0, max: 900 }),
  })
  .map(({ intervalMs, limit, opens, took, lateMs }) => ({
    intervalMs: Math.max(intervalMs, limit) * second,
    finalLimitMs: limit * second,
    opensAt: opens * second,
    tookMs: took * 10,
    lateMs,
  }))

test('the last top-up begins within the final limit before the window, whatever the intervals are', () => {
  fc.assert(
    fc.property(setting, (given) => {
      const begun = simulate(given)
      const last = begun.at(-1) ?? 0
      expect(last).toBeLessThan(given.opensAt)
      expect(given.opensAt - last).toBeLessThanOrEqual(given.finalLimitMs)
    }),
    { numRuns: 500 },
  )
})

test('no two top-ups follow each other closer than the final limit', () => {
  fc.assert(
    fc.property(setting, (given) => {
      const begun = simulate(given)
      // The first copy is none: it ends when it ends, and the last top-up may be due right then.
      const topUps = begun.slice(1)
      const gaps = topUps.slice(1).map((at, index) => at - (topUps[index] ?? 0))
      expect(gaps.every((gap) => gap >= given.finalLimitMs)).toBe(true)
      const inside = begun.filter((at) => at > given.opensAt - given.finalLimitMs)
      // One that began right on the limit counts as the last one.
      expect(inside.length).toBeLessThanOrEqual(1)
    }),
    { numRuns: 500 },
  )
})

test('until the window it is never older than an interval and a final limit', () => {
  fc.assert(
    fc.property(setting, (given) => {
      const begun = simulate(given)
      const gaps = begun.slice(1).map((at, index) => at - (begun[index] ?? 0))
      const most = given.intervalMs + given.finalLimitMs + 2 * given.lateMs + given.tookMs
      expect(gaps.every((gap) => gap <= most)).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test('with the defaults, ten minutes each, the last one begins ten minutes before the window', () => {
  const given = { intervalMs: 10 * minute, finalLimitMs: 10 * minute, tookMs: second, lateMs: 0 }
  expect(simulate({ ...given, opensAt: 35 * minute })).toEqual([0, 10 * minute, 25 * minute])
  expect(simulate({ ...given, opensAt: 25 * minute })).toEqual([0, 15 * minute])
  expect(simulate({ ...given, opensAt: 8 * minute })).toEqual([0])
})

test('nothing is topped up once the window is open', () => {
  fc.assert(
    fc.property(setting, fc.nat(1_000_000), (given, after) => {
      const { intervalMs, finalLimitMs, opensAt } = given
      const now = opensAt + after
      expect(decideTopUp({ now, syncedAt: 0, intervalMs, finalLimitMs, opensAt })).toEqual({
        due: false,
        lookAt: opensAt,
      })
    }),
  )
})

test('while nobody knows when a window opens, it is topped up every interval', () => {
  const at = (now: number) =>
    decideTopUp({ now, syncedAt: 0, intervalMs: minute, finalLimitMs: second, opensAt: null })
  expect(at(minute - 1)).toEqual({ due: false, lookAt: minute })
  expect(at(minute)).toEqual({ due: true })
})
