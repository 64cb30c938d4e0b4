import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { batchStates } from '../../../src/domain/migration/batch/batch-table.ts'
import {
  type DownFacts,
  downBefore,
  downOf,
  downText,
  downTimes,
  type NamedDown,
} from '../../../src/domain/migration/batch/downtime.ts'
import { entryStages, entryStates, isCommitted } from '../../../src/domain/migration/entry/entry.ts'

const at = Date.parse('2026-11-19T12:00:00Z')
const hour = 3_600_000

const facts = (changes: Partial<DownFacts> = {}): DownFacts => ({
  now: at + 600_000,
  place: { state: 'final-import', stage: 'final' },
  reason: 'working',
  stop: { askedAt: at - 60_000, offAt: at, guestUntil: at + 240_000 },
  batchState: 'running',
  wanted: false,
  withdrawFailed: null,
  window: { name: 'night', endsAt: at + hour },
  away: [],
  ...changes,
})

const complete = (state: 'worker-done' | 'conflict') => ({ state, stage: 'complete' }) as const

describe('a source that is off on our account', () => {
  test.each([
    [{}, at + hour, 'Its target takes over, or it is switched on again when its window "night" ends.'],
    [
      { batchState: 'stopped' },
      at + hour,
      'Its batch is stopped: it is switched on again when its window "night" ends.',
    ],
    [
      { place: complete('conflict') },
      at + hour,
      'A person has to decide its conflict; undecided, it is switched on again when',
    ],
    [
      { place: complete('conflict'), window: null },
      null,
      'It stays off until a person resolves or cancels the entry',
    ],
    [{ window: null }, null, 'It stays off until its target takes over; no window ends that.'],
    [
      { window: { name: 'open', endsAt: null } },
      null,
      'It stays off until its target takes over; no window ends that.',
    ],
    [
      { window: null, batchState: 'stopped' },
      null,
      'it stays off until that is started, or the entry is cancelled.',
    ],
    [{ now: at + 2 * hour }, null, 'Its window "night" is over: it is switched on again as soon as'],
    [{ wanted: true }, null, 'It is switched on again as soon as its job has let go.'],
    [
      { place: { state: 'idle', stage: 'final' } },
      null,
      'It is to be switched on again, once its copy is proved off.',
    ],
    [
      { place: { state: 'canceled', stage: 'background' }, withdrawFailed: 'The target is away.' },
      null,
      'once its copy is proved off. The last try failed: The target is away.',
    ],
    [
      { place: { state: 'error', stage: 'background' }, reason: 'identity-changed' },
      null,
      'it stays off until a person retries or cancels the entry.',
    ],
  ] satisfies [Partial<DownFacts>, number | null, string][])(
    'says until when, and what brings it back: %j',
    (changes, until, because) => {
      const down = downOf(facts(changes))
      expect(down).toMatchObject({ since: at, until })
      expect(down?.because).toContain(because)
    },
  )

  // promise: off-said-first
  test('is told of wherever its entry stands, but for the end that it is off for', () => {
    const place = fc.record({
      state: fc.constantFrom(...entryStates),
      stage: fc.constantFrom(...entryStages),
    })
    fc.assert(
      fc.property(place, fc.constantFrom(...batchStates), fc.boolean(), (where, batchState, wanted) => {
        const down = downOf(facts({ place: where, batchState, wanted }))
        if (where.state === 'finished') return down === null
        // A promise of a time is made only where the end of a window is what ends it.
        return down !== null && down.because.length > 20 && (down.until === null || isCommitted(where))
      }),
    )
  })

  test('names the platform that does not answer before anything else', () => {
    const away = ['The target oslo does not answer, since 2026-11-19 12:05 UTC.']
    expect(downOf(facts({ away }))?.because).toMatch(
      /^The target oslo does not answer, since 2026-11-19 12:05 UTC\. Its /,
    )
  })

  describe('that still runs, because its guest is given time', () => {
    const stop = { askedAt: at, offAt: null, guestUntil: at + 300_000 }

    test('is not called off: since when it is asked, and when it is forced, is said', () => {
      const down = downOf(facts({ stop }))
      expect(down).toMatchObject({
        since: at,
        shutdown: { askedAt: at, until: at + 300_000, end: 'forced' },
        until: at + hour,
      })
      expect(down && downTimes(down)).toBe(
        'asked to shut down at 2026-11-19 12:00 UTC, still running, forced off at 2026-11-19 12:05 UTC',
      )
      expect(down?.because).toMatch(/^Once it is off: its target takes over/)
    })

    test('is given up at the end of its time when the entry has let go of it', () => {
      const down = downOf(facts({ stop, place: { state: 'idle', stage: 'final' } }))
      expect(down).toMatchObject({ shutdown: { end: 'given-up' }, until: null })
      expect(down && downTimes(down)).toContain('still running, given up at 2026-11-19 12:05 UTC')
      expect(down?.because).toBe('When it goes off, also later, it is started again.')
    })

    test('is off from when it was seen off, and of an older version since it was asked', () => {
      const seen = downOf(facts({ stop: { ...stop, offAt: at + 20_000 } }))
      expect(seen).toMatchObject({ since: at + 20_000, shutdown: null })
      expect(downOf(facts({ stop: { ...stop, guestUntil: null } }))).toMatchObject({
        since: at,
        shutdown: null,
      })
    })
  })

  test('is no longer down when it was not switched off by us, or is on again', () => {
    expect(downOf(facts({ stop: null }))).toBeNull()
  })
})

