import { expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { storySeed } from '../../support/seed.ts'
import { tellStories } from './stories.ts'

const { db } = await createDatabase()
/** As many for every push, whatever the machine has to do: ten times slower than alone it still has the time. */
const runs = Number(process.env.RUNS ?? 30)
const limitMs = 390_000
/** Of one story, as a failure tells it: SEED=7 RUNS=1 STORY=35. */
const path = process.env.STORY
const seed = storySeed()

test(`whatever people do beside migrations, one copy runs at most, and nobody is off unnoticed (SEED=${seed} RUNS=${runs})`, async () => {
  const { stories, ends, deeds } = await tellStories(db, { seed, runs, path, limitMs })
  console.info({ stories, ends, deeds })
  expect(stories).toBeGreaterThanOrEqual(runs)
  expect(ends.get('finished') ?? 0).toBeGreaterThan(0)
  expect(deeds.get('done') ?? 0).toBeGreaterThan(0)
})
