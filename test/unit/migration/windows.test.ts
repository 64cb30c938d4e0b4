import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  checkHeldWindows,
  checkWindows,
  chooseWindow,
  type NewWindow,
  type Window,
  type WindowAnswer,
  type WindowAsk,
} from '../../../src/domain/migration/schedule/windows.ts'

const minute = 60_000
const window = (changes: Partial<Window> = {}): Window => ({
  id: 'w',
  name: 'night',
  startsAt: 0,
  endsAt: 100 * minute,
  lockoutAt: null,
  capacity: 0,
  ...changes,
})
const ask = (changes: Partial<WindowAsk> = {}): WindowAsk => ({
  now: 10 * minute,
  windows: [],
  held: new Map(),
  own: null,
  constraint: null,
  busy: 0,
  ...changes,
})

/** The same rule again, written as a list of questions per window instead of as filters. */
const naive = ({ now, windows, held, own, constraint, busy }: WindowAsk): string => {
  const max = constraint?.maxConcurrent ?? 0
  const crowded = max !== 0 && busy >= max
  if (windows.length === 0) return crowded ? 'full constraint' : 'open'
  const begin = (one: Window) => {
    const startsAt = one.startsAt ?? Number.NEGATIVE_INFINITY
    if (startsAt > now) return `later ${one.id}`
    return crowded ? 'full constraint' : `open ${one.id}`
  }
  let best: Window | undefined
  let [closed, short, full] = [0, 0, 0]
  for (const one of windows) {
    // What was given before the lockout is kept beyond it.
    const lasts = one.endsAt === null || one.endsAt > now
    const left =
      one.endsAt === null ? Number.POSITIVE_INFINITY : one.endsAt - Math.max(now, one.startsAt ?? 0)
    if (one.id === own && lasts && left > (constraint?.minBootMs ?? 0) + minute) return begin(one)
    if ((one.endsAt !== null && one.endsAt <= now) || (one.lockoutAt !== null && one.lockoutAt <= now)) {
      closed += 1
      continue
    }
    const from = one.startsAt === null || one.startsAt < now ? now : one.startsAt
    if (one.endsAt !== null && one.endsAt - from <= (constraint?.minBootMs ?? 0) + minute) {
      short += 1
      continue
    }
    if (one.capacity > 0 && (held.get(one.id) ?? 0) >= one.capacity) {
      full += 1
      continue
    }
    const [mine, its] = [one.startsAt ?? 0, best?.startsAt ?? 0]
    if (best === undefined || mine < its || (mine === its && one.name < best.name)) best = one
  }
  if (best) return begin(best)
  if (full > 0) return 'full windows'
  return short > 0 ? 'none too-short' : closed > 0 ? 'none over' : 'impossible'
}

const shown = (answer: WindowAnswer): string => {
  if (answer.is === 'open') return answer.window ? `open ${answer.window.id}` : 'open'
  if (answer.is === 'later') return `later ${answer.window.id}`
  return answer.is === 'full' ? `full ${answer.what}` : `none ${answer.why}`
}

const moment = fc.integer({ min: 0, max: 40 }).map((at) => at * minute)
const maybe = fc.option(moment, { nil: null })
const anyWindow = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  startsAt: maybe,
  endsAt: maybe,
  lockoutAt: maybe,
  capacity: fc.integer({ min: 0, max: 2 }),
})
const anyAsk: fc.Arbitrary<WindowAsk> = fc
  .record({
    now: moment,
    windows: fc.array(anyWindow, { maxLength: 4 }),
    held: fc.array(fc.nat(3), { maxLength: 4 }),
    own: fc.option(fc.nat(5), { nil: null }),
    constraint: fc.option(
      fc.record({
        name: fc.constant('c'),
        maxConcurrent: fc.nat(2),
        minBootMs: fc.nat(20).map((long) => long * minute),
      }),
      { nil: null },
    ),
    busy: fc.nat(3),
  })
  .map(({ windows, held, own, ...rest }) => ({
    ...rest,
    windows: windows.map((one, at) => ({ ...one, id: `${at}` })),
    held: new Map(held.map((count, at) => [`${at}`, count])),
    own: own === null ? null : `${own}`,
  }))

