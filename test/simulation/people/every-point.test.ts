import { expect, test } from 'vitest'
import { crashPoints } from '../../../src/crash-point.ts'
import { jobKinds } from '../../../src/domain/job/kinds/registry.ts'
import { createDatabase } from '../../support/postgres.ts'
import { atJob, type Search } from '../operation/life.ts'
import { judgeBytes, judgeDoubles, judgeLosses, judgeRest } from './judge.ts'
import { PeopleWorld } from './people-world.ts'
import { knownCalls } from './place-platform.ts'
import type { Step } from './steps.ts'
import { openTheatre } from './theatre.ts'

const { db } = await createDatabase()
const theatre = openTheatre(db)

/**
 * Points of which no process here is: what acks is a bell's own, what asks is the API, and what a conductor ends of
 * operations is left to it in `crash/operation`.
 */
const elsewhere = ['after-ack', 'operation-asked', 'operation-gives-way', 'operation-tick']

/** Of images and templates: their workers die in `simulation/template` and `integration/template`. */
const otherKinds = ['import-ova', 'remove-replica', 'swap-template']

/** Calls that nobody has reason to make here: `simulation/operation` restarts, and the rest is of other platforms. */
const unasked = ['inventory.changes', 'power.suspend', 'power.restart', 'guest.openPorts']

const runs = { power: 'on', guest: 'obeys' } as const
const east = [runs, { power: 'on', guest: 'hangs', tracked: false }] as const

const all = (step: (at: number) => Step, many = 4): Step[] =>
  Array.from({ length: many }, (_, at) => step(at))
const operateAll = (kind: 'start' | 'stop' | 'restart') =>
  all((at) => ({ do: 'operate', kind, at, force: true }))
const powerAll = (verb: 'start' | 'stop' | 'shutdown' | 'restart') =>
  all((at) => ({ do: 'power', verb, at, raw: false }))
/** Both targets; the sources come before them. */
const cloudsAre = (mode: 'well' | 'away' | 'refuses') => all((at) => ({ do: 'trouble', at: at + 2, mode }), 2)
const entries = (verb: 'cancel' | 'clean-up' | 'retry' | 'resolve' | 'remove-with-copy') =>
  all((at) => ({ do: 'entry', verb, at }))

/** What people do while everybody who works for them dies again and again: by how each of them goes on. */
const acts: Readonly<Record<string, readonly (readonly Step[])[]>> = {
  'a whole journey, and what is operated after it': [
    all((at) => ({ do: 'sync', at }), 5),
    ...Array.from({ length: 12 }, () => []),
    operateAll('restart'),
    // Nobody has taken it up in time.
    [...operateAll('restart'), { do: 'expire' }],
    operateAll('stop'),
    operateAll('start'),
    all((at) => ({ do: 'policy', policy: 'always-on', at })),
    operateAll('stop'),
    [],
    powerAll('start'),
  ],
  'a plan, a look at what is tracked, and a worker that tries itself': [
    [
      { do: 'self-test', at: 0 },
      ...all((at) => ({ do: 'plan', at }), 2),
      ...all((at) => ({ do: 'track', at })),
      ...all((at) => ({ do: 'check', at }), 5),
    ],
    [],
  ],
  'power of sources before they move, and a window that ends in the middle': [
    [{ do: 'window', becomes: 'later' }, ...powerAll('shutdown')],
    powerAll('start'),
    powerAll('restart'),
    [{ do: 'window', becomes: 'open' }],
    ...Array.from({ length: 4 }, () => []),
    [{ do: 'window', becomes: 'over' }],
    [],
    [{ do: 'window', becomes: 'open' }],
    ...Array.from({ length: 6 }, () => []),
  ],
  'a target that goes away in the middle of cutovers, which are called off': [
    [{ do: 'window', becomes: 'later' }],
    [],
    [],
    [...all((at) => ({ do: 'write', at })), ...cloudsAre('away'), { do: 'window', becomes: 'open' }],
    [],
    all((at) => ({ do: 'job', verb: 'cancel', at }), 30),
    [],
    [...cloudsAre('well'), { do: 'window', becomes: 'over' }],
    [],
    all((at) => ({ do: 'job', verb: 'retry', at }), 30),
    [{ do: 'window', becomes: 'open' }],
    ...Array.from({ length: 4 }, () => []),
  ],
  'copies that do not start, and are given up and cleared away': [
    [],
    [],
    cloudsAre('refuses'),
    ...Array.from({ length: 6 }, () => []),
    entries('retry'),
    [],
    entries('resolve'),
    entries('clean-up'),
    all((at) => ({ do: 'trouble', at, mode: 'away' })),
    [],
    all((at) => ({ do: 'trouble', at, mode: 'well' })),
    [],
    entries('remove-with-copy'),
    all((at) => ({ do: 'batch', verb: 'reset', at }), 2),
    all((at) => ({ do: 'batch', verb: 'start', at }), 2),
    ...Array.from({ length: 6 }, () => []),
  ],
}

