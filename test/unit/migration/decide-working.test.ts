import { describe, expect, test } from 'vitest'
import {
  decideEntry,
  type EntryFacts,
  type EntryJob,
} from '../../../src/domain/migration/entry/decide-entry.ts'
import type { WindowAnswer } from '../../../src/domain/migration/schedule/windows.ts'
import { utcText } from '../../../src/domain/text/utc-text.ts'
import { facts as anyFacts, at, night, now, off, shuttingDown } from './entry-facts.ts'

const facts = (changes: Partial<EntryFacts>): EntryFacts =>
  anyFacts({ place: at('idle/final'), hasTarget: true, ...changes })
const open = (kind: EntryJob['kind']): EntryJob => ({ kind, state: 'open', error: null })

describe('while a job is at it', () => {
  test('a cutover that has not begun, as soon as nothing may begin any more', () => {
    const job = open('cutover-instance')
    const over: WindowAnswer = { is: 'none', why: 'over' }
    const doing = (where: string, window: WindowAnswer) =>
      decideEntry(facts({ place: at(where), job, window })).do
    expect(doing('idle/final', { is: 'open', window: night })).toBe('rest')
    expect(doing('idle/final', over)).toBe('call-off')
    expect(doing('final-import/final', over)).toBe('rest')
    expect(doing('idle/complete', over)).toBe('rest')
  })

  test.each([
    ['final-import/final', 'cutover-instance'],
    ['worker-done/complete', 'final-verify'],
  ] as const)(
    'what is committed is looked at when its window ends, not half a minute later: %s',
    (place, kind) => {
      const given = { place: at(place), job: open(kind), windowEndsAt: now + 700 }
      expect(decideEntry(facts(given))).toMatchObject({ do: 'rest', lookAt: now + 700 })
    },
  )

  test.each([
    ['worker-done/complete', 'running', { do: 'start', job: 'final-verify' }],
    ['worker-done/complete', 'stopped', { do: 'rest', reason: { code: 'batch-stopped' } }],
    ['idle/complete', 'running', { do: 'start', job: 'cutover-instance' }],
    ['conflict/complete', 'running', { do: 'rest' }],
  ] as const)('nor without a job, nor with the next one just sent: %s, %s', (place, batchState, expected) => {
    const given = facts({ place: at(place), batchState, sourceStop: off, windowEndsAt: now + 700 })
    expect(decideEntry(given)).toMatchObject({ ...expected, lookAt: now + 700 })
  })

  test.each([
    ['final-import/final', 'cutover-instance', 'forced off at'],
    ['idle/final', 'withdraw-entry', 'waited for until'],
  ] as const)('a guest that is given time to shut down is the reason: %s', (place, kind, text) => {
    const waits = facts({ place: at(place), job: open(kind), sourceStop: shuttingDown })
    expect(decideEntry(waits).reason).toMatchObject({
      code: 'guest-shutting-down',
      message: expect.stringContaining(text),
    })
    const seen = facts({ place: at(place), job: open(kind), sourceStop: off })
    expect(decideEntry(seen).reason.code).not.toBe('guest-shutting-down')
  })

  test('in a stopped batch nothing is, and why it waits and what ends that is told', () => {
    const given = { batchState: 'stopped' as const, job: open('cutover-instance'), windowEndsAt: now + 700 }
    const { reason } = decideEntry(facts({ ...given, place: at('final-import/final') }))
    expect(reason).toMatchObject({ code: 'batch-stopped' })
    expect(reason.message).toContain(`its window ends, at ${utcText(now + 700)}`)
    const copying = facts({
      ...given,
      job: open('import-instance'),
      place: at('background-import/background'),
    })
    expect(decideEntry(copying).reason.message).toContain('goes on when the batch is started')
  })

  // promise: wait-names-platform
  test('a platform on its way that does not answer is named, whatever its job says', () => {
    const away = [{ code: 'target-not-connected', message: 'The target oslo does not answer, since 12:03.' }]
    for (const [place, kind] of [
      ['worker-done/complete', 'final-verify'],
      ['final-import/final', 'cutover-instance'],
      ['idle/final', 'withdraw-entry'],
    ] as const) {
      const decision = decideEntry(facts({ place: at(place), job: open(kind), away, windowEndsAt: now + 1 }))
      expect(decision).toMatchObject({ do: 'rest', reason: away[0] })
    }
    const failed = { code: 'x', class: 'environment', message: 'No.' }
    const owed = facts({
      job: { kind: 'withdraw-entry', state: 'failed', error: failed },
      away,
      since: now,
      tries: 1,
    })
    expect(decideEntry(owed).reason).toEqual(away[0])
  })

  describe('a top-up, when its window opens,', () => {
    const opens: WindowAnswer = { is: 'open', window: night }
    const topUp = (where: string, remainingMs: number | null, window: WindowAnswer = opens) =>
      decideEntry(facts({ place: at(where), job: { ...open('import-instance'), remainingMs }, window }))

    test('is called off where it stands in line, or would keep the cutover waiting', () => {
      expect(topUp('idle/final', null).do).toBe('call-off')
      expect(topUp('background-import/final', null).do).toBe('call-off')
      expect(topUp('background-import/final', 60_001)).toMatchObject({
        do: 'call-off',
        reason: { code: 'window-open' },
      })
    })

    test('may end where that takes a minute, and is looked at again', () => {
      expect(topUp('background-import/final', 60_000)).toMatchObject({ do: 'rest', lookAt: now + 30_000 })
    })

    test('and a first copy goes on: the cutover would copy all of it', () => {
      expect(topUp('background-import/background', null).do).toBe('rest')
    })

    test('is looked at then, and not called off before', () => {
      const later: WindowAnswer = { is: 'later', window: night, at: now + 700 }
      expect(topUp('background-import/final', null, later)).toMatchObject({ do: 'rest', lookAt: now + 700 })
      expect(topUp('idle/final', null, { is: 'full', what: 'windows', window: night }).do).toBe('rest')
    })
  })
})
