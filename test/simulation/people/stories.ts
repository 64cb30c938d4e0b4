import fc from 'fast-check'
import { expect } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { checkMigration } from '../../support/migration-invariants.ts'
import { judgeBytes, judgeDoubles, judgeLimits, judgeLosses, judgeOthers, judgeRest } from './judge.ts'
import { PeopleWorld } from './people-world.ts'
import type { Setting, Step } from './steps.ts'
import type { Theatre } from './theatre.ts'

const at = fc.nat(7)
const calls = fc.option(fc.nat(40), { nil: null, freq: 2 })
const fate = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ diesAfter: null, freezesAfter: null }) },
  { weight: 2, arbitrary: fc.record({ diesAfter: calls, freezesAfter: fc.constant(null) }) },
  { weight: 1, arbitrary: fc.record({ diesAfter: fc.constant(null), freezesAfter: calls }) },
)

const deed: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('batch'),
      verb: fc.constantFrom('start', 'start', 'stop', 'reset', 'reset', 'delete', 'define'),
      at,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('entry'),
      verb: fc.constantFrom('cancel', 'clean-up', 'retry', 'resolve', 'remove', 'remove-with-copy'),
      at,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('power'),
      verb: fc.constantFrom('start', 'start', 'start', 'stop', 'shutdown', 'restart'),
      at,
      raw: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('operate'),
      kind: fc.constantFrom('start', 'start', 'start', 'stop', 'restart'),
      at,
      force: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('start-all'), raw: fc.constantFrom(false, false, true) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('policy'),
      policy: fc.constantFrom('manual', 'always-on', 'always-off'),
      at,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('sync', 'sync', 'sync', 'check'), at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('job'),
      verb: fc.constantFrom('cancel', 'retry'),
      at: fc.nat(40),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('place'), pool: fc.constantFrom('ds-2', 'ds-2', 'ds-1'), at }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('waive'), what: fc.constantFrom('rule', 'effect'), at }),
  },
) as fc.Arbitrary<Step>

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 24, arbitrary: deed },
  { weight: 7, arbitrary: fc.record({ do: fc.constant('rounds'), times: fc.constantFrom(1, 1, 1, 2, 5) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('work'), at, fate }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('trouble'),
      at,
      mode: fc.constantFrom('well', 'well', 'away', 'hangs', 'refuses', 'locks-out'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('slip'),
      at,
      slip: fc.constantFrom('answer-lost', 'fault-after-done', 'takes-long'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('come', 'write', 'time-out'), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replace'), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('thaw'), heard: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('lose', 'lose', 'pass', 'pass', 'pass', 'expire') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('conduct'), fate }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('window'),
      becomes: fc.constantFrom('open', 'open', 'later', 'soon', 'near', 'closing', 'over'),
    }),
  },
) as fc.Arbitrary<Step>

const machine = fc.record({
  power: fc.constantFrom('on', 'on', 'on', 'off'),
  guest: fc.constantFrom('obeys', 'obeys', 'hangs'),
  tracked: fc.constantFrom(true, true, false),
})

const setting = fc.record({
  east: fc.array(machine, { minLength: 1, maxLength: 2 }),
  west: fc.array(machine, { minLength: 1, maxLength: 1 }),
  shared: fc.boolean(),
  chapter: fc.constantFrom(0, 1, 2, 3),
}) as fc.Arbitrary<Setting>

/** Where it hangs at last, while everything else is well; or all windows are over at last. */
const hung = fc.constantFrom('east', 'west', 'cloud', 'window', null, null)

export interface Telling {
  readonly seed: number
  readonly runs: number
  /** Of one story that failed, as it was told. */
  readonly path: string | undefined
  /** Not to have told all of them by then is a failure. It bounds the search for the shortest one, too. */
  readonly limitMs: number
}

