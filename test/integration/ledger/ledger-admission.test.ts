import { describe, expect, test } from 'vitest'
import { wakeTimedOutWaits } from '../../../db/queries/leases/wake-timed-out-waits.ts'
import { writeLimit } from '../../../db/queries/tokens/limits.ts'
import { sweepDeadlines, sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import { done } from '../../../src/ledger/job.ts'
import {
  claimWithTokens,
  fullTokens,
  lapseReservations,
  readmitAll,
} from '../../../src/ledger/jobs/admission.ts'
import { claimGroup } from '../../../src/ledger/jobs/claim.ts'
import { pauseWork, resumeWork } from '../../../src/ledger/jobs/pause.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  add,
  addOne,
  claim,
  end,
  expire,
  holdsOf,
  jobOf,
  mustClaim,
  stateOf,
  storyOf,
} from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const limit = (name: string, capacity: number) =>
  db.begin((tx) => writeLimit(tx, { name, capacity, by: 'test' }))
let things = 0
/** A token of its own for every test, with room for so many. */
const token = async (capacity: number, name = 'link'): Promise<string> => {
  const made = `${name}/t${things++}`
  await limit(made, capacity)
  return made
}
const waiters = async (...ids: string[]) =>
  (await Promise.all(ids.map(async (id) => [id, await stateOf(db, id)] as const)))
    .filter(([, state]) => state === 'waiting')
    .map(([id]) => id)

describe('admission', () => {
  // promise: admission
  test('is all or nothing: a job that lacks one token holds none and waits under its name', async () => {
    const [free, full] = [await token(5), await token(1)]
    const [first = '', second = ''] = await add(db, { tokens: [full] }, { tokens: [free, full] })
    await mustClaim(db, first)
    expect(await claim(db, second)).toBeUndefined()
    expect(await holdsOf(db, free)).toEqual([])
    expect(await jobOf(db, second)).toMatchObject({
      state: 'waiting',
      waitReason: 'token',
      waitDetail: `waits for ${full}`,
    })
    expect((await jobOf(db, second)).waitUntil).toBeInstanceOf(Date)
  })

  test('the end of a holder lets the next one in, whatever the end', async () => {
    const one = await token(1)
    const ids = await add(db, ...Array.from({ length: 5 }, () => ({ tokens: [one] })))
    const [a = '', b = '', c = '', d = '', e = ''] = ids
    let holder = await mustClaim(db, a)
    for (const id of [b, c, d, e]) await claim(db, id)
    await end(db, holder, done())
    expect(await holdsOf(db, one)).toEqual([b])
    holder = await mustClaim(db, b)
    await end(db, holder, { type: 'thrown', thrown: new Error('a bug') })
    expect(await holdsOf(db, one)).toEqual([c])
    holder = await mustClaim(db, c)
    await end(db, holder, { type: 'wait', reason: 'r', detail: 'd', forMs: 3_600_000 })
    expect(await holdsOf(db, one)).toEqual([d])
    await mustClaim(db, d)
    await expire(db, d)
    await sweepLeases(db)
    expect(await holdsOf(db, one)).toEqual([e])
    expect(await storyOf(db, e)).toEqual([
      'job.created >ready',
      'job.waiting ready>waiting',
      'job.woken waiting>ready',
    ])
    expect((await mustClaim(db, e)).tokens).toEqual([one])
  })

  test('the line is in order of priority, then deadline, then who waits longest', async () => {
    const one = await token(1)
    const soon = new Date(Date.now() + 3_600_000)
    const holder = await mustClaim(db, await addOne(db, { tokens: [one] }))
    const jobs = [{}, { priority: 5 }, { deadline: soon }, {}, { priority: 5, deadline: soon }]
    const ids: string[] = []
    for (const job of jobs) {
      const id = await addOne(db, { ...job, tokens: [one] })
      await claim(db, id)
      ids.push(id)
    }
    const order: number[] = []
    for (let held = holder; order.length < jobs.length; ) {
      await end(db, held, done())
      const [next = ''] = await holdsOf(db, one)
      order.push(ids.indexOf(next))
      held = await mustClaim(db, next)
    }
    expect(order).toEqual([4, 1, 2, 0, 3])
  })

  // promise: admission
  test('20 claims at once never let in more than there is room for, over two tokens', async () => {
    const [wide, narrow] = [await token(5), await token(3)]
    const jobs = Array.from({ length: 20 }, (_, at) => ({ tokens: at % 2 ? [wide, narrow] : [narrow, wide] }))
    let open = await add(db, ...jobs)
    const ended: string[] = []
    while (open.length > 0) {
      const won = (await Promise.all(open.map((id) => claim(db, id)))).filter((job) => job !== undefined)
      const held = (await holdsOf(db, narrow)).length
      expect(held).toBeLessThanOrEqual(3)
      expect((await holdsOf(db, wide)).length).toBe(held)
      expect(won.length).toBeGreaterThan(0)
      await Promise.all(won.map((job) => end(db, job, done())))
      ended.push(...won.map((job) => job.id))
      open = open.filter((id) => !ended.includes(id))
    }
    expect(new Set(ended).size).toBe(20)
    expect(await holdsOf(db, wide)).toEqual([])
  })

  test('a raised limit lets waiters in at once, a lowered one takes nothing away', async () => {
    const one = await token(1)
    const ids = await add(db, ...Array.from({ length: 4 }, () => ({ tokens: [one] })))
    for (const id of ids) await claim(db, id)
    expect(await waiters(...ids)).toHaveLength(3)
    await limit(one, 3)
    expect(await readmitAll(db)).toBe(2)
    expect(await waiters(...ids)).toHaveLength(1)
    await limit(one, 1)
    expect(await holdsOf(db, one)).toHaveLength(3)
    expect(await readmitAll(db)).toBe(0)
    await limit(one, 4)
    await readmitAll(db)
  })

  // promise: stuck-waiter
  test('waiters that are stuck on something dead never hold back those behind them', async () => {
    const [dead, alive] = [await token(0), await token(1)]
    const holder = await mustClaim(db, await addOne(db, { tokens: [alive] }))
    const stuck = Array.from({ length: 70 }, () => ({ tokens: [dead, alive], priority: 10 }))
    for (const id of await add(db, ...stuck)) await claim(db, id)
    const last = await addOne(db, { tokens: [alive] })
    await claim(db, last)
    await end(db, holder, done())
    await readmitAll(db)
    expect(await holdsOf(db, alive)).toEqual([last])
  })
})

