import { expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { simulateMeetings } from './meetings.ts'

const { db } = await createDatabase()
const runs = Number(process.env.RUNS ?? 150)
/** Enough for a push; who asks for so many runs has the time for them. */
const limitMs = process.env.RUNS === undefined ? 25_000 : 400_000
const seed = process.env.SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.SEED)

test(`whatever meets at a machine, the last to survive has its way, once (SEED=${seed} RUNS=${runs})`, async () => {
  const ends = await simulateMeetings(db, { seed, runs, limitMs })
  expect(ends.get('completed') ?? 0, JSON.stringify([...ends])).toBeGreaterThan(0)
})