describe('chooseWindow', () => {
  test('it answers as the naive reading of the rules does', () => {
    const seen = new Map<string, number>()
    fc.assert(
      fc.property(anyAsk, (asked) => {
        const answer = shown(chooseWindow(asked))
        const kind = answer.replace(/ \d$/, '')
        seen.set(kind, (seen.get(kind) ?? 0) + 1)
        expect(answer).toBe(naive(asked))
      }),
      { numRuns: 5_000 },
    )
    expect([...seen.keys()].sort()).toEqual([
      'full constraint',
      'full windows',
      'later',
      'none over',
      'none too-short',
      'open',
    ])
  })

  test('a new window has room, is not locked, and is long enough; a later one opens in the future', () => {
    fc.assert(
      fc.property(anyAsk, (asked) => {
        const answer = chooseWindow(asked)
        if (answer.is === 'later') expect(answer.at).toBeGreaterThan(asked.now)
        if ((answer.is !== 'open' && answer.is !== 'later') || !answer.window) return
        const { window: chosen } = answer
        if (chosen.id === asked.own) return
        expect(chosen.capacity === 0 || (asked.held.get(chosen.id) ?? 0) < chosen.capacity).toBe(true)
        expect(chosen.lockoutAt === null || chosen.lockoutAt > asked.now).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  test('windows that are all full are a wait, and no window at all is none', () => {
    const full = [window({ capacity: 1 })]
    expect(chooseWindow(ask({ windows: full, held: new Map([['w', 1]]) }))).toMatchObject({
      is: 'full',
      what: 'windows',
    })
    expect(chooseWindow(ask())).toEqual({ is: 'open', window: null })
    expect(chooseWindow(ask({ windows: full, held: new Map([['w', 0]]) })).is).toBe('open')
  })

  test("another batch's entries in a window of the same name take no room in ours", () => {
    const windows = [window({ id: 'ours', capacity: 1 })]
    expect(chooseWindow(ask({ windows, held: new Map([['theirs', 5]]) })).is).toBe('open')
  })

  test('who holds a window keeps its room there also after its lockout, until its boot time does not fit any more', () => {
    const windows = [window({ capacity: 1, lockoutAt: 50 * minute })]
    const held = new Map([['w', 1]])
    const constraint = { name: 'slow', maxConcurrent: 0, minBootMs: 60 * minute }
    expect(chooseWindow(ask({ windows, held, now: 49 * minute })).is).toBe('full')
    expect(chooseWindow(ask({ windows, held, own: 'w', now: 49 * minute })).is).toBe('open')
    expect(chooseWindow(ask({ windows, held, own: 'w', now: 50 * minute })).is).toBe('open')
    expect(chooseWindow(ask({ windows, held, now: 50 * minute })).is).toBe('none')
    expect(chooseWindow(ask({ windows, held, own: 'w', now: 99 * minute - 1 })).is).toBe('open')
    expect(chooseWindow(ask({ windows, held, own: 'w', now: 99 * minute })).is).toBe('none')
    expect(chooseWindow(ask({ windows, held, own: 'w', constraint, now: 40 * minute })).is).toBe('none')
  })

  test('the boot time and more than one minute must fit, to the millisecond', () => {
    const constraint = { name: 'slow', maxConcurrent: 0, minBootMs: 20 * minute }
    const at = (now: number) => chooseWindow(ask({ windows: [window()], constraint, now })).is
    expect(at(79 * minute - 1)).toBe('open')
    expect(at(79 * minute)).toBe('none')
    expect(chooseWindow(ask({ windows: [window()], now: 99 * minute - 1 })).is).toBe('open')
    expect(chooseWindow(ask({ windows: [window()], now: 99 * minute }))).toEqual({
      is: 'none',
      why: 'too-short',
    })
  })

  test.each([
    [0, 9, 'open'],
    [2, 0, 'open'],
    [2, 1, 'open'],
    [2, 2, 'full'],
  ])('a constraint of %i with %i others busy: %s', (maxConcurrent, busy, is) => {
    const constraint = { name: 'few', maxConcurrent, minBootMs: 0 }
    expect(chooseWindow(ask({ constraint, busy })).is).toBe(is)
    expect(chooseWindow(ask({ constraint, busy, windows: [window()] })).is).toBe(is)
  })
})

describe('checkWindows', () => {
  const now = 50 * minute
  const sent = ({ id: _id, ...rest }: Window): NewWindow => rest
  const problems = (...windows: Window[]) =>
    checkWindows(windows.map(sent), [], now).map(({ field }) => field)

  test.each<[string, Partial<Window>, string[]]>([
    ['is fine', {}, []],
    ['without ends is fine', { startsAt: null, endsAt: null }, []],
    ['ends as it begins', { startsAt: 100 * minute }, ['end']],
    ['ends before it begins', { startsAt: 101 * minute }, ['end']],
    ['is over', { endsAt: now }, ['end']],
    ['has a lockout without an end', { endsAt: null, lockoutAt: 60 * minute }, ['lockout']],
    ['has a lockout after its end', { lockoutAt: 101 * minute }, ['lockout']],
    ['has a lockout at its end', { lockoutAt: 100 * minute }, []],
    ['has a lockout before its start', { startsAt: 60 * minute, lockoutAt: 59 * minute }, ['lockout']],
  ])('a window that %s', (_what, changes, fields) => {
    expect(problems(window(changes))).toEqual(fields)
  })

  test('what is wrong is said in the names of the fields that were sent', () => {
    const wrong = [
      { startsAt: 101 * minute, lockoutAt: 102 * minute },
      { endsAt: null, lockoutAt: 60 * minute },
      { startsAt: 60 * minute, lockoutAt: 59 * minute },
    ]
    const said = wrong.flatMap((changes) => checkWindows([sent(window(changes))], [], now))
    expect(said.map(({ field, message }) => `${field}: ${message}`)).toEqual([
      'end: It must be after start.',
      'lockout: It must not be after end.',
      'lockout: A lockout needs an end.',
      'lockout: It must not be before start.',
    ])
  })

  test('two names that are the same and times that overlap are refused; windows that touch are not', () => {
    const day = window({ name: 'day', startsAt: 100 * minute, endsAt: 200 * minute })
    expect(problems(window(), day)).toEqual([])
    expect(problems(window(), { ...day, startsAt: 99 * minute })).toEqual(['start'])
    expect(problems(window(), { ...day, startsAt: null, endsAt: null })).toEqual(['start'])
    expect(problems(window(), { ...day, name: 'night' })).toEqual(['name'])
  })

  test('windows overlap exactly when some minute belongs to both', () => {
    const bounded = fc.record({ from: fc.nat(30), long: fc.integer({ min: 1, max: 10 }) })
    fc.assert(
      fc.property(bounded, bounded, (a, b) => {
        const both = [a, b].map(({ from, long }, at) =>
          window({ name: `${at}`, startsAt: (60 + from) * minute, endsAt: (60 + from + long) * minute }),
        )
        const minutes = ({ from, long }: typeof a) => Array.from({ length: long }, (_, at) => from + at)
        const shared = minutes(a).some((at) => minutes(b).includes(at))
        expect(problems(...both).includes('start')).toBe(shared)
      }),
    )
  })

  test('a window that is over stays as long as nobody changes it', () => {
    const old = window({ endsAt: 40 * minute })
    expect(checkWindows([sent(old)], [old], now)).toEqual([])
    expect(checkWindows([{ ...sent(old), endsAt: 41 * minute }], [old], now)).toHaveLength(1)
  })
})

describe('checkHeldWindows', () => {
  const old = window({ capacity: 3, startsAt: 10 * minute })
  const { id: _id, ...same } = old
  const fields = (now: readonly NewWindow[], held = 1) =>
    checkHeldWindows(now, [old], new Map([['w', held]])).map(({ field }) => field)

  test.each<[string, Partial<NewWindow>, string[]]>([
    ['stays', {}, []],
    ['begins earlier', { startsAt: 9 * minute }, []],
    ['begins since ever', { startsAt: null }, []],
    ['begins later', { startsAt: 11 * minute }, ['start']],
    ['ends later', { endsAt: 101 * minute }, []],
    ['never ends', { endsAt: null }, []],
    ['ends earlier', { endsAt: 99 * minute }, ['end']],
    ['takes more', { capacity: 4 }, []],
    ['takes as many as come', { capacity: 0 }, []],
    ['takes fewer', { capacity: 2 }, ['capacity']],
    ['locks earlier', { lockoutAt: 20 * minute }, []],
    ['is renamed', { name: 'other' }, ['name']],
  ])('a held window that %s', (_what, changes, found) => {
    expect(fields([{ ...same, ...changes }])).toEqual(found)
    expect(fields([{ ...same, ...changes }], 0)).toEqual([])
  })

  test('a held window cannot go, and one for as many as come cannot get a limit', () => {
    expect(fields([])).toEqual(['name'])
    expect(fields([], 0)).toEqual([])
    const open = { ...old, capacity: 0 }
    expect(checkHeldWindows([{ ...same, capacity: 9 }], [open], new Map([['w', 1]]))).toHaveLength(1)
  })
})