describe('a bell that came twice', () => {
  test('never takes the tokens of the run that the first one started', async () => {
    const one = await token(1)
    const id = await addOne(db, { tokens: [one] })
    const by = { workerId: '0198c0de-0000-7000-8000-000000000000', leaseMs: 60_000 }
    const ask = { id, generation: 1, version: 1 }
    const [late] = await claimGroup(db, [ask], by)
    expect(late).toEqual({ outcome: 'needs-tokens', tokens: [one] })
    await mustClaim(db, id)
    expect(await claimWithTokens(db, ask, by)).toBeUndefined()
    expect(await holdsOf(db, one)).toEqual([id])
  })
})

describe('a job that was let in', () => {
  const letIn = async (job = {}) => {
    const one = await token(1)
    const [holder = '', next = ''] = await add(db, { tokens: [one] }, { tokens: [one], ...job })
    const held = await mustClaim(db, holder)
    await claim(db, next)
    await end(db, held, done())
    expect(await holdsOf(db, one)).toEqual([next])
    const behind = await addOne(db, { tokens: [one] })
    await claim(db, behind)
    expect(await stateOf(db, behind)).toBe('waiting')
    return { one, next, behind }
  }

  test('gives its tokens on when it is cancelled or its deadline passes before its claim', async () => {
    const canceled = await letIn()
    await requestCancel(db, canceled.next, { by: 'test', reason: 'no more' })
    expect(await holdsOf(db, canceled.one)).toEqual([canceled.behind])
    const late = await letIn({ deadline: new Date(Date.now() + 3_600_000) })
    await db`update job set deadline = now() - interval '1 second' where id = ${late.next}::uuid`
    expect(await sweepDeadlines(db, 0)).toBe(1)
    expect(await holdsOf(db, late.one)).toEqual([late.behind])
  })

  // promise: admission
  test('keeps its tokens a while when its deadline passes as it runs: its handler may be at it still', async () => {
    const one = 'link/deadline'
    await db.begin((tx) => writeLimit(tx, { name: one, capacity: 1, by: 'test' }))
    const ran = await addOne(db, { tokens: [one], deadline: new Date(Date.now() + 3_600_000) })
    await mustClaim(db, ran)
    const behind = await addOne(db, { tokens: [one] })
    await claim(db, behind)
    await db`update job set deadline = now() - interval '1 second' where id = ${ran}::uuid`
    expect(await sweepDeadlines(db, 60_000)).toBe(1)
    expect(await holdsOf(db, one)).toEqual([ran])
    expect(await lapseReservations(db, 60_000)).toBe(0)
    expect(await lapseReservations(db, -1_000)).toBeGreaterThan(0)
    await readmitAll(db)
    expect(await holdsOf(db, one)).toEqual([behind])
  })

  test('gives its tokens on when nobody takes it, and gets them again when somebody does', async () => {
    const { one, next, behind } = await letIn({ lane: 'lapsing' })
    await pauseWork(db, { scope: 'lane', name: 'lapsing', by: 'test', reason: 'test' })
    expect(await lapseReservations(db, 3_600_000)).toBe(0)
    expect(await lapseReservations(db, 0)).toBeGreaterThan(0)
    await readmitAll(db)
    expect(await holdsOf(db, one)).toEqual([behind])
    await end(db, await mustClaim(db, behind), done())
    await resumeWork(db, { scope: 'lane', name: 'lapsing', by: 'test' })
    await mustClaim(db, next)
    expect(await holdsOf(db, one)).toEqual([next])
  })

  test('is claimed and cancelled at once without a deadlock, and never leaves tokens behind', async () => {
    for (let round = 0; round < 15; round += 1) {
      const { one, next, behind } = await letIn()
      const [job, outcome] = await Promise.all([
        claim(db, next),
        requestCancel(db, next, { by: 'test', reason: 'race' }),
      ])
      expect(outcome.outcome).toBe(job ? 'requested' : 'canceled')
      if (job) await end(db, job, { type: 'canceled' })
      expect(await stateOf(db, next)).toBe('canceled')
      expect(await holdsOf(db, one)).toEqual([behind])
    }
  })
})

