import { describe, expect, test } from 'vitest'
import { decideEntry, type EntryFacts, type EntryJob } from '../../../src/domain/migration/decide-entry.ts'
import type { WindowAnswer } from '../../../src/domain/migration/windows.ts'
import { facts as anyFacts, at, night, now } from './entry-facts.ts'

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
    const given = facts({ place: at(place), batchState, sourceIsOurs: true, windowEndsAt: now + 700 })
    expect(decideEntry(given)).toMatchObject({ ...expected, lookAt: now + 700 })
  })

  test('in a stopped batch nothing is, and why it waits and what ends that is told', () => {
    const given = { batchState: 'stopped' as const, job: open('cutover-instance'), windowEndsAt: now + 700 }
    const { reason } = decideEntry(facts({ ...given, place: at('final-import/final') }))
    expect(reason).toMatchObject({ code: 'batch-stopped' })
    expect(reason.message).toContain(`its window ends, at ${new Date(now + 700).toISOString()}`)
    const copying = facts({
      ...given,
      job: open('import-instance'),
      place: at('background-import/background'),
    })
    expect(decideEntry(copying).reason.message).toContain('goes on when the batch is started')
  })

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
})
