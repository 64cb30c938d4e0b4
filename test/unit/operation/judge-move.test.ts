import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  freshTrack,
  judgeMove,
  type MoveTrack,
  moveText,
  moveTimeLimit,
} from '../../../src/domain/operation/move/judge-move.ts'
import { type MoveSeen, movePhases } from '../../../src/domain/operation/move/move-seen.ts'

const seen = (over: Partial<MoveSeen> = {}): MoveSeen => ({
  ...{ phase: 'bulk-copy', percent: 20, copiedBytes: null, totalBytes: null, iteration: null },
  ...{ throttlePercent: null, converging: null, abortable: true },
  ...over,
})
const lookMs = 1_000
const judge = (
  over: Partial<MoveSeen>,
  options: { track?: MoveTrack; force?: boolean; queued?: boolean } = {},
) =>
  judgeMove(options.track ?? freshTrack, {
    ...{ seen: seen(over), queued: options.queued ?? false, force: options.force ?? false },
    ...{ atMs: 10_000, lookMs },
  })

test.each([
  ['queued', { phase: null, percent: 0 }, { reason: 'move-scheduling', progress: 2 }, true],
  [
    'at the start of preparing',
    { phase: 'preparing', percent: 0 },
    { reason: 'move-preparing', progress: 3 },
    false,
  ],
  ['preparing', { phase: 'preparing', percent: 3 }, { reason: 'move-preparing', progress: 4 }, false],
  ['copying', { phase: 'bulk-copy', percent: 20 }, { reason: 'move-syncing', progress: 26 }, false],
  [
    'at the end of the bulk',
    { phase: 'bulk-copy', percent: 80 },
    { reason: 'move-syncing', progress: 45 },
    false,
  ],
  [
    'at the start of the rest',
    { phase: 'iterative-copy', percent: 1 },
    { reason: 'move-syncing', progress: 45 },
    false,
  ],
  [
    'copying the rest',
    { phase: 'iterative-copy', percent: 100 },
    { reason: 'move-syncing', progress: 90 },
    false,
  ],
  ['switching', { phase: 'switch-over', percent: 95 }, { reason: 'move-switching', progress: 91 }, false],
  ['of no known phase', { phase: null, percent: 50 }, { reason: 'move-syncing', progress: 50 }, false],
] as const)('a move %s is told so', (_what, over, expected, queued) => {
  expect(judge(over, { queued })).toMatchObject({ ...expected, giveUp: false })
})

test('it is past the return when the platform says that it cannot be aborted, and not before', () => {
  expect(judge({ phase: 'switch-over', abortable: true }).pastReturn).toBe(false)
  expect(judge({ phase: 'switch-over', abortable: false }).pastReturn).toBe(true)
  expect(judge({ phase: 'iterative-copy', abortable: true }).pastReturn).toBe(false)
})

/** The same look, so often. */
const looks = (
  over: Partial<MoveSeen>,
  times: number,
  options: { track?: MoveTrack; force?: boolean; queued?: boolean } = {},
) => {
  let verdict = judge(over, options)
  for (let more = 0; more < times; more += 1) verdict = judge(over, { ...options, track: verdict.track })
  return verdict
}

test('a copy that stands still is said to after ten seconds, and is given up later without force alone', () => {
  expect(looks({}, moveTimeLimit.sayMs / lookMs - 1)).toMatchObject({ reason: 'move-syncing', giveUp: false })
  expect(looks({}, moveTimeLimit.sayMs / lookMs)).toMatchObject({ reason: 'not-converging', giveUp: false })
  const end = moveTimeLimit.convergeMs / lookMs
  expect(looks({}, end - 1).giveUp).toBe(false)
  expect(looks({}, end)).toMatchObject({ reason: 'not-converging', giveUp: true })
  expect(looks({}, end * 3, { force: true })).toMatchObject({ reason: 'not-converging', giveUp: false })
})

