import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { FencedError } from '../../../src/errors.ts'
import { beginCall, type Call, isHandedOver, withinCall } from '../../../src/platforms/ports/call.ts'

const callOf = (over: Partial<Call> = {}): Call => ({
  signal: new AbortController().signal,
  timeoutMs: 600_000,
  name: 'test',
  ...over,
})

/** Rejects when the signal fires, as any call of a platform does. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })

test('a call ends at its deadline with an error that says so', async () => {
  await expect(withinCall(callOf({ timeoutMs: 10 }), untilAborted)).rejects.toMatchObject({
    code: 'platform-timeout',
    failure: 'unknown',
    detail: { timeout_ms: 10 },
  })
})

test('a call ends with its signal, for the reason of the signal, and does not begin after it', async () => {
  const ending = new AbortController()
  const running = withinCall(callOf({ signal: ending.signal }), untilAborted)
  ending.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
  let began = false
  const late = withinCall(callOf({ signal: ending.signal }), async () => {
    began = true
  })
  await expect(late).rejects.toThrow('enough')
  expect(began).toBe(false)
})

test('thousands of calls under one signal leave nothing on it', async () => {
  const { signal } = new AbortController()
  for (let i = 0; i < 2_000; i += 1) {
    await withinCall(callOf({ signal }), async () => {})
    await withinCall(callOf({ signal }), () => Promise.reject(new Error('no'))).catch(() => {})
    beginCall(callOf({ signal })).end()
  }
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('only a fenced caller has handed its intent over', () => {
  expect(isHandedOver(new FencedError('job', 1))).toBe(true)
  expect(isHandedOver(new Error('superseded'))).toBe(false)
})
