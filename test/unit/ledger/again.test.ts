import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { again } from '../../../src/platforms/ports/again.ts'
import { type PlatformCode, PlatformError } from '../../../src/platforms/ports/platform-error.ts'

const waiting = { signal: new AbortController().signal, clock: systemClock }

const failing = (code: PlatformCode, afterMs = 0) => {
  const calls = { count: 0 }
  const work = async (): Promise<never> => {
    calls.count += 1
    await systemClock.sleep(afterMs)
    throw new PlatformError({ code, failure: 'unknown', message: 'No answer.', remedy: 'Look at it.' })
  }
  return { calls, work }
}

// promise: cutover-held
test('a platform that was silent for as long as is bearable is not asked a second time', async () => {
  const { calls, work } = failing('platform-timeout', 30)
  await expect(again(waiting, work, { stallMs: 20, of: 'paris' })).rejects.toMatchObject({
    code: 'platform-timeout',
    class: 'environment',
    message: 'paris: No answer.',
    detail: { platform: 'paris' },
  })
  expect(calls.count).toBe(1)
})

test('a single lost answer is asked for again', async () => {
  const { calls, work } = failing('platform-unreachable')
  const answered = again(waiting, () => (calls.count === 1 ? Promise.resolve('here') : work()))
  expect(await answered).toBe('here')
  expect(calls.count).toBe(1)
})

test('what a platform says of itself is thrown as it is', async () => {
  const { calls, work } = failing('platform-permission')
  await expect(again(waiting, work, { of: 'paris' })).rejects.toMatchObject({ message: 'No answer.' })
  expect(calls.count).toBe(1)
})
