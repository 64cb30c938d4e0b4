import { expect, test } from 'vitest'
import {
  forecast,
  type HistoryPhase,
  type HistorySample,
  learnPace,
  makespan,
  quantile,
} from '../../../src/domain/migration/schedule/plan-forecast.ts'

const gib = 2 ** 30
const second = 1_000
const sample = (phase: HistoryPhase, tookMs: number, bytes = 0): HistorySample => ({ phase, tookMs, bytes })
const cutover = [
  sample('source-stop', 10 * second),
  sample('final-import', 20 * second, gib),
  sample('post-import', 5 * second),
  sample('final-verify', 30 * second),
]

test.each([
  [[], 0.5, 0],
  [[7], 0.9, 7],
  [[3, 1, 2], 0.5, 2],
  [[1, 2], 0.5, 1.5],
  [[0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100], 0.9, 90],
])('of %o the part %d lies below %d', (values, part, value) => {
  expect(quantile(values, part)).toBe(value)
})

test('without any history it says so, and predicts nothing', () => {
  const told = forecast({ bytes: gib, bytesWhileOff: 0, tracked: true, pace: learnPace([]) })
  expect(told).toEqual({ copy: null, downtime: null, samples: 0, note: 'no history yet' })
})

test('copies alone tell how long a copy takes, and nothing of the downtime', () => {
  const pace = learnPace([sample('background-import', 100 * second, 10 * gib)])
  const told = forecast({ bytes: 5 * gib, bytesWhileOff: 0, tracked: true, pace })
  expect(told).toMatchObject({ copy: { p50Ms: 50 * second, p90Ms: 50 * second }, downtime: null })
  expect(told.note).toBe('no history of a whole cutover yet')
})

test('the downtime of a tracked instance is that of earlier cutovers; else the whole copy is part of it', () => {
  const pace = learnPace([...cutover, sample('background-import', 20 * second, gib)])
  expect(forecast({ bytes: 100 * gib, bytesWhileOff: 0, tracked: true, pace }).downtime?.p50Ms).toBe(
    65 * second,
  )
  expect(forecast({ bytes: 100 * gib, bytesWhileOff: 100 * gib, tracked: false, pace }).downtime?.p50Ms).toBe(
    2_045 * second,
  )
  expect(forecast({ bytes: 100 * gib, bytesWhileOff: 0, tracked: true, pace })).toMatchObject({
    samples: 1,
    note: 'from 1 earlier journey only',
  })
})

test('P90 is not below P50, and ten journeys need no note', () => {
  const history = Array.from({ length: 10 }, (_, at) =>
    cutover.map((one) => ({ ...one, tookMs: one.tookMs * (at + 1) })),
  ).flat()
  const told = forecast({ bytes: gib, bytesWhileOff: 0, tracked: true, pace: learnPace(history) })
  expect(told).toMatchObject({ samples: 10, note: '' })
  expect(told.downtime?.p90Ms).toBeGreaterThan(told.downtime?.p50Ms ?? Number.POSITIVE_INFINITY)
  expect(told.copy?.p90Ms).toBeGreaterThan(told.copy?.p50Ms ?? Number.POSITIVE_INFINITY)
})

test('short copies do not count for the pace when there are long ones', () => {
  const short = sample('final-import', 10 * second, 1_024)
  const long = sample('background-import', 10 * second, gib)
  expect(
    forecast({ bytes: gib, bytesWhileOff: 0, tracked: true, pace: learnPace([short, short, long]) }).copy
      ?.p90Ms,
  ).toBe(10 * second)
  expect(
    forecast({ bytes: 2_048, bytesWhileOff: 0, tracked: true, pace: learnPace([short]) }).copy?.p50Ms,
  ).toBe(20 * second)
})

test.each([
  [[], 0, 0],
  [[], 3, 0],
  [[5, 1, 3], 0, 5],
  [[5, 1, 3], 3, 5],
  [[5, 1, 3], 1, 9],
  [[4, 3, 2, 1], 2, 5],
  [[1, 1, 10], 2, 11],
])('things that take %o, %i at once, take %i', (lengths, atOnce, total) => {
  expect(makespan(lengths, atOnce)).toBe(total)
})

test('a disk that is copied while off is no part of the first copy, and all of its bytes are downtime', () => {
  const pace = learnPace([...cutover, sample('background-import', 20 * second, gib)])
  const told = forecast({ bytes: 100 * gib, bytesWhileOff: 10 * gib, tracked: true, pace })
  expect(told.copy?.p50Ms).toBe(90 * 20 * second)
  expect(told.downtime?.p50Ms).toBe(65 * second + 10 * 20 * second)
})