export interface Told {
  readonly stories: number
  /** Crash points and calls of platforms that processes came to, and what people and places did. */
  readonly steps: number
  /** Every state and stage in which an entry was. */
  readonly reached: ReadonlySet<string>
  /** How many entries ended in each state, and how often each deed was done. */
  readonly ends: ReadonlyMap<string, number>
  readonly deeds: ReadonlyMap<string, number>
}

const add = (counts: Map<string, number>, what: string, by = 1): void =>
  void counts.set(what, (counts.get(what) ?? 0) + by)

/** What became of a story, and everything that is wrong with it. */
export const tell = async (
  world: PeopleWorld,
  steps: readonly Step[],
  last: string | null,
): Promise<string[]> => {
  const crowded = new Set<string>()
  for (const taken of steps) {
    await world.take(taken)
    for (const what of await judgeLimits(world)) crowded.add(what)
  }
  const held = await tellLast(world, last)
  await world.settle()
  return [
    ...judgeDoubles(world.estate),
    ...held,
    ...crowded,
    ...(await judgeBytes(world)),
    ...(await judgeLosses(world)),
    ...(await judgeRest(world)),
  ]
}

const placesReached = (db: Db) =>
  db<{ what: string }[]>`
    select distinct to_state || '/' || coalesce(detail ->> 'stage', 'background') as what
    from event where subject_type = 'entry' and to_state is not null`

const tellLast = async (world: PeopleWorld, last: string | null): Promise<string[]> => {
  if (last === null) return []
  if (last === 'window') {
    await world.close()
    return checkMigration(world.db)
  }
  await world.carryOn(last)
  return judgeOthers(world, last)
}

/** So many stories of people beside migrations, each held against the record of the places. */
export const tellStories = async (theatre: Theatre, telling: Telling): Promise<Told> => {
  const { db } = theatre
  const told = {
    stories: 0,
    steps: 0,
    ends: new Map<string, number>(),
    deeds: new Map<string, number>(),
    reached: new Set<string>(),
  }
  const run = async (given: Setting, steps: readonly Step[], last: string | null): Promise<void> => {
    const world = new PeopleWorld(theatre, given)
    try {
      await world.begin(given)
      expect(await tell(world, steps, last), world.people.story).toEqual([])
      told.stories += 1
      told.steps += world.steps
      for (const { what } of await placesReached(db)) told.reached.add(what)
      for (const { state } of await db<{ state: string }[]>`select state from entry`) add(told.ends, state)
      for (const { what, status } of world.people.said)
        if (!what.endsWith(':check')) add(told.deeds, status < 300 ? 'done' : 'refused')
    } finally {
      await world.end()
    }
  }
  const check = await fc.check(
    fc.asyncProperty(setting, fc.array(step, { minLength: 8, maxLength: 32, size: 'max' }), hung, run),
    {
      seed: telling.seed,
      numRuns: telling.runs,
      ...(telling.path === undefined ? {} : { path: telling.path }),
      endOnFailure: telling.path !== undefined,
      interruptAfterTimeLimit: telling.limitMs,
      markInterruptAsFailure: true,
    },
  )
  if (check.failed) throw new Error(fc.defaultReportMessage(check), { cause: check.errorInstance })
  return told
}

/** The same in several databases at once: while one waits for its database, another thinks. */
export const tellTogether = async (theatres: readonly Theatre[], telling: Telling): Promise<Told> => {
  const share = (of: number): number => Math.ceil(of / theatres.length)
  const all = await Promise.all(
    theatres.map((theatre, lane) =>
      tellStories(theatre, {
        ...telling,
        // Of its own: a failure names it, and is told again by it alone.
        seed: telling.seed + lane,
        runs: share(telling.runs),
      }),
    ),
  )
  const sum = { stories: 0, steps: 0, ends: new Map(), deeds: new Map(), reached: new Set<string>() }
  for (const { stories, steps, ends, deeds, reached } of all) {
    sum.stories += stories
    sum.steps += steps
    for (const [what, times] of ends) add(sum.ends, what, times)
    for (const [what, times] of deeds) add(sum.deeds, what, times)
    for (const place of reached) sum.reached.add(place)
  }
  return sum
}