/** Of both ways to go away a list of its own. */
const searches: readonly Search[] = [
  { for: 'death', met: new Set() },
  { for: 'freeze', met: new Set() },
]

/** People act, and processes end where nobody has yet; then all is well, and no law was broken. */
const play = async (steps: readonly (readonly Step[])[], one: Search): Promise<void> => {
  const world = new PeopleWorld(theatre, { shared: false })
  try {
    await world.begin({ east, west: [runs] })
    for (const deeds of steps) {
      for (const deed of deeds) await world.take(deed)
      await world.search(one)
    }
    await world.settle()
    expect(judgeDoubles(world.estate)).toEqual([])
    expect(await judgeBytes(world)).toEqual([])
    expect(await judgeLosses(world)).toEqual([])
    expect(await judgeRest(world)).toEqual([])
  } finally {
    await world.end()
  }
}

// promise: killed-worker
// promise: frozen-worker
// promise: intent-first
test.each(
  Object.entries(acts).flatMap(([title, steps]) =>
    searches.map((one) => ({ title, steps, one, by: one.for })),
  ),
)('$title: a $by at every point that is new breaks no law', ({ steps, one }) => play(steps, one))

/** What is still sought: points of deaths, and of freezes. */
const notMet = (): string[] => {
  const points = crashPoints.filter((point) => !elsewhere.includes(point))
  const calls = [...knownCalls].filter((call) => !unasked.includes(call))
  const [before, after] = ['before', 'after'].map((when) => calls.map((call) => `${when} ${call}`))
  const sought = { death: [...points, ...(before ?? []), ...(after ?? [])], freeze: after ?? [] }
  return searches.flatMap(({ for: by, met }) =>
    sought[by].filter((point) => !met.has(point)).map((point) => `${by} ${point}`),
  )
}

/** Of every kind that workers have a handler for. */
const kindsNotMet = (): string[] =>
  searches.flatMap(({ for: by, met }) =>
    jobKinds
      .filter(({ kind }) => !otherKinds.includes(kind) && !met.has(atJob(kind)))
      .map(({ kind }) => `${by} ${kind}`),
  )

test('a process has died at every crash point there is, and before and after every call of a platform', async () => {
  // Who comes where first is left to the order of ids: what the acts have missed is sought in them once more.
  for (let times = 0; times < 2 && notMet().length + kindsNotMet().length > 0; times += 1)
    for (const steps of Object.values(acts)) for (const one of searches) await play(steps, one)
  console.info(Object.fromEntries(searches.map((one) => [one.for, one.met.size])))
  expect(knownCalls.size).toBeGreaterThan(unasked.length)
  expect(notMet()).toEqual([])
})

// promise: killed-worker
// promise: frozen-worker
test('a worker has died, and one has stood still, in the middle of a job of every kind there is', () => {
  expect(kindsNotMet()).toEqual([])
})
