import { describe, expect, test } from 'vitest'
import {
  type JobProgress,
  PaceMeter,
  paceOf,
  readProgress,
  type StallAsk,
  stallOf,
} from '../../../src/domain/migration/schedule/progress-pace.ts'

const mib = 2 ** 20

describe('the rate of a copy', () => {
  test('is that of the last seconds, not of all the time since it began', () => {
    const meter = new PaceMeter(0)
    for (let at = 1_000; at <= 60_000; at += 1_000) meter.add(at, 100 * mib)
    expect(meter.rate).toBe(100 * mib)
    for (let at = 61_000; at <= 75_000; at += 1_000) meter.add(at, mib)
    expect(meter.rate).toBe(mib)
  })

  test('is right where one extent takes longer than those seconds', () => {
    const meter = new PaceMeter(0)
    for (const at of [40_000, 80_000, 120_000]) meter.add(at, 4 * mib)
    expect(meter.rate).toBe(Math.round((4 * mib) / 40))
  })

  test('is not told from one moment, and the same however finely it is told', () => {
    const meter = new PaceMeter(0)
    expect(meter.rate).toBeNull()
    meter.add(5, mib)
    expect(meter.rate).toBeNull()
    const fine = new PaceMeter(0)
    for (let at = 1; at <= 30_000; at += 1) fine.add(at, 1_000)
    expect(fine.rate).toBeGreaterThan(990_000)
    expect(fine.rate).toBeLessThan(1_010_000)
  })
})

const now = 10_000_000
const progress = (changes: Partial<JobProgress> = {}): JobProgress => ({
  ...{ done: 600, total: 1_200, phase: 'background-copy', rate: 2, lastProgressAt: now - 1_000 },
  ...changes,
})

describe('what is shown of it', () => {
  test.each<[string, Partial<JobProgress>, boolean, [number | null, number | null]]>([
    ['runs', {}, true, [2, 300]],
    ['waits', {}, false, [null, null]],
    ['has not moved for half a minute', { lastProgressAt: now - 30_001 }, true, [0, null]],
    ['has moved nothing yet', { rate: null, lastProgressAt: null }, true, [null, null]],
    ['is done', { done: 1_200 }, true, [2, 0]],
  ])('when it %s', (_when, changes, runs, [bytesPerSecond, etaSeconds]) => {
    expect(paceOf(progress(changes), { now, runs })).toEqual({ bytesPerSecond, etaSeconds })
  })

  test('is read from what is stored, whatever that is', () => {
    const stored = { done: 5, total: 7, phase: 'x', rate: 9, last_progress_at: '2026-03-01T00:00:00.000Z' }
    expect(readProgress(stored)).toEqual({
      ...{ done: 5, total: 7, phase: 'x', rate: 9 },
      lastProgressAt: Date.parse('2026-03-01T00:00:00.000Z'),
    })
    expect(readProgress(null)).toEqual({ done: 0, total: 0, phase: '', rate: null, lastProgressAt: null })
  })
})

describe('a stall', () => {
  const minute = 60_000
  const asked = (changes: Partial<StallAsk> = {}): StallAsk => ({
    now,
    wait: null,
    runs: { startedAt: now - 60 * minute, claimedAt: now - 30 * minute },
    progress: progress(),
    ...changes,
  })
  const quiet = (ms: number) => progress({ lastProgressAt: now - ms })

  test('is named after a minute without progress, also where there was some before', () => {
    expect(stallOf(asked())).toBeNull()
    expect(stallOf(asked({ progress: quiet(minute - 1) }))).toBeNull()
    expect(stallOf(asked({ progress: quiet(minute) }))).toMatchObject({
      cause: 'platform-slow',
      since: now - minute,
    })
  })

  test('without any progress counts from when the job began', () => {
    const none = progress({ done: 0, lastProgressAt: null })
    expect(stallOf(asked({ progress: none }))).toMatchObject({ since: now - 60 * minute })
    const fresh = { startedAt: now - minute + 1, claimedAt: now - minute + 1 }
    expect(stallOf(asked({ progress: none, runs: fresh }))).toBeNull()
  })

  test('is not said of a job that was taken up again a moment ago; then with all the time it stood still', () => {
    const again = (ms: number) => ({ startedAt: now - 90 * minute, claimedAt: now - ms })
    const stood = quiet(45 * minute)
    expect(stallOf(asked({ progress: stood, runs: again(5_000) }))).toBeNull()
    expect(stallOf(asked({ progress: stood, runs: again(minute) }))).toMatchObject({
      since: now - 45 * minute,
    })
  })

  test('of a job that waits is what it waits for', () => {
    const wait = { cause: 'token', message: 'waits for link/a', since: now - minute }
    expect(stallOf(asked({ wait, runs: null }))).toEqual(wait)
    expect(stallOf(asked({ wait: { ...wait, since: now - minute + 1 }, runs: null }))).toBeNull()
    expect(stallOf(asked({ runs: null, progress: quiet(minute) }))).toBeNull()
  })

  test('after the last byte is not said to lack bytes', () => {
    const all = { ...quiet(2 * minute), done: 1_200 }
    expect(stallOf(asked({ progress: all }))?.message).toContain('All bytes are there')
  })

  test('names the platform that does not answer, not the job that tries it again', () => {
    const wait = { cause: 'not-due', message: 'It is tried again in its time.', since: now - minute }
    const away = [{ code: 'target-not-connected', message: 'The target oslo does not answer, since 12:03.' }]
    expect(stallOf(asked({ wait, runs: null, away }))).toEqual({
      ...{ cause: 'target-not-connected', message: away[0]?.message, since: wait.since },
    })
    expect(stallOf(asked({ progress: quiet(minute), away }))?.cause).toBe('target-not-connected')
    expect(stallOf(asked({ away }))).toBeNull()
  })
})
