import { expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { storySeed } from '../../support/seed.ts'
import { simulateMeetings } from './meetings.ts'

const { db } = await createDatabase()
/** As many for every push, whatever the machine has to do. */
const runs = Number(process.env.RUNS ?? 80)
const limitMs = 390_000
const seed = storySeed()

// promise: last-wish
test(`whatever meets at a machine, the last to survive has its way, once (SEED=${seed} RUNS=${runs})`, async () => {
  const { stories, ends, told } = await simulateMeetings(db, { seed, runs, limitMs, whole: true })
  console.info(told)
  expect(stories).toBe(runs)
  for (const state of ['completed', 'superseded', 'canceled', 'failed'])
    expect(ends.get(state) ?? 0, state).toBeGreaterThan(0)
})
