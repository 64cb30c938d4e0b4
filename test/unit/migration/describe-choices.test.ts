import { describe, expect, test } from 'vitest'
import { type ChoiceFacts, describeChoices } from '../../../src/domain/migration/batch/describe-choices.ts'
import { reachablePlaces } from '../../../src/domain/migration/batch/describe-table.ts'
import { applyEntryEvent, entryVerbs } from '../../../src/domain/migration/entry/entry-table.ts'
import { at, night, now } from './entry-facts.ts'

const facts = (place: string, changes: Partial<ChoiceFacts> = {}): ChoiceFacts => ({
  place: at(place),
  reason: 'no-longer-matches',
  batchState: 'running',
  batchForces: false,
  sourceOff: false,
  leftovers: true,
  blocked: false,
  busy: false,
  window: { is: 'open', window: { ...night, endsAt: now + 3_600_000 } },
  ...changes,
})

const doesOf = (given: ChoiceFacts, verb: string, cleanup = false): string =>
  describeChoices(given).find((choice) => choice.verb === verb && choice.cleanup === cleanup)?.does ?? ''

describe('what a verb would do', () => {
  // promise: verb-said-first
  test('is said of each one that is possible, and of no other, wherever an entry comes to', () => {
    for (const place of reachablePlaces()) {
      const choices = describeChoices({ ...facts('waiting/background'), place })
      expect(new Set(choices.map(({ verb }) => verb))).toEqual(
        new Set(entryVerbs(place, { leftovers: true }).map(({ verb }) => verb)),
      )
      for (const { does } of choices) expect(does).toMatch(/\.$/)
    }
  })

  // promise: verb-said-first
  test('names when the source is switched off, wherever what follows leads to a cutover', () => {
    for (const place of reachablePlaces())
      for (const { verb, does } of describeChoices({ ...facts('waiting/background'), place })) {
        const answer = applyEntryEvent(place, verb, { force: true })
        const goesOn = answer.allowed && ['waiting', 'idle'].includes(answer.to?.state ?? '')
        expect(does.includes('is switched off for the cutover')).toBe(goesOn)
      }
  })

  test('of the expression is that it goes through for good, and when its source goes off', () => {
    const does = doesOf(facts('conflict/background'), 'resolve')
    expect(does).toContain('it does not conflict again')
    expect(does).toContain('"night", which is open now until 1970-01-12 14:46 UTC.')
    expect(doesOf(facts('conflict/background', { blocked: true }), 'resolve')).toContain(
      'once nothing else keeps it',
    )
    expect(doesOf(facts('conflict/background', { batchState: 'stopped' }), 'resolve')).toMatch(
      /^Its batch is stopped/,
    )
  })

  test.each([
    ['target-start-failed', false],
    ['target-runs', false],
    ['target-machine-absent', false],
    ['runs-elsewhere', false],
    ['checks-failed', true],
    ['placement-changed', true],
  ])('promises force only where it lets something through: %s', (reason, helps) => {
    const of = (batchForces: boolean) =>
      doesOf(facts('conflict/complete', { reason, batchForces, sourceOff: true }), 'resolve')
    expect(of(false).includes('set force_conflict_resolution')).toBe(helps)
    expect(of(true).includes('The batch forces conflicts')).toBe(helps)
    expect(of(false)).toContain('if nothing has changed, it conflicts again')
  })

  test.each([
    [{ is: 'open', window: null }, 'the batch has no windows'],
    [{ is: 'later', window: night, at: now }, '"night", which opens at 1970-01-12 13:46 UTC'],
    [{ is: 'full', what: 'windows', window: null }, 'there is no room now'],
    [{ is: 'none', why: 'over' }, 'not before one is added'],
  ] as const)('says what its window is: %j', (window, words) => {
    expect(doesOf(facts('conflict/background', { window }), 'resolve')).toContain(words)
  })

  test('of a conflict whose source is off is that it stays off, and what may come of it', () => {
    const off = facts('conflict/complete', { reason: 'placement-changed', sourceOff: true })
    expect(doesOf(off, 'resolve')).toMatch(
      /^Its source stays off\. .*if nothing has changed, it conflicts again/,
    )
    expect(doesOf({ ...off, batchForces: true }, 'resolve')).toContain('its target is started where it is')
    expect(doesOf(off, 'cancel')).toContain('is switched on again once its copy is proved off')
    expect(doesOf(off, 'cancel')).toContain('stays there, switched off')
    expect(doesOf(off, 'cancel', true)).toContain('is destroyed')
    const ran = facts('conflict/final', { reason: 'placement-changed' })
    expect(doesOf(ran, 'resolve')).toMatch(/copied anew.*conflicts again.*is switched off for the cutover/)
  })

  test('of a cancel is what is thrown away, and nothing is offered that is not there', () => {
    const late = facts('worker-done/complete', { sourceOff: true, busy: true })
    expect(doesOf(late, 'cancel')).toMatch(
      /^Its job lets go first\. It is given up\. Its whole copy is thrown away/,
    )
    const bare = describeChoices(facts('waiting/background', { leftovers: false }))
    expect(bare.map(({ cleanup }) => cleanup)).toEqual([false])
    const gone = describeChoices(facts('canceled/background'))
    expect(gone.map(({ verb, cleanup }) => [verb, cleanup])).toEqual([
      ['cancel', true],
      ['retry', false],
    ])
  })
})
