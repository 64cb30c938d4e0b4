import { expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { tellTogether } from './stories.ts'
import { openTheatre } from './theatre.ts'

const runs = Number(process.env.RUNS ?? 160)
/** As many are told on a machine that has nothing else to do; who asks for so many has the time for them. */
const limitMs = process.env.RUNS === undefined ? 150_000 : 330_000
/** On a machine that has much else to do, too. */
const floor = Math.min(16, runs)
/** Of one story, as a failure tells it: SEED=7 RUNS=1 STORY=35. */
const path = process.env.STORY
const seed = process.env.SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.SEED)
const lanes = path === undefined ? 2 : 1
const databases = await Promise.all(Array.from({ length: lanes }, () => createDatabase()))

// promise: source-given-back
// promise: certificate
test(`whatever people do beside migrations, one copy runs at most, and nobody is off unnoticed (SEED=${seed} RUNS=${runs})`, async () => {
  const theatres = databases.map(({ db }) => openTheatre(db))
  const told = await tellTogether(theatres, { seed, runs, path, floor, limitMs })
  console.info(told)
  expect(told.stories).toBeGreaterThanOrEqual(floor)
  expect(told.ends.get('finished') ?? 0).toBeGreaterThan(0)
  expect(told.deeds.get('done') ?? 0).toBeGreaterThan(0)
})