describe('the sentence that a person reads before and after a verb', () => {
  const one = (name: string, until: number | null = at + hour): NamedDown => ({
    name,
    since: at,
    shutdown: null,
    until,
    because: 'x',
  })

  test('names who is off, since when and until when, and counts the rest', () => {
    expect(downText({ count: 0, shuttingDown: 0, entries: [] })).toBe('')
    expect(downText({ count: 1, shuttingDown: 0, entries: [one('web-1')] })).toBe(
      '1 machine is off for its migration: web-1 (since 2026-11-19 12:00 UTC, until 2026-11-19 13:00 UTC at the latest).',
    )
    const many = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => one(name, null))
    const text = downText({ count: 23, shuttingDown: 0, entries: many })
    expect(text).toMatch(
      /^23 machines are off for their migration: a \(since 2026-11-19 12:00 UTC, no end is set\), b /,
    )
    expect(text).toMatch(/e \([^)]*\) and 18 more\.$/)
  })

  test('counts those that still run apart', () => {
    const runs: NamedDown = {
      ...one('b'),
      shutdown: { askedAt: at, until: at + 300_000, end: 'forced' },
    }
    expect(downText({ count: 1, shuttingDown: 1, entries: [runs] })).toBe(
      '1 machine still runs that was asked to shut down for its migration: b (asked to shut down at 2026-11-19 12:00 UTC, still running, forced off at 2026-11-19 12:05 UTC).',
    )
    expect(downText({ count: 2, shuttingDown: 1, entries: [one('a'), runs] })).toMatch(
      /^1 machine is off for its migration, and 1 machine still runs that was asked to shut down for its migration: a \(since [^)]*\) and b \(asked /,
    )
  })

  test('says what the verb makes of them, and nothing where nobody is off', () => {
    expect(downBefore('stop', { count: 0, message: '' })).toBe('')
    const two = { count: 2, message: downText({ count: 2, shuttingDown: 0, entries: [one('a'), one('b')] }) }
    expect(downBefore('stop', two)).toMatch(/^2 machines are off .* each stays off until its window ends/)
    expect(downBefore('reset', two)).toContain('Each is switched on again, once its copy is proved off.')
    expect(downBefore('cancel', { ...two, count: 1 })).toContain('It is switched on again')
  })
})
