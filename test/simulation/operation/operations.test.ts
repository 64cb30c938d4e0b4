import { expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { simulateMeetings } from './meetings.ts'

const { db } = await createDatabase()
const runs = Number(process.env.RUNS ?? 150)
/** Enough for a push; who asks for so many runs has the time for them. */
const limitMs = process.env.RUNS === undefined ? 25_000 : 400_000
/** On a machine that has much else to do, too. */
const floor = Math.min(20, runs)
const seed = process.env.SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.SEED)

// promise: last-wish
test(`whatever meets at a machine, the last to survive has its way, once (SEED=${seed} RUNS=${runs})`, async () => {
  const { stories, ends, told } = await simulateMeetings(db, { seed, runs, floor, limitMs })
  console.info(told)
  expect(stories).toBeGreaterThanOrEqual(floor)
  for (const state of ['completed', 'superseded', 'canceled', 'failed'])
    expect(ends.get(state) ?? 0, state).toBeGreaterThan(0)
})