describe('a waiter', () => {
  test('whose wait has timed out asks again and keeps its place in the line', async () => {
    const one = await token(1)
    await mustClaim(db, await addOne(db, { tokens: [one] }))
    const [early = '', late = ''] = await add(db, { tokens: [one] }, { tokens: [one] })
    await claim(db, early)
    await claim(db, late)
    const since = (await jobOf(db, early)).waitSince
    await db`update job set wait_until = now() - interval '1 second' where id = ${early}::uuid`
    expect(await wakeTimedOutWaits(db, 10)).toBe(1)
    await claim(db, early)
    expect((await jobOf(db, early)).waitSince).toEqual(since)
  })

  test('in a paused lane is passed over, and let in after the resume', async () => {
    const one = await token(1)
    const holder = await mustClaim(db, await addOne(db, { tokens: [one] }))
    const [paused = '', open = ''] = await add(
      db,
      { tokens: [one], lane: 'p', priority: 9 },
      { tokens: [one] },
    )
    await claim(db, paused)
    await claim(db, open)
    await pauseWork(db, { scope: 'lane', name: 'p', by: 'test', reason: 'test' })
    await end(db, holder, done())
    expect(await holdsOf(db, one)).toEqual([open])
    await end(db, await mustClaim(db, open), done())
    expect(await holdsOf(db, one)).toEqual([])
    await resumeWork(db, { scope: 'lane', name: 'p', by: 'test' })
    expect(await readmitAll(db)).toBeGreaterThan(0)
    expect(await holdsOf(db, one)).toEqual([paused])
  })

  test('that is cancelled leaves the line', async () => {
    const one = await token(1)
    const holder = await mustClaim(db, await addOne(db, { tokens: [one] }))
    const [gone = '', next = ''] = await add(db, { tokens: [one] }, { tokens: [one] })
    await claim(db, gone)
    await claim(db, next)
    expect(await requestCancel(db, gone, { by: 'test', reason: 'r' })).toMatchObject({ outcome: 'canceled' })
    await end(db, holder, done())
    expect(await holdsOf(db, one)).toEqual([next])
  })
})

test('fullTokens names exactly the tokens without room', () => {
  const holds = new Map([
    ['link/a', 2],
    ['link/b', 1],
  ])
  const limits = new Map([
    ['link', 2],
    ['link/c', 0],
  ])
  expect(fullTokens(['link/a', 'link/b', 'link/c', 'link/d'], holds, limits)).toEqual(['link/a', 'link/c'])
})

test('after admission in every order the whole ledger obeys its laws', async () => {
  expect(await checkInvariants(db)).toEqual([])
})
