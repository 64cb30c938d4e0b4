import { expect, test } from 'vitest'
import { batchStates, batchTable } from '../../../src/domain/migration/batch/batch-table.ts'
import { answersAt, reachablePlaces } from '../../../src/domain/migration/batch/describe-table.ts'
import { answerVerb } from '../../../src/domain/migration/entry/answer-verb.ts'
import {
  type EntryPlace,
  entryStages,
  entryStates,
  hasEnded,
  isCommitted,
} from '../../../src/domain/migration/entry/entry.ts'
import {
  applyEntryEvent,
  type EntryEvent,
  entryEvents,
  entryVerbs,
} from '../../../src/domain/migration/entry/entry-table.ts'
import { transition } from '../../../src/domain/table/state-table.ts'
import { readSource } from '../repository/sources.ts'

const places: EntryPlace[] = entryStates.flatMap((state) => entryStages.map((stage) => ({ state, stage })))
const name = ({ state, stage }: EntryPlace) => `${state}/${stage}`

/** Every (place, event, force) there is, with its answer. */
const all = places.flatMap((place) =>
  entryEvents.flatMap((event) =>
    [false, true].map((force) => ({ place, event, force, answer: applyEntryEvent(place, event, { force }) })),
  ),
)
const steps = all.flatMap(({ place, event, force, answer }) =>
  answer.allowed ? [{ place, event, force, to: answer.to, rule: answer.rule }] : [],
)
const told = (found: readonly { place: EntryPlace; event: EntryEvent }[]) =>
  found.map(({ place, event }) => `${event} at ${name(place)}`)

test('the page has a row for every place that can be, with every event that is possible there', () => {
  const page = readSource('docs/migration.md')
  for (const place of reachablePlaces()) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${place.state}\` | ${place.stage} |`))
    expect(row, name(place)).toContain(answersAt(place).join('; '))
    const possible = entryEvents.filter((event) => applyEntryEvent(place, event, { force: true }).allowed)
    expect([...(row ?? '').matchAll(/`([a-z-]+)`!? →/g)].map((match) => match[1])).toEqual(possible)
  }
})

test('exactly these places can be come to', () => {
  expect(reachablePlaces().map(name)).toEqual([
    'blocked/background',
    'waiting/background',
    'creating/background',
    'background-import/background',
    'background-import/final',
    'idle/background',
    'idle/final',
    'idle/complete',
    'final-import/final',
    'post-import/complete',
    'worker-done/complete',
    'finished/complete',
    'error/background',
    'error/final',
    'canceled/background',
    'conflict/background',
    'conflict/final',
    'conflict/complete',
  ])
})

// promise: source-given-back
test('who leaves a committed place without finishing has its source started, or left to a person', () => {
  const leaving = steps.filter(
    ({ place, to }) => isCommitted(place) && !(to && (isCommitted(to) || to.state === 'finished')),
  )
  expect(leaving.length).toBeGreaterThan(20)
  const silent = leaving.filter(({ place, rule }) => rule.source === 'keep' && place.state !== 'finished')
  expect(told(silent)).toEqual([])
})

test('a source is left to a person only because its identity changed', () => {
  expect([
    ...new Set(steps.filter(({ rule }) => rule.source === 'person').map(({ event }) => event)),
  ]).toEqual(['identity-changed'])
})

test('after every end a person can have the source started: cancel, retry and reset start it', () => {
  for (const { event, rule, place } of steps)
    if (['cancel', 'retry', 'reset'].includes(event) && place.state !== 'finished')
      expect(rule.source, `${event} at ${name(place)}`).toBe('start')
})

test('nothing leads out of finished but reset, and that leaves the machine alone', () => {
  const out = steps.filter(({ place }) => place.state === 'finished')
  expect([...new Set(out.map(({ event }) => event))]).toEqual(['reset'])
  expect(out.every(({ rule }) => rule.source === 'keep' && rule.target === 'keep')).toBe(true)
  expect([...new Set(steps.filter(({ to }) => to?.state === 'finished').map(({ event }) => event))]).toEqual([
    'verified',
  ])
})