test('what its platform says of it is said at once', () => {
  expect(judge({ converging: false })).toMatchObject({ reason: 'not-converging', giveUp: false })
})

test('preparing is given up after five minutes, forced or not; a phase later nothing of that counts', () => {
  const end = moveTimeLimit.prepareMs / lookMs
  const still = { phase: 'preparing', percent: 2 } as const
  expect(looks(still, end - 1).giveUp).toBe(false)
  const stuck = looks(still, end, { force: true })
  expect(stuck).toMatchObject({ reason: 'move-prepare-stalled', giveUp: true })
  expect(judge({ phase: 'bulk-copy', percent: 2 }, { track: stuck.track })).toMatchObject({
    ...{ reason: 'move-syncing', giveUp: false, track: { stuckMs: 0 } },
  })
})

test('what the platform has in its own queue is never stuck: its five minutes begin when it is taken up', () => {
  const still = { phase: 'preparing', percent: 0 } as const
  const queued = looks(still, 600, { queued: true })
  expect(queued).toMatchObject({ reason: 'move-scheduling', giveUp: false, track: { stuckMs: 0 } })
  const end = moveTimeLimit.prepareMs / lookMs
  expect(looks(still, end - 2, { track: queued.track })).toMatchObject({
    reason: 'move-preparing',
    giveUp: false,
  })
  expect(looks(still, end - 1, { track: queued.track })).toMatchObject({
    reason: 'move-prepare-stalled',
    giveUp: true,
  })
})

test('going over the memory again is not getting further', () => {
  let verdict = judge({ phase: 'iterative-copy', percent: 60, iteration: 2 })
  for (let pass = 3; pass < 3 + moveTimeLimit.convergeMs / lookMs; pass += 1)
    verdict = judge({ phase: 'iterative-copy', percent: 60, iteration: pass }, { track: verdict.track })
  expect(verdict.giveUp).toBe(true)
})

test('a switch-over is never given up, however long it takes', () => {
  expect(looks({ phase: 'switch-over', percent: 95, abortable: false }, 10_000).giveUp).toBe(false)
})

test('the rate is of what was copied since the last look', () => {
  const track = { ...freshTrack, copiedBytes: 1_000_000, atMs: 8_000 }
  expect(judge({ copiedBytes: 5_000_000 }, { track }).rate).toBe(2_000_000)
  expect(judge({ copiedBytes: 500_000 }, { track }).rate).toBeNull()
  expect(judge({ copiedBytes: 5_000_000 }).rate).toBeNull()
})

test('whatever a platform says, progress is within its bounds and a phase later is no less', () => {
  const percent = fc.option(fc.integer({ min: -10, max: 200 }))
  fc.assert(
    fc.property(percent, fc.boolean(), (one, queued) => {
      const progress = movePhases.map((phase) => judge({ phase, percent: one }, { queued }).progress)
      for (const value of progress) {
        expect(value).toBeGreaterThanOrEqual(2)
        expect(value).toBeLessThan(100)
      }
      expect(progress).toEqual([...progress].sort((a, b) => a - b))
    }),
  )
})

test('a person reads where it goes, how much is there, how fast, and what holds it up', () => {
  const full = seen({
    ...{ phase: 'iterative-copy', percent: 60, copiedBytes: 3 * 1024 ** 3, totalBytes: 8 * 1024 ** 3 },
    ...{ iteration: 4, throttlePercent: 40, converging: false },
  })
  expect(moveText({ seen: full, rate: 50 * 1024 ** 2 }, 'node-2')).toBe(
    'To node-2: copying its memory, 60 %, 3072 of 8192 MiB sent, 50 MiB/s, pass 4, guest slowed by 40 %, its guest writes faster than is copied.',
  )
  expect(moveText({ seen: seen({ phase: null, percent: null }), rate: null }, 'node-2')).toBe(
    'To node-2: under way.',
  )
})
