import { expect, test } from 'vitest'
import { reachablePlaces } from '../../src/domain/migration/batch/describe-table.ts'
import { tellTogether } from '../simulation/people/stories.ts'
import { openTheatre } from '../simulation/people/theatre.ts'
import { createDatabase } from '../support/postgres.ts'
import { randomSeed } from '../support/seed.ts'

const most = Number(process.env.STEPS ?? 1_000_000)
/** Of a hundred stories in each of two databases. */
const limitMs = 3_600_000
const first = randomSeed()
const databases = await Promise.all([createDatabase(), createDatabase()])

test(`a million steps of migrations break no law (SEED=${first} STEPS=${most})`, {
  timeout: 3 * limitMs,
}, async () => {
  const theatres = databases.map(({ db }) => openTheatre(db))
  const reached = new Set<string>()
  let [stories, steps] = [0, 0]
  for (let seed = first; steps < most; seed += theatres.length) {
    const telling = { seed, runs: 100, path: undefined, limitMs }
    const told = await tellTogether(theatres, telling)
    stories += told.stories
    steps += told.steps
    for (const place of told.reached) reached.add(place)
    console.info({ seed, stories, steps, reached: reached.size })
  }
  const places = reachablePlaces().map(({ state, stage }) => `${state}/${stage}`)
  console.info({ never: places.filter((place) => !reached.has(place)) })
  expect(steps).toBeGreaterThanOrEqual(most)
})
