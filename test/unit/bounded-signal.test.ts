import { getEventListeners } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { beginBounded, boundedSignal } from '../../src/bounded-signal.ts'
import { codeFiles, readSource, withoutComments } from './repository/sources.ts'

test('a bounded signal fires with whoever stops, at once where that has happened, and by its time', async () => {
  const stopping = new AbortController()
  const early = boundedSignal(stopping.signal, 60_000)
  expect(early.aborted).toBe(false)
  const why = new Error('enough')
  stopping.abort(why)
  expect(early.reason).toBe(why)
  expect(boundedSignal(stopping.signal, 60_000).reason).toBe(why)
  const timed = boundedSignal(new AbortController().signal, 1)
  const keepAlive = setInterval(() => {}, 50)
  await new Promise((resolve) => timed.addEventListener('abort', resolve))
  clearInterval(keepAlive)
  expect(timed.reason).toMatchObject({ name: 'TimeoutError' })
})

test('bounded work that has ended leaves nothing on its signal, and what ends later does not reach it', async () => {
  const stopping = new AbortController()
  const calls = Array.from({ length: 2_000 }, () => beginBounded(stopping.signal, 1, () => new Error('late')))
  for (const { end } of calls) end()
  expect(getEventListeners(stopping.signal, 'abort')).toEqual([])
  const last = beginBounded(stopping.signal, 60_000, () => new Error('late'))
  last.end()
  stopping.abort()
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect([...calls, last].filter(({ signal }) => signal.aborted)).toEqual([])
})

test('a process whose calls all hang on the signal of its stop is not warned of a leak', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => void warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const stopping = new AbortController()
  for (let calls = 0; calls < 20; calls += 1) boundedSignal(stopping.signal, 60_000)
  await new Promise((resolve) => setImmediate(resolve))
  stopping.abort()
  expect(warnings).toEqual([])
})

test('nobody combines signals in the way that Node 20 may forget', () => {
  const shipped = codeFiles.filter((path) => /^(src|workers|db)\//.test(path))
  const found = shipped.filter((path) => /\bAbortSignal\s*\.\s*any\b/.test(withoutComments(readSource(path))))
  expect(found).toEqual([])
})
