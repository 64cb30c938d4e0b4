import { describe, expect, test } from 'vitest'
import { isLoopbackHost } from '../../src/api/http/peers.ts'
import { TokenBuckets } from '../../src/api/http/rate-limit.ts'
import { routeTable } from '../../src/api/route-table.ts'
import { systemClock } from '../../src/clock.ts'
import { explainReady, explainWait } from '../../src/domain/job/explain/why-not-running.ts'
import { jobKinds } from '../../src/domain/job/kinds/registry.ts'
import { concurrencySetting, settingValue } from '../../src/domain/settings.ts'

describe('token buckets', () => {
  const at = { ms: 0 }
  const clock = { ...systemClock, monotonicMs: () => at.ms }

  test('a burst passes, then one per refill', () => {
    const buckets = new TokenBuckets({ clock, burst: 2, refillMs: 100, keys: 10 })
    expect([buckets.take('a'), buckets.take('a'), buckets.take('a')]).toEqual([0, 0, 100])
    expect(buckets.waitMs('b')).toBe(0)
    at.ms += 60
    expect(buckets.waitMs('a')).toBeCloseTo(40)
    at.ms += 40
    expect([buckets.take('a'), buckets.take('a')]).toEqual([0, 100])
  })

  test('memory is bounded: the key not seen for longest is forgotten', () => {
    const buckets = new TokenBuckets({ clock, burst: 1, refillMs: 1_000, keys: 3 })
    for (const key of ['a', 'b', 'c', 'a', 'd']) buckets.take(key)
    expect(buckets.size).toBe(3)
    expect(buckets.waitMs('b')).toBe(0)
    expect(buckets.waitMs('a')).toBeGreaterThan(0)
  })
})

test('the route table knows parameters from verbs', () => {
  const table = routeTable([
    { method: 'GET', path: '/jobs/:id' },
    { method: 'POST', path: '/jobs/:id/:verb{:retry}' },
    { method: 'ALL', path: '/*' },
  ])
  expect(table.methods('/jobs/1')).toEqual(['GET', 'HEAD'])
  expect(table.methods('/jobs/1/:retry')).toEqual(['POST'])
  expect(table.methods('/jobs/1/:cancel')).toEqual([])
  expect(table.methods('/jobs/1/2/3')).toEqual([])
})

test.each([
  ['localhost', true],
  ['LOCALHOST.', true],
  ['a.localhost', true],
  ['127.0.0.1', true],
  ['[::1]', true],
  ['0.0.0.0', false],
  ['127.0.0.1.example', false],
  ['localhost.example', false],
  ['', false],
])('%s is loopback: %s', (host, expected) => {
  expect(isLoopbackHost(host)).toBe(expected)
})

test('a stored setting that no longer fits counts as not set', () => {
  const stored = new Map<string, unknown>([
    ['retention-jobs-days', 'soon'],
    ['relay-window', 10],
  ])
  expect(settingValue(stored, 'retention-jobs-days')).toBe(30)
  expect(settingValue(stored, 'relay-window')).toBe(10)
  for (const kind of jobKinds) expect(concurrencySetting(stored, kind.kind)).toBe(kind.concurrency)
  expect(() => settingValue(stored, 'colour')).toThrow('There is no setting')
})

// promise: wait-reason
test('every wait has a reason, a since and what ends it', () => {
  const created = new Date('2026-01-01T00:00:00Z')
  const job = {
    state: 'ready' as const,
    kind: 'self-test',
    payloadVersion: 1,
    createdAt: created,
    runAfter: created,
    notDue: false,
    deadline: null,
    waitReason: null,
    waitDetail: null,
    waitSince: null,
    waitUntil: null,
    waitSignal: null,
    error: null,
  }
  const idle = { pauses: [], serving: 0, able: 0, slots: 0, running: 0, inLane: 0 }
  const waits = [
    explainReady(job, idle),
    explainReady({ ...job, notDue: true }, idle),
    explainReady(job, { ...idle, serving: 1 }),
    explainReady(job, { ...idle, serving: 1, able: 1 }),
    explainWait({ ...job, state: 'waiting', waitReason: 'window', waitSignal: 'window-opened' }, []),
    explainWait({ ...job, state: 'waiting', waitReason: 'token' }, []),
  ]
  for (const wait of waits) {
    expect(wait.reason).not.toBe('')
    expect(wait.endsWhen).toMatch(/\.$/)
    expect(wait.since).toEqual(created)
  }
  expect(new Set(waits.map((wait) => wait.reason)).size).toBe(waits.length)
})
