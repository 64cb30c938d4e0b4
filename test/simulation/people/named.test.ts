import { expect, onTestFinished, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { judgeBytes, judgeDoubles, judgeLosses, judgeOthers, judgeRest } from './judge.ts'
import { PeopleWorld } from './people-world.ts'
import type { Step } from './steps.ts'
import { openTheatre } from './theatre.ts'

const { db } = await createDatabase()
const theatre = openTheatre(db)

const runs = { power: 'on', guest: 'obeys' } as const

/** A world of which both batches are under way, with so many machines in the east. */
const begin = async (many = 1): Promise<PeopleWorld> => {
  const world = new PeopleWorld(theatre, { shared: false })
  onTestFinished(() => world.end())
  await world.begin({ east: Array.from({ length: many }, () => runs), west: [runs] })
  return world
}

/** So many entries are placed, and about to cut over. */
const untilIdle = async (world: PeopleWorld, many: number): Promise<void> => {
  for (let turns = 0; turns < 20; turns += 1) {
    if ((await db`select from entry where state = 'idle'`).length >= many) return
    await world.round()
  }
  throw new Error(`There were never ${many} entries that were placed.`)
}

const live = async (world: PeopleWorld, steps: readonly Step[]): Promise<void> => {
  for (const step of steps) await world.take(step)
  await world.settle()
  expect(judgeDoubles(world.estate)).toEqual([])
  expect(await judgeLosses(world)).toEqual([])
}

const [finished, rounds] = [
  { do: 'rounds', times: 12 },
  { do: 'rounds', times: 3 },
] as const satisfies readonly Step[]
/** Both sources. */
const startSources = [0, 1].map((at) => ({ do: 'power', verb: 'start', at, raw: false }) as const)
const startAll = [0, 1, 2, 3].map((at) => ({ do: 'operate', kind: 'start', at, force: false }) as const)
const keepAllOn = [0, 1, 2, 3].map((at) => ({ do: 'policy', policy: 'always-on', at }) as const)
const syncAll = [...[0, 1, 2, 3, 4].map((at) => ({ do: 'sync', at }) as const), rounds]
/** Its copy cannot be started, so a person has to decide: gives the entry up, keeps what was made, tidies away. */
const givenUp = [
  { do: 'trouble', at: 2, mode: 'refuses' },
  finished,
  { do: 'entry', verb: 'cancel', at: 0 },
  finished,
  { do: 'entry', verb: 'remove', at: 0 },
  { do: 'trouble', at: 2, mode: 'well' },
] as const satisfies readonly Step[]

test('a person resets a finished batch and starts its source: it stays off', async () => {
  await live(await begin(), [
    finished,
    { do: 'batch', verb: 'reset', at: 0 },
    rounds,
    ...startSources,
    rounds,
  ])
})

test('a person takes a finished entry off the list and starts its source: it stays off', async () => {
  await live(await begin(), [
    finished,
    { do: 'entry', verb: 'remove', at: 0 },
    rounds,
    ...startSources,
    rounds,
  ])
})

test('a person removes a finished batch and starts its source: it stays off', async () => {
  await live(await begin(), [
    finished,
    { do: 'batch', verb: 'delete', at: 0 },
    rounds,
    ...startSources,
    rounds,
  ])
})

test('a source whose finished entry is gone is not started as a machine of a target either', async () => {
  const reset = { do: 'batch', verb: 'reset', at: 0 } as const
  await live(await begin(), [finished, reset, rounds, ...syncAll, ...startAll, rounds])
})

test('the job alone does not start the source of a machine that was migrated', async () => {
  const raw = startSources.map((one) => ({ ...one, raw: true }))
  await live(await begin(), [finished, { do: 'entry', verb: 'remove', at: 0 }, rounds, ...raw, rounds])
})

test('a run policy does not start the source of a machine that was migrated', async () => {
  const remove = { do: 'entry', verb: 'remove', at: 0 } as const
  await live(await begin(), [finished, remove, ...syncAll, ...keepAllOn, rounds])
})

test('the copy of an entry that was given up and taken off the list is not started beside its source', async () => {
  await live(await begin(), [...givenUp, ...syncAll, ...startAll, rounds])
})

test('a run policy does not start the copy of an entry that was given up', async () => {
  await live(await begin(), [...givenUp, ...syncAll, ...keepAllOn, rounds])
})

test.each(['east', 'cloud'])('a batch whose %s hangs holds no cutover of another batch', async (hung) => {
  const world = await begin(3)
  await world.take({ do: 'batch', verb: 'stop', at: 1 })
  await untilIdle(world, 3)
  await world.take({ do: 'batch', verb: 'start', at: 1 })
  await world.carryOn(hung)
  expect(await judgeOthers(world, hung)).toEqual([])
  await world.settle()
  expect(judgeDoubles(world.estate)).toEqual([])
  expect(await judgeLosses(world)).toEqual([])
})

test.each(['fault-after-done', 'answer-lost', 'takes-long'] as const)(
  'a machine whose making meets %s is taken over or made anew, and its entry goes on',
  async (slip) => {
    const world = await begin()
    await live(world, [{ do: 'slip', at: 2, slip }, finished])
    expect(await judgeRest(world)).toEqual([])
    expect(await db`select from entry where state <> 'finished'`).toEqual([])
  },
)

const entriesOfEast = () => db<{ state: string; reason: string }[]>`
  select e.state, e.reason from entry e join batch b on b.id = e.batch_id where b.name = 'wave-east'`
/** Nothing cuts over before it opens. */
const later = { do: 'window', becomes: 'later' } as const
const open = { do: 'window', becomes: 'open' } as const

test('a machine in whose place another stands is not migrated, and no copy starts with bytes of the other', async () => {
  const world = await begin()
  await world.take(later)
  await untilIdle(world, 2)
  await live(world, [{ do: 'replace', at: 0 }, open, finished])
  expect(world.estate.replaced.size).toBe(1)
  expect(await entriesOfEast()).toEqual([{ state: 'error', reason: 'identity-changed' }])
  expect(await judgeBytes(world)).toEqual([])
  expect(await judgeRest(world)).toEqual([])
})

test('an entry whose script places it elsewhere while it waits asks a person, and goes on when it is placed as before', async () => {
  const world = await begin()
  await world.take(later)
  await untilIdle(world, 2)
  await live(world, [{ do: 'place', pool: 'ds-2', at: 0 }, open, finished])
  expect(await entriesOfEast()).toEqual([{ state: 'conflict', reason: 'placement-changed' }])
  expect(await judgeRest(world)).toEqual([])
  await live(world, [{ do: 'place', pool: 'ds-1', at: 0 }, { do: 'entry', verb: 'resolve', at: 0 }, finished])
  expect(await entriesOfEast()).toMatchObject([{ state: 'finished' }])
  expect(await judgeBytes(world)).toEqual([])
})

test.each([
  { place: 0, what: 'source' },
  { place: 2, what: 'target' },
])(
  'an entry whose $what locks us out asks a person, and goes on from where it was when we are let in',
  async ({ place }) => {
    const world = await begin()
    await world.take(later)
    await untilIdle(world, 2)
    for (const step of [{ do: 'trouble', at: place, mode: 'locks-out' }, open, finished] as const)
      await world.take(step)
    expect(await entriesOfEast()).toEqual([{ state: 'error', reason: 'platform-authentication' }])
    await live(world, [])
    const retries = [0, 1].map((at) => ({ do: 'entry', verb: 'retry', at }) as const)
    await live(world, [...retries, finished])
    expect(await entriesOfEast()).toMatchObject([{ state: 'finished' }])
    expect(await judgeRest(world)).toEqual([])
  },
)

test('a reset whose source locks us out is tried again until it is done, and told once', async () => {
  const world = await begin()
  await world.take(later)
  await untilIdle(world, 2)
  const reset = { do: 'batch', verb: 'reset', at: 0 } as const
  for (const step of [{ do: 'trouble', at: 0, mode: 'locks-out' } as const, reset, rounds])
    await world.take(step)
  expect(await db`select from job where kind = 'withdraw-entry' and state = 'failed'`).not.toHaveLength(0)
  await live(world, [])
  expect(await entriesOfEast()).toEqual([])
  expect(await db`select from event where type = 'entry.reset'`).toHaveLength(1)
  expect(await judgeRest(world)).toEqual([])
})

test('a last top-up is made shortly before a window opens, and none so near that the window would wait for it', async () => {
  const world = await begin()
  const topUps = async () => (await db`select from job where kind = 'import-instance'`).length
  await world.take(later)
  await untilIdle(world, 2)
  await world.take(rounds)
  const before = await topUps()
  for (const step of [{ do: 'window', becomes: 'near' } as const, rounds]) await world.take(step)
  expect(await topUps()).toBe(before)
  // The last moment for one is half a minute long.
  for (let tries = 0; tries < 20 && (await topUps()) === before; tries += 1)
    for (const step of [{ do: 'window', becomes: 'soon' }, { do: 'pass' }] as const) await world.take(step)
  expect(await topUps()).toBeGreaterThan(before)
  await live(world, [open, finished])
  expect(await db`select from entry where state <> 'finished'`).toEqual([])
})

/** A machine of the west is switched off before the start of its batch is carried out; the bell of that start is the second. */
const offBefore = [
  { do: 'power', verb: 'stop', at: 1, raw: false },
  { do: 'work', at: 0, fate: { diesAfter: null, freezesAfter: null } },
] as const satisfies readonly Step[]
const entryOfWest = () => db<{ state: string; running: boolean }[]>`
  select e.state, e.running from entry e join instance i on i.id = e.instance_id where i.ref = 'vm-11'`
const onAgain = { do: 'power', verb: 'start', at: 1, raw: false } as const
/** By the record of the west. */
const wentOn = ({ estate }: PeopleWorld) =>
  estate.power.some(({ ref, to, by }) => ref === 'vm-11' && to === 'on' && by !== 'before')

test('a machine that is switched on while a frozen start of its batch has read it as off runs at last', async () => {
  const world = await begin()
  for (const step of offBefore) await world.take(step)
  await world.take({ do: 'work', at: 1, fate: { diesAfter: null, freezesAfter: 0 } })
  for (const step of [onAgain, { do: 'rounds', times: 1 } as const]) await world.take(step)
  expect(await entryOfWest()).toEqual([])
  expect(wentOn(world)).toBe(true)
  await live(world, [{ do: 'thaw', heard: false }, finished])
  expect(await entryOfWest()).toEqual([{ state: 'finished', running: true }])
})

test('a source that was off at the start of its batch and ran at its cutover ends off, and a warning says so', async () => {
  const world = await begin()
  for (const step of offBefore) await world.take(step)
  await world.take({ do: 'work', at: 1, fate: { diesAfter: null, freezesAfter: null } })
  expect(await entryOfWest()).toMatchObject([{ running: false }])
  // At its own platform: Drover starts nothing that a batch holds.
  world.estate.switchOn(world.estate.machine('west', 'vm-11'), 'somebody at its source')
  await live(world, [finished])
  expect(await entryOfWest()).toEqual([{ state: 'finished', running: false }])
  const warnings = () => db<{ type: string; of: string }[]>`
    select w.type, m.name as of from warning w join machine m on m.id::text = w.entity_id`
  expect(await warnings()).toEqual([{ type: 'left-off', of: 'web-11' }])
  await live(world, [...startAll, rounds])
  expect(await warnings()).toEqual([])
})

test('the debt of a copy that a person waived names the copy that stays', async () => {
  const world = await begin()
  await world.take({ do: 'rounds', times: 1 })
  await live(world, [
    { do: 'entry', verb: 'cancel', at: 1 },
    { do: 'entry', verb: 'remove-with-copy', at: 1 },
    { do: 'start-all', raw: false },
    { do: 'pass' },
    { do: 'trouble', at: 0, mode: 'away' },
    { do: 'waive', what: 'effect', at: 1 },
  ])
  const waived = await db`select undo ->> 'machine_ref' as ref from effect where state = 'waived'`
  const entries = await db<{ id: string }[]>`select id from entry`
  const left = [...world.estate.machines.values()].filter(
    ({ owner }) =>
      owner['drover.entry'] !== undefined && entries.every(({ id }) => id !== owner['drover.entry']),
  )
  expect(left.map(({ ref }) => ref)).toEqual(waived.map(({ ref }) => ref))
  expect(left).toHaveLength(1)
  expect(await judgeRest(world)).toEqual([])
})
