import { expect, test } from 'vitest'
import { simulateMeetings } from '../simulation/operation/meetings.ts'
import { createDatabase } from '../support/postgres.ts'
import { randomSeed } from '../support/seed.ts'

const { db } = await createDatabase()
const runs = Number(process.env.RUNS ?? 5_000)
const seed = randomSeed()

test(`thousands of meetings at a machine, and the last to survive has its way each time (SEED=${seed})`, async () => {
  const { ends, told } = await simulateMeetings(db, { seed, runs, limitMs: 1_200_000, whole: false })
  console.info(told)
  for (const state of ['completed', 'superseded', 'canceled', 'failed'])
    expect(ends.get(state) ?? 0, state).toBeGreaterThan(0)
})
