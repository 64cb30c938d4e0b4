import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reachablePlaces } from '../../src/domain/migration/describe-table.ts'
import { type EntryState, isCommitted } from '../../src/domain/migration/entry.ts'
import type { Window } from '../../src/domain/migration/windows.ts'
import { storySeed } from '../support/seed.ts'
import { type Step, take } from './migration-model.ts'
import type { Entry, World } from './migration-world.ts'

const runs = Number(process.env.RUNS ?? 6_000)
const seed = storySeed()

const minute = 60_000
const at = fc.nat(2)
const forgets = fc.boolean()

const verbs = [
  'cancel',
  'cancel',
  'retry',
  'retry',
  'retry',
  'resolve',
  'resolve',
  'resolve',
  'reset',
] as const

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ do: fc.constant('work'), at, heard: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      ms: fc.constantFrom(1_000, 20_000, minute, 10 * minute),
    }),
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('come'), at }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('crash', 'write', 'power'), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('move', 'block', 'replace'), at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('lose'),
      at,
      errorClass: fc.constantFrom('environment', 'config', 'bug'),
      forgets,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill'), at, forgets }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('verb'),
      at,
      verb: fc.constantFrom(...verbs),
      force: fc.boolean(),
      cleanup: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('stop', 'start', 'start', 'cut', 'mend', 'mend') }),
  },
) as fc.Arbitrary<Step>

/** The whole way of one entry, which chance alone seldom walks. */
const journey: readonly Step[] = Array.from({ length: 24 }, (): Step[] => [
  { do: 'work', at: 0, heard: true },
  { do: 'come', at: 0 },
]).flat()

const anyWindow = fc.record({
  startsAt: fc.option(
    fc.integer({ min: 0, max: 60 }).map((after) => after * minute),
    { nil: null },
  ),
  longMs: fc.option(
    fc.integer({ min: 2, max: 60 }).map((long) => long * minute),
    { nil: null },
  ),
  capacity: fc.nat(2),
  locks: fc.boolean(),
})

interface Setting {
  readonly entries: readonly { running: boolean; tracked: boolean; on: boolean; begins: EntryState }[]
  readonly windows: readonly Window[]
  readonly most: number | null
}

const begins = fc.constantFrom<EntryState[]>('waiting', 'waiting', 'waiting', 'blocked', 'conflict')

const setting: fc.Arbitrary<Setting> = fc.record({
  entries: fc.array(fc.record({ running: fc.boolean(), tracked: fc.boolean(), on: fc.boolean(), begins }), {
    minLength: 1,
    maxLength: 3,
  }),
  windows: fc.array(anyWindow, { maxLength: 2 }).map((windows) =>
    windows.map(({ startsAt, longMs, capacity, locks }, index): Window => {
      const endsAt = longMs === null ? null : (startsAt ?? 0) + longMs
      return {
        id: `w${index}`,
        name: `w${index}`,
        startsAt,
        endsAt,
        lockoutAt: locks && endsAt !== null ? endsAt - minute : null,
        capacity,
      }
    }),
  ),
  most: fc.option(fc.nat(2), { nil: null }),
})

const newEntry = (
  { running, tracked, on, begins: state }: Setting['entries'][number],
  index: number,
): Entry => ({
  id: `e${index}`,
  place: { state, stage: 'background' },
  reason: { code: 'waiting', message: 'It waits to be placed.' },
  job: null,
  intent: null,
  windowId: null,
  sourceIsOurs: false,
  syncedAt: null,
  tries: 0,
  since: 0,
  lookAt: 0,
  running,
  blocked: false,
  moved: false,
  gone: false,
  source: { on, goesDown: false, version: 1, boots: 0, tracked, replaced: false },
  target: null,
  bootsWhenCopied: null,
  story: [],
})

const newWorld = ({ entries, windows, most }: Setting): World => ({
  now: 0,
  batchState: 'running',
  windows: [...windows],
  constraint: most === null ? null : { name: 'few', maxConcurrent: most, minBootMs: minute },
  intervalMs: 10 * minute,
  finalLimitMs: 10 * minute,
  reachable: true,
  entries: entries.map(newEntry),
})

