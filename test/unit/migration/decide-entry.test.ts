import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reachablePlaces } from '../../../src/domain/migration/batch/describe-table.ts'
import {
  decideEntry,
  type EntryDecision,
  type EntryFacts,
  type EntryJob,
  pauseMs,
} from '../../../src/domain/migration/entry/decide-entry.ts'
import { hasEnded, isCommitted } from '../../../src/domain/migration/entry/entry.ts'
import { applyEntryEvent } from '../../../src/domain/migration/entry/entry-table.ts'
import type { WindowAnswer } from '../../../src/domain/migration/schedule/windows.ts'
import { at, facts, night, now, off, said, shuttingDown } from './entry-facts.ts'

const failed = (kind: EntryJob['kind'], errorClass: string): EntryJob => ({
  kind,
  state: 'failed',
  error: { code: 'broke', class: errorClass, message: 'It broke.' },
})

const anyWindow: fc.Arbitrary<WindowAnswer> = fc.oneof(
  fc.constantFrom<WindowAnswer[]>(
    { is: 'open', window: null },
    { is: 'open', window: night },
    { is: 'open', window: { ...night, endsAt: now + 12_345 } },
    { is: 'full', what: 'windows', window: night },
    { is: 'full', what: 'constraint', window: null },
    { is: 'none', why: 'over' },
    { is: 'none', why: 'too-short' },
  ),
  fc.integer({ min: 1, max: 5_000_000 }).map(
    (in_): WindowAnswer => ({
      is: 'later',
      window: night,
      at: now + in_,
    }),
  ),
)
const anyJob: fc.Arbitrary<EntryJob> = fc.record({
  kind: fc.constantFrom(
    'place-instance' as const,
    'import-instance' as const,
    'cutover-instance' as const,
    'final-verify' as const,
    'withdraw-entry' as const,
  ),
  state: fc.constantFrom('open' as const, 'succeeded' as const, 'failed' as const, 'canceled' as const),
  error: fc.option(
    fc.record({
      code: fc.constant('broke'),
      class: fc.constantFrom('transient', 'environment', 'conflict', 'config', 'permanent', 'bug'),
      message: fc.constant('It broke.'),
    }),
    { nil: null },
  ),
})
const anyFacts: fc.Arbitrary<EntryFacts> = fc.record({
  now: fc.constant(now),
  place: fc.constantFrom(...reachablePlaces()),
  reason: fc.constant(said),
  job: fc.option(anyJob, { nil: null }),
  intent: fc.option(
    fc.oneof(
      fc.record({ verb: fc.constant('cancel' as const), force: fc.boolean(), cleanup: fc.boolean() }),
      fc.record({ verb: fc.constant('reset' as const), force: fc.boolean() }),
    ),
    { nil: null, freq: 2 },
  ),
  batchState: fc.constantFrom('running' as const, 'running' as const, 'stopped' as const, 'error' as const),
  blocks: fc.array(fc.constant({ code: 'blocked', message: 'Something is in the way.' }), { maxLength: 2 }),
  sourceStop: fc.constantFrom(null, off, shuttingDown),
  sourceNeedsPerson: fc.boolean(),
  hasTarget: fc.boolean(),
  tracked: fc.boolean(),
  syncedAt: fc.option(
    fc.nat(5_000_000).map((ago) => now - ago),
    { nil: null },
  ),
  window: anyWindow,
  windowOver: fc.boolean(),
  windowEndsAt: fc.option(
    fc.integer({ min: 1, max: 5_000_000 }).map((in_) => now + in_),
    { nil: null },
  ),
  intervalMs: fc.integer({ min: 1_000, max: 3_600_000 }),
  finalLimitMs: fc.integer({ min: 1_000, max: 3_600_000 }),
  forecastMs: fc.nat(3_600_000),
  since: fc.nat(5_000_000).map((ago) => now - ago),
  tries: fc.nat(12),
  askPersonAt: fc.option(
    fc.nat(5_000_000).map((in_) => now - 1_000 + in_),
    { nil: null },
  ),
})

const law = (name: string, holds: (given: EntryFacts, decision: EntryDecision) => void) =>
  test(name, () => {
    fc.assert(
      fc.property(anyFacts, (given) => holds(given, decideEntry(given))),
      { numRuns: 5_000 },
    )
  })

