import { expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { tellStories } from './stories.ts'

const { db } = await createDatabase()
const runs = Number(process.env.RUNS ?? 100)
/** Enough for a push; who asks for so many runs has the time for them. */
const limitMs = process.env.RUNS === undefined ? 45_000 : 330_000
/** On a machine that has much else to do, too. */
const floor = Math.min(10, runs)
/** Of one story, as a failure tells it: SEED=7 RUNS=1 STORY=35. */
const path = process.env.STORY
const seed = process.env.SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.SEED)

test(`whatever people do beside migrations, one copy runs at most, and nobody is off unnoticed (SEED=${seed} RUNS=${runs})`, async () => {
  const { stories, ends, deeds } = await tellStories(db, { seed, runs, path, floor, limitMs })
  console.info({ stories, ends, deeds })
  expect(stories).toBeGreaterThanOrEqual(floor)
  expect(ends.get('finished') ?? 0).toBeGreaterThan(0)
  expect(deeds.get('done') ?? 0).toBeGreaterThan(0)
})
