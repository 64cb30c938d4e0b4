import { expect, test } from 'vitest'
import { clientOf, depsOver } from '../api/setup.ts'
import { storm } from '../support/operation-storm.ts'
import { createDatabase } from '../support/postgres.ts'

const { db } = await createDatabase()
const limits = { requestsPerSecond: 1_000_000, requestsBurst: 1_000_000, requestMs: 120_000 }
const call = clientOf(depsOver(db, { limits }))

// promise: one-at-a-machine
test('of two hundred who ask at once one has the machine, and every other knows who; a hundred times', async () => {
  let superseded = 0
  for (let round = 0; round < 100; round += 1)
    superseded += (await storm(db, call, round)).filter(({ status }) => status === 202).length - 1
  // Some of them did take another's place: else the test would show only half of it.
  expect(superseded).toBeGreaterThan(0)
})