describe('laws', () => {
  law('there are never two jobs at one entry', ({ job }, decision) => {
    if (job?.state === 'open') expect(['rest', 'call-off', 'forget']).toContain(decision.do)
  })

  law('who rests is looked at again, later than now and not too late', ({ job, place }, decision) => {
    if (decision.do !== 'rest') return
    expect(decision.lookAt).toBeGreaterThan(now)
    // The end of a job wakes its entry; only where the source may be off nobody relies on that.
    const waitsForItsJob = job?.state === 'open' && job.kind !== 'cutover-instance' && !isCommitted(place)
    expect(decision.lookAt).toBeLessThanOrEqual(now + (waitsForItsJob ? 300_000 : 30_000))
  })

  // promise: window-end
  law(
    'nobody looks at a source that is off later than its window ends, whatever job is at it',
    (given, decision) => {
      const { place, windowEndsAt } = given
      if (decision.do !== 'rest' && decision.do !== 'start') return
      const begun = decision.do === 'start' && decision.event === 'cutover-begin'
      const window = given.window.is === 'open' ? given.window.window : null
      const ends = begun ? (window?.endsAt ?? null) : isCommitted(place) ? windowEndsAt : null
      if (ends !== null) expect(decision.lookAt).toBeLessThanOrEqual(ends)
      // Nor, where it has none, than whoever looks at everything.
      const off = begun || isCommitted(place)
      if (off) expect(decision.lookAt).toBeLessThanOrEqual(now + 30_000)
    },
  )

  law('every step has a reason, and what is applied is possible there', ({ place }, decision) => {
    expect(decision.reason.code).not.toBe('')
    expect(decision.reason.message).not.toBe('')
    if (decision.do === 'apply')
      expect(applyEntryEvent(place, decision.event, { force: decision.force }).allowed).toBe(true)
    if (decision.do === 'start' && decision.event)
      expect(applyEntryEvent(place, decision.event).allowed).toBe(true)
  })

  law('whatever is committed when its window is over is called off or let go', (given, decision) => {
    if (!given.windowOver || !isCommitted(given.place) || given.intent) return
    const { job } = given
    if (job && job.state !== 'open' && job.state !== 'succeeded') return
    if (job?.kind === 'withdraw-entry' && job.state === 'open') return
    if (job?.state === 'open') expect(decision.do).toBe('call-off')
    else expect(decision).toMatchObject({ do: 'apply', event: 'let-go' })
  })

  law('a wish is done, waits for a job that is called off, or is dropped', (given, decision) => {
    if (!given.intent) return
    // Putting right is not called off, and one that failed is not asked again at once.
    if (given.job?.kind === 'withdraw-entry' && decision.do === 'rest') return
    if (given.job?.state === 'open') expect(['call-off', 'forget']).toContain(decision.do)
    else if (decision.do === 'apply') expect(decision.event).toBe(given.intent.verb)
    else expect(decision.do).toBe('forget')
    const { allowed } = applyEntryEvent(given.place, given.intent.verb, { force: given.intent.force })
    if (allowed) expect(decision.do).not.toBe('forget')
  })

  law('a stopped batch begins nothing but to put right what was left', (given, decision) => {
    if (given.batchState === 'running' || decision.do !== 'start') return
    expect(decision.job).toBe('withdraw-entry')
  })

  law('an entry that has ended does nothing but put right what it left', (given, decision) => {
    if (!hasEnded(given.place.state) || given.intent) return
    if (decision.do === 'start') expect(decision.job).toBe('withdraw-entry')
    else if (given.job?.state !== 'open') expect(decision).toMatchObject({ do: 'rest', reason: said })
  })

  law('a finished entry has nothing withdrawn: its source stays off for good', (given, decision) => {
    if (given.place.state !== 'finished' || given.job?.kind === 'withdraw-entry') return
    expect(decision.do).not.toBe('start')
  })

  law('a source of ours is not left off for an entry that does not need it so', (given, decision) => {
    if (given.place.state === 'finished') return
    if (!given.sourceStop || given.sourceNeedsPerson || isCommitted(given.place)) return
    if (given.job?.state === 'open' || given.intent) return
    const working = given.job?.state === 'failed' || given.job?.state === 'canceled'
    if (!working) expect(decision).toMatchObject({ do: 'start', job: 'withdraw-entry' })
  })

  law('a source that may be another machine is left alone by everybody but a person', (given, decision) => {
    if (!given.sourceNeedsPerson || given.job || given.intent || !hasEnded(given.place.state)) return
    expect(decision.do).toBe('rest')
  })

  law('the source is switched off only while the window is open', (given, decision) => {
    if (decision.do === 'start' && decision.event === 'cutover-begin') expect(given.window.is).toBe('open')
  })

  law('who failed is not tried again before the pause is over', (given, decision) => {
    const early = given.tries > 0 && now < given.since + pauseMs(given.tries)
    if (!early || given.job || given.sourceStop || isCommitted(given.place)) return
    if (given.place.state !== 'conflict') expect(decision.do).not.toBe('start')
  })
})