test('the target of a finished entry is never destroyed, and only a person or a lost copy destroys one', () => {
  const destroying = steps.filter(({ rule }) => rule.target !== 'keep')
  expect(told(destroying.filter(({ place }) => place.state === 'finished'))).toEqual([])
  expect([...new Set(destroying.map(({ event }) => event))].sort()).toEqual([
    'cancel',
    'create-put-off',
    'let-go',
    'reset',
  ])
})

test('the stage goes up to complete by copied alone, and to final by a copy', () => {
  const rank = (stage: EntryPlace['stage']) => entryStages.indexOf(stage)
  const up = steps.filter(({ place, to }) => to && rank(to.stage) > rank(place.stage))
  const by = (stage: string) => [
    ...new Set(up.filter(({ to }) => to?.stage === stage).map(({ event }) => event)),
  ]
  expect(by('complete')).toEqual(['copied'])
  expect(by('final').sort()).toEqual(['cutover-begin', 'sync-done'])
})

/** Places that can be come to from here without any of these events. */
const without = (from: EntryPlace, ...barred: readonly EntryEvent[]): Set<string> => {
  const seen = new Map([[name(from), from]])
  for (const place of seen.values())
    for (const event of entryEvents) {
      if (barred.includes(event)) continue
      const answer = applyEntryEvent(place, event, { force: true })
      if (answer.allowed && answer.to) seen.set(name(answer.to), answer.to)
    }
  return new Set(seen.keys())
}

test.each(['copy-stale', 'let-go'] as const)(
  'after %s nothing is verified, and no resolve passes, before the source is off and copied again',
  (event) => {
    const after = steps.filter((step) => step.event === event).flatMap(({ to }) => to ?? [])
    expect(after.length).toBeGreaterThan(0)
    for (const place of after) {
      expect(without(place, 'copied').has('worker-done/complete'), name(place)).toBe(false)
      if (!isCommitted(place))
        expect(without(place, 'cutover-begin').has('worker-done/complete'), name(place)).toBe(false)
    }
  },
)

test('the law above can fail: with copied and a cutover the end is reached', () => {
  expect(without({ state: 'conflict', stage: 'final' }).has('finished/complete')).toBe(true)
})

test.each(['post-import', 'worker-done'] as const)('cancel in %s needs force', (state) => {
  const place: EntryPlace = { state, stage: 'complete' }
  expect(applyEntryEvent(place, 'cancel')).toMatchObject({ allowed: false, why: 'needs-force' })
  expect(applyEntryEvent(place, 'cancel', { force: true })).toMatchObject({ allowed: true })
})

test('nowhere else does cancel need force, and a finished entry is never cancelled', () => {
  const guarded = reachablePlaces().filter(
    (place) =>
      applyEntryEvent(place, 'cancel', { force: true }).allowed && !applyEntryEvent(place, 'cancel').allowed,
  )
  expect(guarded.map(({ state }) => state)).toEqual(['post-import', 'worker-done'])
  const never = reachablePlaces().filter(
    (place) => !applyEntryEvent(place, 'cancel', { force: true }).allowed,
  )
  expect(never.map(({ state }) => state)).toEqual(['finished'])
})

test('reset needs force exactly where the source is off on our account', () => {
  const guarded = reachablePlaces().filter((place) => !applyEntryEvent(place, 'reset').allowed)
  expect(guarded.map(name)).toEqual(
    reachablePlaces()
      .filter((place) => isCommitted(place))
      .map(name),
  )
  expect(reachablePlaces().every((place) => applyEntryEvent(place, 'reset', { force: true }).allowed)).toBe(
    true,
  )
})

test('from every place but the ended ones the entry can still finish, and a person can always get it out', () => {
  for (const place of reachablePlaces()) {
    if (place.state === 'finished') continue
    expect(without(place).has('finished/complete'), name(place)).toBe(true)
    expect(entryVerbs(place).length, name(place)).toBeGreaterThan(0)
  }
})

