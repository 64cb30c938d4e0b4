import { expect, test } from 'vitest'
import {
  crowdedThings,
  type SlotAsk,
  type SlotUse,
  takeSlot,
  whatIsCrowded,
} from '../../../src/domain/job/room.ts'

const use = (slots: number): SlotUse => ({ slots, groups: [] })

/** Lets in as many of these as have room; gives how many. */
const fill = (room: SlotUse, ask: SlotAsk): number => {
  for (let jobs = 0; ; jobs += 1) {
    if (whatIsCrowded(ask, room) !== undefined) return jobs
    takeSlot(room, ask)
  }
}

const copy = (batch: string, source: string, host = 'h1', target = 'cloud'): SlotAsk => ({
  lane: `batch/${batch}`,
  tokens: [
    `source-imports/${source}`,
    `target-imports/${target}`,
    `source-host-reads/${source}.${host}`,
    'source-snapshots/any',
  ],
})

test('jobs that hang on just the same have a quarter of the slots, whatever each takes besides', () => {
  const room = use(16)
  expect(fill(room, copy('a', 'paris'))).toBe(4)
  const other = copy('a', 'paris')
  expect(whatIsCrowded({ ...other, tokens: [...other.tokens, 'source-snapshots/ds-2'] }, room)).toContain(
    'source-imports/paris',
  )
})

// promise: hung-work
test('the more jobs have in common, the fewer slots they get', () => {
  const room = use(120)
  const hosts = Array.from({ length: 60 }, (_, at) => `h${at}`)
  const taken = (asks: readonly SlotAsk[]) => asks.reduce((jobs, ask) => jobs + fill(room, ask), 0)
  expect(taken([copy('a', 'paris')])).toBe(30)
  expect(taken(hosts.map((host) => copy('a', 'paris', host)))).toBe(45 - 30)
  expect(taken(hosts.map((host) => copy('b', 'paris', host)))).toBe(60 - 45)
  expect(taken(hosts.flatMap((host) => [copy('c', 'rome', host), copy('d', 'oslo', host)]))).toBe(80 - 60)
  expect(fill(room, copy('e', 'rome', 'h1', 'lab'))).toBeGreaterThan(0)
})

test.each([
  ['another batch of the same source', copy('b', 'paris')],
  ['another host of the same batch', copy('a', 'paris', 'h2')],
  ['another source of the same batch', copy('a', 'rome')],
  ['another target of the same batch', copy('a', 'paris', 'h1', 'lab')],
  ['another source and batch, into the same target', copy('b', 'rome')],
  ['nothing of the same at all', copy('b', 'rome', 'h1', 'lab')],
])('what hangs leaves slots to %s', (_what, living) => {
  for (const slots of [12, 16, 24, 120]) {
    const room = use(slots)
    const hosts = ['h1', 'h3', 'h4', 'h5', 'h6']
    // All of its source, but where it is a host of it that lives.
    const hanging = living.tokens[2]?.endsWith('h2') ? hosts.slice(0, 1) : hosts
    const taken = hanging.map((host) => fill(room, copy('a', 'paris', host)))
    expect(taken[0]).toBeGreaterThanOrEqual(Math.floor(slots / 6))
    expect(fill(room, living)).toBeGreaterThanOrEqual(Math.max(1, Math.floor(slots / 24)))
  }
})

test('the first of a source has its slot while there is one at all, and never more than there are', () => {
  const room = use(6)
  const firsts = Array.from({ length: 9 }, (_, at) => fill(room, copy(`b${at}`, `s${at}`, 'h1', `t${at}`)))
  expect(firsts.filter((jobs) => jobs > 0).length).toBeGreaterThanOrEqual(4)
  expect(room.groups.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(6)
  expect(whatIsCrowded(copy('late', 'late'), room)).toBe('every slot')
  expect(fill(use(1), copy('a', 'paris'))).toBe(1)
})

test('where no worker says how many slots it has, nothing is held back', () => {
  const room = use(0)
  for (let at = 0; at < 20; at += 1) takeSlot(room, copy('a', 'paris'))
  expect(whatIsCrowded(copy('a', 'paris'), room)).toBeUndefined()
})

test('what is crowded is known without asking for each job that waits', () => {
  const room = use(12)
  for (const host of ['h1', 'h2', 'h3']) fill(room, copy('a', 'paris', host))
  const crowded = crowdedThings(room).map((things) => things.join(' '))
  expect(crowded).toContain('batch/a source-imports/paris target-imports/cloud')
  expect(crowded).not.toContain('target-imports/cloud')
  expect(crowdedThings(use(12))).toEqual([])
})