describe('after a job that failed', () => {
  test.each<[string, EntryJob['kind'], string, object]>([
    ['waiting/background', 'place-instance', 'config', { event: 'block', tries: 3 }],
    ['waiting/background', 'place-instance', 'transient', { event: 'block', tries: 3 }],
    ['blocked/background', 'place-instance', 'conflict', { event: 'block', tries: 3 }],
    ['creating/background', 'place-instance', 'environment', { event: 'create-put-off', tries: 3 }],
    ['creating/background', 'place-instance', 'config', { event: 'fail' }],
    ['background-import/background', 'import-instance', 'environment', { event: 'sync-put-off', tries: 3 }],
    ['background-import/final', 'import-instance', 'permanent', { event: 'fail' }],
    ['idle/final', 'cutover-instance', 'environment', { event: 'sync-put-off', tries: 3 }],
    ['idle/final', 'cutover-instance', 'bug', { event: 'fail' }],
    ['idle/complete', 'cutover-instance', 'environment', { event: 'fail' }],
    ['final-import/final', 'cutover-instance', 'environment', { event: 'fail' }],
    ['post-import/complete', 'cutover-instance', 'transient', { event: 'fail' }],
    ['worker-done/complete', 'final-verify', 'environment', { event: 'conflict' }],
  ])('%s, %s, %s', (place, kind, errorClass, expected) => {
    const decision = decideEntry(facts({ place: at(place), job: failed(kind, errorClass), tries: 2 }))
    expect(decision).toMatchObject({ do: 'apply', reason: { code: 'broke' }, ...expected })
  })

  test('a placement that goes on failing is tried ever more rarely, and never in a circle', () => {
    let given = facts()
    const starts: number[] = []
    for (let step = 0; step < 400; step += 1) {
      const decision = decideEntry(given)
      if (decision.do === 'start') {
        starts.push(given.now)
        given = { ...given, tries: decision.tries, job: failed('place-instance', 'config') }
      } else if (decision.do === 'apply') {
        const answer = applyEntryEvent(given.place, decision.event)
        if (!answer.allowed || !answer.to) throw new Error('The table refuses it.')
        given = { ...given, place: answer.to, job: null, tries: decision.tries, since: given.now }
      } else if (decision.do === 'rest') given = { ...given, now: decision.lookAt }
    }
    const gaps = starts.slice(1).map((moment, index) => (moment - (starts[index] ?? 0)) / 1_000)
    expect(gaps.slice(0, 7)).toEqual([15, 30, 60, 120, 240, 300, 300])
    expect(given.place.state).toBe('blocked')
  })

  test('a withdrawal that failed is begun again after a pause, with the entry saying what it said', () => {
    const given = facts({
      place: at('error/final'),
      job: failed('withdraw-entry', 'environment'),
      tries: 1,
      sourceStop: off,
      since: now,
    })
    expect(decideEntry(given)).toMatchObject({ do: 'rest', reason: said, lookAt: now + 15_000 })
    expect(decideEntry({ ...given, now: now + 15_000 })).toMatchObject({
      do: 'start',
      job: 'withdraw-entry',
      tries: 2,
      reason: said,
    })
  })
})

test('a first copy is let off the limit of its batch when its window is open, and looked at when it opens', () => {
  const place = { state: 'idle', stage: 'background' } as const
  const job: EntryJob = { kind: 'import-instance', state: 'open', error: null, limited: true }
  const looks = (window: WindowAnswer) => {
    const decision = decideEntry(facts({ place, job, window }))
    return decision.do === 'rest' ? decision.lookAt - now : decision.do
  }
  expect(looks({ is: 'open', window: night })).toBe('let-off')
  expect(looks({ is: 'later', window: night, at: now + 1_234 })).toBe(1_234)
  expect(looks({ is: 'full', what: 'windows', window: night })).toBe(30_000)
})

