import { expect, test } from 'vitest'
import { decideEntry, type EntryJob } from '../../../src/domain/migration/entry/decide-entry.ts'
import { applyEntryEvent } from '../../../src/domain/migration/entry/entry-table.ts'
import { utcText } from '../../../src/domain/text/utc-text.ts'
import { at, facts, now } from './entry-facts.ts'

const failed: EntryJob = {
  kind: 'place-instance',
  state: 'failed',
  error: { code: 'broke', class: 'environment', message: 'It broke.' },
}

// promise: bounded-tries
test("a machine that goes on failing to be made is a person's after twelve hours, and says so from the first time", () => {
  let given = facts({ place: at('creating/background'), job: failed })
  const untils = new Set<number | undefined>()
  for (let step = 0; step < 2_000 && given.place.state !== 'error'; step += 1) {
    const decision = decideEntry(given)
    if (decision.do === 'rest') given = { ...given, now: decision.lookAt }
    // Its next try goes as far as the last one.
    if (decision.do === 'start') given = { ...given, place: at('creating/background'), job: failed }
    if (decision.do !== 'apply') continue
    const answer = applyEntryEvent(given.place, decision.event)
    if (!answer.allowed || !answer.to) throw new Error('The table refuses it.')
    given = { ...given, place: answer.to, job: null, tries: decision.tries, since: given.now }
    if (decision.event === 'fail') {
      expect(decision.reason.message).toContain('for 12 hours')
      break
    }
    untils.add(decision.until)
    expect(decision.reason.message).toContain(`a person is asked at ${utcText(decision.until ?? 0)}`)
    given = { ...given, askPersonAt: decision.until ?? null }
  }
  expect(given.place.state).toBe('error')
  expect([...untils]).toEqual([now + 12 * 3_600_000])
  expect(given.now - now).toBeLessThan(12 * 3_600_000 + 300_001)
})
