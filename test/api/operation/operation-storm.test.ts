import { expect, test } from 'vitest'
import { storm } from '../../support/operation-storm.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const limits = { requestsPerSecond: 1_000_000, requestsBurst: 1_000_000, requestMs: 120_000 }
const call = clientOf(depsOver(db, { limits }))

// Soak does it a hundred times.
// promise: one-at-a-machine
test('of two hundred who ask at once one has the machine, and every other knows who; ten times', async () => {
  const outcomes = new Set<number>()
  for (let round = 0; round < 10; round += 1)
    for (const { status } of await storm(db, call, round)) outcomes.add(status)
  expect([...outcomes].sort()).toEqual([202, 409])
})
