import { reachablePlaces } from '../../../src/domain/migration/batch/describe-table.ts'
import type { EntryFacts } from '../../../src/domain/migration/entry/decide-entry.ts'
import type { EntryPlace } from '../../../src/domain/migration/entry/entry.ts'
import type { SourceStop } from '../../../src/domain/migration/entry/source-stop.ts'
import type { Window } from '../../../src/domain/migration/schedule/windows.ts'

export const now = 1_000_000_000
export const night: Window = {
  id: 'w',
  name: 'night',
  startsAt: now,
  endsAt: null,
  lockoutAt: null,
  capacity: 0,
}
export const said = { code: 'said', message: 'What it says of itself.' }

/** A source of ours that is off, and another whose guest takes its time. */
export const off: SourceStop = { askedAt: now - 60_000, offAt: now - 30_000, guestUntil: now + 240_000 }
export const shuttingDown: SourceStop = { ...off, offAt: null }

/** An entry about which nothing is special but what is said. */
export const facts = (changes: Partial<EntryFacts> = {}): EntryFacts => ({
  now,
  place: { state: 'waiting', stage: 'background' },
  reason: said,
  job: null,
  intent: null,
  batchState: 'running',
  blocks: [],
  sourceStop: null,
  sourceNeedsPerson: false,
  hasTarget: false,
  tracked: true,
  syncedAt: null,
  window: { is: 'none', why: 'over' },
  windowOver: false,
  windowEndsAt: null,
  intervalMs: 600_000,
  finalLimitMs: 600_000,
  forecastMs: 0,
  since: now - 1_000,
  tries: 0,
  askPersonAt: null,
  ...changes,
})

export const at = (place: string): EntryPlace => {
  const found = reachablePlaces().find(({ state, stage }) => `${state}/${stage}` === place)
  if (!found) throw new Error(`No entry comes to ${place}.`)
  return found
}