test('verbs are offered where they are possible, with the word force where it is needed', () => {
  expect(entryVerbs({ state: 'worker-done', stage: 'complete' })).toEqual([{ verb: 'cancel', force: true }])
  expect(entryVerbs({ state: 'conflict', stage: 'final' })).toEqual([
    { verb: 'cancel', force: false },
    { verb: 'resolve', force: false },
  ])
  expect(entryVerbs({ state: 'error', stage: 'final' })).toEqual([
    { verb: 'cancel', force: false },
    { verb: 'retry', force: false },
  ])
  expect(entryVerbs({ state: 'finished', stage: 'complete' })).toEqual([])
})

test('a first cancel speaks of nothing that was given up before', () => {
  const says = (place: EntryPlace): string => {
    const answer = applyEntryEvent(place, 'cancel', { force: true })
    return answer.allowed ? answer.rule.says : ''
  }
  expect(says({ state: 'idle', stage: 'final' })).toBe('A person gave it up.')
  expect(says({ state: 'canceled', stage: 'background' })).toContain('given up before')
})

test('what was given up is given up once more only to clean up what it left', () => {
  const canceled: EntryPlace = { state: 'canceled', stage: 'background' }
  const cancel = { verb: 'cancel', place: canceled, force: false } as const
  expect(answerVerb({ ...cancel, cleanup: false, openJob: null })).toEqual({
    do: 'refuse',
    why: 'not-from-here',
  })
  expect(answerVerb({ ...cancel, cleanup: true, openJob: null })).toEqual({ do: 'apply' })
  expect(answerVerb({ ...cancel, cleanup: true, openJob: 'withdraw-entry' })).toMatchObject({ do: 'intend' })
  expect(entryVerbs(canceled)).toEqual([{ verb: 'retry', force: false }])
  expect(entryVerbs(canceled, { leftovers: true })).toEqual([
    { verb: 'cancel', force: false },
    { verb: 'retry', force: false },
  ])
})

test('a verb waits for the job that is at the entry, and none begins anew before what is left is put right', () => {
  const cancel = { verb: 'cancel', force: false, cleanup: false } as const
  const idle: EntryPlace = { state: 'idle', stage: 'final' }
  const error: EntryPlace = { state: 'error', stage: 'final' }
  expect(answerVerb({ ...cancel, place: idle, openJob: null })).toEqual({ do: 'apply' })
  expect(answerVerb({ ...cancel, place: idle, openJob: 'import-instance' })).toEqual({
    do: 'intend',
    callOff: true,
  })
  expect(answerVerb({ ...cancel, place: error, openJob: 'withdraw-entry' })).toEqual({
    do: 'intend',
    callOff: false,
  })
  expect(answerVerb({ ...cancel, place: error, verb: 'retry', openJob: 'withdraw-entry' })).toEqual({
    do: 'refuse',
    why: 'being-put-right',
  })
  expect(answerVerb({ ...cancel, place: error, verb: 'retry', openJob: null })).toEqual({ do: 'apply' })
  expect(answerVerb({ ...cancel, place: idle, verb: 'retry', force: true, openJob: null })).toEqual({
    do: 'refuse',
    why: 'not-from-here',
  })
  const verifying: EntryPlace = { state: 'worker-done', stage: 'complete' }
  expect(answerVerb({ ...cancel, place: verifying, openJob: 'final-verify' })).toEqual({
    do: 'refuse',
    why: 'needs-force',
  })
})

const batchAnswers = {
  start: { defined: 'running', stopped: 'running', error: 'running' },
  stop: { running: 'stopped' },
  finish: { running: 'finished' },
  reopen: { finished: 'running' },
  fail: { running: 'error' },
  reset: { running: 'defined', stopped: 'defined', finished: 'defined', error: 'defined' },
} as const

test.each(batchTable.events)('a batch answers to %s in every state', (event) => {
  const answers = Object.fromEntries(
    batchStates.flatMap((state) => {
      const to = transition(batchTable, state, event)?.to
      return to ? [[state, to]] : []
    }),
  )
  expect(answers).toEqual(batchAnswers[event])
})

test('an entry that has ended is not committed, but for what finished with its source off for good', () => {
  expect(reachablePlaces().filter((place) => hasEnded(place.state) && isCommitted(place))).toEqual([])
})