describe('what is called off', () => {
  const open = (kind: EntryJob['kind']): EntryJob => ({ kind, state: 'open', error: null })
  const canceled = (kind: EntryJob['kind']): EntryJob => ({ kind, state: 'canceled', error: null })

  test.each([
    ['idle/final', 'cutover-instance', true],
    ['final-import/final', 'cutover-instance', true],
    ['worker-done/complete', 'final-verify', true],
    ['background-import/final', 'import-instance', false],
  ] as const)('when the window of %s is over, %s: %s', (place, kind, called) => {
    const decision = decideEntry(facts({ place: at(place), job: open(kind), windowOver: true }))
    expect(decision.do).toBe(called ? 'call-off' : 'rest')
  })

  test('a placement that is not begun is called off when something comes in its way', () => {
    const blocks = [{ code: 'disabled', message: 'A person disabled it.' }]
    const given = { job: open('place-instance'), blocks }
    expect(decideEntry(facts(given))).toMatchObject({ do: 'call-off', reason: blocks[0] })
    expect(decideEntry(facts({ ...given, place: at('creating/background') })).do).toBe('rest')
  })

  test.each([
    ['creating/background', 'place-instance', { do: 'apply', event: 'create-put-off' }],
    ['background-import/final', 'import-instance', { do: 'apply', event: 'sync-put-off' }],
    ['final-import/final', 'cutover-instance', { do: 'apply', event: 'let-go' }],
    ['idle/complete', 'cutover-instance', { do: 'apply', event: 'let-go' }],
    ['post-import/complete', 'cutover-instance', { do: 'apply', event: 'let-go' }],
    ['worker-done/complete', 'final-verify', { do: 'start', job: 'final-verify' }],
    ['waiting/background', 'place-instance', { do: 'start', job: 'place-instance' }],
  ] as const)('%s after its %s was cancelled', (place, kind, expected) => {
    expect(decideEntry(facts({ place: at(place), job: canceled(kind) }))).toMatchObject(expected)
  })

  test('a wish that was allowed when it was made is done when the job was called off further on', () => {
    const intent = { verb: 'cancel', force: false, cleanup: true } as const
    const place = at('post-import/complete')
    expect(decideEntry(facts({ place, intent, job: canceled('cutover-instance') }))).toMatchObject({
      do: 'apply',
      event: 'cancel',
      force: true,
      cleanup: true,
    })
    expect(decideEntry(facts({ place, intent, job: open('cutover-instance') })).do).toBe('forget')
    const done = at('worker-done/complete')
    expect(
      decideEntry(
        facts({ place: done, intent, job: { ...canceled('cutover-instance'), state: 'succeeded' } }),
      ).do,
    ).toBe('forget')
  })
})

describe('an entry that is idle', () => {
  const idle = (changes: Partial<EntryFacts>) =>
    decideEntry(facts({ place: at('idle/final'), syncedAt: now - 1_000, ...changes }))

  test.each<[string, Partial<EntryFacts>, object]>([
    ['has no copy yet', { place: at('idle/background') }, { do: 'start', job: 'import-instance' }],
    [
      'has no copy yet, and an open window',
      { place: at('idle/background'), window: { is: 'open', window: night } },
      { do: 'start', job: 'import-instance', event: 'sync-begin' },
    ],
    [
      'cannot be copied while it runs',
      { place: at('idle/background'), tracked: false },
      { do: 'rest', reason: { code: 'no-window' } },
    ],
    [
      'cannot be copied while it runs, and has an open window',
      { place: at('idle/background'), tracked: false, window: { is: 'open', window: night } },
      { do: 'start', job: 'cutover-instance', event: 'cutover-begin' },
    ],
    [
      'has an open window',
      { window: { is: 'open', window: null } },
      { do: 'start', job: 'cutover-instance' },
    ],
    ['has an old copy', { syncedAt: now - 600_000 }, { do: 'start', job: 'import-instance' }],
    [
      'waits for a window',
      { window: { is: 'later', window: night, at: now + 500 } },
      { do: 'rest', reason: { code: 'window-later' }, lookAt: now + 500 },
    ],
    [
      'waits for room',
      { window: { is: 'full', what: 'windows', window: night } },
      { do: 'rest', reason: { code: 'windows-full' } },
    ],
    [
      'waits for others of its constraint',
      { window: { is: 'full', what: 'constraint', window: night } },
      { do: 'rest', reason: { code: 'constraint-full' } },
    ],
    [
      'has no window that is long enough',
      { window: { is: 'none', why: 'too-short' } },
      { do: 'rest', reason: { code: 'window-too-short' } },
    ],
    [
      'has the whole copy',
      { place: at('idle/complete'), sourceStop: off },
      { do: 'start', job: 'cutover-instance', event: 'post-begin' },
    ],
    [
      'is stopped',
      { batchState: 'stopped', window: { is: 'open', window: night } },
      { do: 'rest', reason: { code: 'batch-stopped' } },
    ],
  ])('that %s', (_what, changes, expected) => {
    expect(idle(changes)).toMatchObject(expected)
  })
})

test('what was found stale at the verification is copied again at once', () => {
  const place = at('final-import/final')
  const verified: EntryJob = { kind: 'final-verify', state: 'succeeded', error: null }
  expect(decideEntry(facts({ place, job: verified, sourceStop: off }))).toMatchObject({
    do: 'start',
    job: 'cutover-instance',
    event: null,
  })
})
