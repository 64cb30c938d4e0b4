import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/clock.ts'
import { createLog } from '../../../src/process/log.ts'
import { Loop } from '../../../src/process/service.ts'
import { atEnd } from '../../support/cleanup.ts'
import { until } from '../../support/wait.ts'

/** A clock on which sleeping is a thing the test sees and ends. */
const createClock = () => {
  const sleeps: { ms: number; end: () => void }[] = []
  const clock: Clock = {
    now: () => 0,
    monotonicMs: () => 0,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) {
          resolve()
          return
        }
        sleeps.push({ ms, end: resolve })
        signal?.addEventListener('abort', () => resolve(), { once: true })
      }),
  }
  return { clock, sleeps }
}

const startLoop = (rounds: (round: number) => boolean | number | Error, failureCapMs?: number) => {
  const { clock, sleeps } = createClock()
  let round = 0
  const loop = new Loop({
    name: 'test',
    intervalMs: 1_000,
    clock,
    log: createLog({ role: 'test', level: 'silent' }),
    ...(failureCapMs === undefined ? {} : { failureCapMs }),
    runOnce: () => {
      round += 1
      const outcome = rounds(round)
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome)
    },
  })
  loop.start()
  atEnd(() => loop.stop())
  return { loop, sleeps, count: () => round }
}
const slept = (sleeps: readonly unknown[], times: number) =>
  until(() => sleeps.length === times, { what: `${times} pauses`, everyMs: 1 })

describe('a loop', () => {
  test('goes on at once while there is more, then rests for its interval, or for as long as it is told', async () => {
    const { sleeps, count } = startLoop((round) => (round < 3 ? true : round === 3 ? false : 7))
    await slept(sleeps, 1)
    expect([count(), sleeps[0]?.ms]).toEqual([3, 1_000])
    sleeps[0]?.end()
    await slept(sleeps, 2)
    expect(sleeps[1]?.ms).toBe(7)
  })

  test('a wake ends the rest, and one that comes during a round is not lost', async () => {
    const woken: { wake?: () => void } = {}
    const { loop, sleeps, count } = startLoop((round) => {
      if (round === 2) woken.wake?.()
      return false
    })
    woken.wake = () => loop.wake()
    await slept(sleeps, 1)
    loop.wake()
    await slept(sleeps, 2)
    expect(count()).toBe(3)
  })

  test('a failing round never ends it: pauses double up to the cap, and a good round forgets them', async () => {
    const { sleeps } = startLoop((round) => (round <= 5 || round === 7 ? new Error('away') : false), 5_000)
    for (let at = 0; at < 7; at += 1) {
      await slept(sleeps, at + 1)
      sleeps[at]?.end()
    }
    expect(sleeps.slice(0, 7).map(({ ms }) => ms)).toEqual([1_000, 2_000, 4_000, 5_000, 5_000, 1_000, 1_000])
  })

  test('stop ends the rest at once and waits for a running round; start begins anew, and twice is once', async () => {
    const { loop, sleeps, count } = startLoop(() => false)
    await slept(sleeps, 1)
    loop.start()
    await loop.stop()
    expect(count()).toBe(1)
    loop.start()
    await slept(sleeps, 2)
    expect(count()).toBe(2)
  })

  test('an interval that is not positive is refused: it would burn a processor', () => {
    const { clock } = createClock()
    const log = createLog({ role: 'test', level: 'silent' })
    const make = () => new Loop({ name: 'hot', intervalMs: 0, clock, log, runOnce: async () => false })
    expect(make).toThrow('hot: intervalMs must be positive')
  })
})