/** Everybody works and time passes, until nothing changes any more. */
const goOn = (world: World, rounds: number, person: (entry: Entry, index: number) => void): void => {
  for (let round = 0; round < rounds; round += 1) {
    world.entries.forEach((entry, index) => {
      person(entry, index)
      take(world, { do: 'work', at: index, heard: round % 2 === 0 })
      take(world, { do: 'come', at: index })
    })
    take(world, { do: 'wait', ms: 20_000 })
  }
}

const heal = (world: World): void => {
  world.reachable = true
  for (const entry of world.entries) {
    entry.blocked = false
    entry.moved = false
    entry.source.replaced = false
  }
}

const tell = (entry: Entry): string =>
  `${JSON.stringify({ ...entry, story: undefined })}\n${entry.story.join('\n')}`

/** All that is wrong is put right, a person decides, and there is a window for everybody: then everybody ends. */
const settle = (world: World): void => {
  heal(world)
  world.batchState = 'running'
  const open = { startsAt: null, endsAt: null, lockoutAt: null, capacity: 0 }
  world.windows.push({ id: 'open', name: 'open', ...open })
  goOn(world, 300, (entry, index) => {
    const verb = entry.place.state === 'conflict' ? 'resolve' : entry.place.state === 'error' ? 'retry' : null
    if (verb) take(world, { do: 'verb', at: index, verb, force: false, cleanup: false })
  })
  for (const entry of world.entries)
    expect(
      entry.gone || entry.place.state === 'finished' || entry.place.state === 'canceled',
      `it ends, when nothing is in its way:\n${tell(entry)}`,
    ).toBe(true)
}

/** Nobody cares any more and every window closes: no source stays off for that. */
const abandon = (world: World): void => {
  heal(world)
  take(world, { do: 'wait', ms: 600 * minute })
  goOn(world, 60, () => undefined)
  for (const entry of world.entries) {
    const { place, windowId, reason } = entry
    const mayBeOff =
      place.state === 'finished' ||
      (isCommitted(place) && world.windows.every(({ id, endsAt }) => id !== windowId || endsAt === null)) ||
      (place.state === 'error' && reason.code === 'identity-changed')
    if (!mayBeOff)
      expect(entry.sourceIsOurs && !entry.source.on, `its source is on again:\n${tell(entry)}`).toBe(false)
  }
}

const visited = new Set<string>()

const run = (given: Setting, ahead: number, steps: readonly Step[], cares: boolean): void => {
  const world = newWorld(given)
  for (const one of [...journey.slice(0, ahead), ...steps]) {
    take(world, one)
    for (const { place, gone } of world.entries) visited.add(gone ? 'gone' : `${place.state}/${place.stage}`)
  }
  if (cares) settle(world)
  else abandon(world)
}

// promise: source-given-back
test(`whatever happens to a batch, its laws hold after every step (SEED=${seed} RUNS=${runs})`, () => {
  fc.assert(
    fc.property(
      setting,
      fc.nat(journey.length),
      fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }),
      fc.boolean(),
      run,
    ),
    { seed, numRuns: runs, interruptAfterTimeLimit: 360_000, markInterruptAsFailure: true },
  )
})

test('a cutover that a person called off need not be looked at once more when its window ends', () => {
  const window = { id: 'w0', name: 'w0', startsAt: 540_000, endsAt: 720_000, lockoutAt: null, capacity: 0 }
  const entries = [{ running: false, tracked: false, on: false, begins: 'waiting' as const }]
  const work: Step = { do: 'work', at: 0, heard: false }
  const cancel: Step = { do: 'verb', at: 0, verb: 'cancel', force: false, cleanup: false }
  const steps: Step[] = [{ do: 'wait', ms: 10 * minute }, work, { do: 'wait', ms: 20_000 }]
  run(
    { entries, windows: [window], most: null },
    7,
    [...steps, { do: 'wait', ms: 20_000 }, cancel, { do: 'wait', ms: minute }, work],
    true,
  )
})

test('the sequences came to every place there is', () => {
  const places = reachablePlaces().map(({ state, stage }) => `${state}/${stage}`)
  expect([...visited].sort()).toEqual([...places, 'gone'].sort())
})
