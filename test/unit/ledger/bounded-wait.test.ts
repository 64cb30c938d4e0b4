import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { isOver, pauseMs } from '../../../src/domain/job/bounded-wait.ts'
import { again, boundedWait } from '../../../src/platforms/ports/bounded-wait.ts'
import {
  type PlatformCode,
  PlatformError,
  passesAtOnce,
  passingTrouble,
  platformCodes,
  saidNo,
} from '../../../src/platforms/ports/platform-error.ts'

/** Time that passes only by pauses and by what a try is said to take. */
const createTime = () => {
  const time = { nowMs: 0, pauses: [] as number[] }
  const sleep = async (ms: number) => {
    time.pauses.push(ms)
    time.nowMs += ms
  }
  const clock: Clock = { ...systemClock, monotonicMs: () => time.nowMs, sleep }
  return { time, waiting: { signal: new AbortController().signal, clock, confirm: () => {} } }
}

const troubleOf = (code: PlatformCode, failure: 'unknown' | 'refused' = 'unknown') =>
  new PlatformError({ code, failure, message: 'No answer.', remedy: 'Look at it.' })

const failing = (code: PlatformCode, tookMs = 0) => {
  const { time, waiting } = createTime()
  const calls = { count: 0 }
  const work = async (): Promise<never> => {
    calls.count += 1
    time.nowMs += tookMs
    throw troubleOf(code)
  }
  return { calls, work, waiting, time }
}

// promise: cutover-held
test('a platform that was silent for as long as is bearable is not asked a second time', async () => {
  const { calls, work, waiting } = failing('platform-timeout', 30)
  await expect(again(waiting, work, { stallMs: 20, of: 'paris' })).rejects.toMatchObject({
    code: 'platform-timeout',
    class: 'environment',
    message: 'paris: No answer.',
    detail: { platform: 'paris' },
  })
  expect(calls.count).toBe(1)
})

test('a lost answer is asked for again three times, ever later', async () => {
  const { calls, work, waiting, time } = failing('platform-unreachable')
  await expect(again(waiting, work)).rejects.toMatchObject({ code: 'platform-unreachable' })
  expect(calls.count).toBe(4)
  expect(time.pauses).toEqual([100, 400, 1_600])
  expect(await again(waiting, () => (calls.count === 5 ? Promise.resolve('here') : work()))).toBe('here')
})

test('what a platform says of itself is thrown as it is', async () => {
  const { calls, work, waiting } = failing('platform-permission')
  await expect(again(waiting, work, { of: 'paris' })).rejects.toMatchObject({ message: 'No answer.' })
  expect(calls.count).toBe(1)
})

test('nothing is asked again by who has lost the lease meanwhile', async () => {
  const { calls, work, waiting } = failing('platform-timeout')
  const confirm = () => {
    if (calls.count > 0) throw new Error('the lease is lost')
  }
  await expect(again({ ...waiting, confirm }, work)).rejects.toThrow('the lease is lost')
  expect(calls.count).toBe(1)
})

test('whatever the bounds and whatever each try takes: it ends in time, and nobody is asked without a pause', async () => {
  const bounds = fc.record({
    shortestMs: fc.integer({ min: 1, max: 1_000 }),
    longestMs: fc.integer({ min: 1_000, max: 10_000 }),
    share: fc.double({ min: 0, max: 4, noNaN: true }),
    limitMs: fc.integer({ min: 0, max: 60_000 }),
    most: fc.option(fc.nat(20), { nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(bounds, fc.nat(40_000), async ({ most, ...rest }, takesMs) => {
      const { time, waiting } = createTime()
      const kept = most === undefined ? rest : { ...rest, most }
      let tries = 0
      const once = async () => {
        tries += 1
        time.nowMs += takesMs
        return { over: new Error('not yet') }
      }
      await expect(boundedWait(waiting, kept, once)).rejects.toThrow('not yet')
      expect(time.pauses).toHaveLength(tries - 1)
      expect(time.pauses.every((ms) => ms >= kept.shortestMs && ms <= kept.longestMs)).toBe(true)
      expect(time.nowMs).toBeLessThanOrEqual(kept.limitMs + kept.longestMs + 2 * takesMs)
      expect(tries).toBeLessThanOrEqual((most ?? Number.POSITIVE_INFINITY) + 1)
      expect(isOver(kept, { ms: time.nowMs, pauses: time.pauses.length })).toBe(true)
    }),
    { numRuns: 200 },
  )
})

test('a pause is never shorter after a longer time', () => {
  const rule = { shortestMs: 1_000, longestMs: 10_000, share: 1 / 4 }
  expect([0, 4_000, 20_000, 3_600_000].map((ms) => pauseMs(rule, ms))).toEqual([1_000, 1_000, 5_000, 10_000])
})

describe('of all codes of platforms', () => {
  const codes = Object.keys(platformCodes) as PlatformCode[]
  const where = (holds: (error: PlatformError) => boolean) =>
    codes.filter((code) => holds(troubleOf(code, 'refused')))

  test('what is asked again at once is waited for by operations too, and is nothing that a person has to end', () => {
    const atOnce = where(passesAtOnce)
    expect(atOnce).toEqual([
      ...['platform-unreachable', 'platform-timeout', 'platform-overloaded', 'platform-answer-invalid'],
      ...['platform-session-lost', 'platform-busy', 'platform-fault'],
    ])
    const waitedFor = where((error) => passingTrouble(error) !== undefined)
    expect(new Set(waitedFor)).toEqual(new Set([...atOnce, 'platform-no-capacity']))
    for (const code of waitedFor) expect(['transient', 'environment']).toContain(platformCodes[code].class)
  })

  test('a refusal counts only where the platform has looked at what was asked', () => {
    expect(where(saidNo)).toEqual([
      ...['platform-permission', 'platform-absent', 'platform-refused', 'platform-wrong-state'],
      ...['platform-aborted', 'platform-name-taken', 'platform-no-capacity', 'platform-unsupported'],
      ...['platform-cursor-lost', 'platform-fault'],
    ])
  })
})
