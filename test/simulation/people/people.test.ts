import { expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { storySeed } from '../../support/seed.ts'
import { tellTogether } from './stories.ts'
import { openTheatre } from './theatre.ts'

/** As many for every push, whatever the machine has to do: forty times slower than alone it still has the time. */
const runs = Number(process.env.RUNS ?? 100)
const limitMs = 1_400_000
/** Of one story, as a failure tells it: SEED=7 RUNS=1 STORY=35. */
const path = process.env.STORY
const seed = storySeed()
const lanes = path === undefined && runs > 1 ? 2 : 1
const databases = await Promise.all(Array.from({ length: lanes }, () => createDatabase()))

// promise: source-given-back
// promise: certificate
test(`whatever people do beside migrations, one copy runs at most, and nobody is off unnoticed (SEED=${seed} RUNS=${runs})`, {
  timeout: limitMs + 30_000,
}, async () => {
  const theatres = databases.map(({ db }) => openTheatre(db))
  const told = await tellTogether(theatres, { seed, runs, path, limitMs })
  console.info(told)
  expect(told.stories).toBeGreaterThanOrEqual(runs)
  expect(told.ends.get('finished') ?? 0).toBeGreaterThan(0)
  expect(told.deeds.get('done') ?? 0).toBeGreaterThan(0)
})
