import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { findDueJobs } from '../../../db/queries/jobs/find-due-jobs.ts'
import {
  type AskedOperation,
  askOperation,
  type OperationAsk,
} from '../../../src/operation/admission/ask-operation.ts'
import { mustClaim } from '../../support/ledger.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const kind = 'operate-machine'
const nextOne = { windows: [{ kind, window: 1, slots: null }], silentMs: 60_000 }

const askFor = async (targetId: string, cause: OperationAsk['cause']): Promise<void> => {
  const machineId = await addMachine(db, { targetId })
  const asked: OperationAsk = {
    ...{ machineId, kind: 'restart', force: false, params: {}, onConflict: 'supersede', cause, by: 'test' },
    ...{ deadlineSeconds: 600, waitSeconds: 3_600 },
  }
  await (db.begin((tx) => askOperation(tx, asked)) as Promise<AskedOperation>)
}

/** Where there is room for one at a time: rung for and claimed, until none is left. */
const claimAll = async (): Promise<string[]> => {
  const causes: string[] = []
  for (;;) {
    const [due] = await findDueJobs(db, nextOne)
    if (!due) return causes
    await mustClaim(db, due.id)
    const [row] = await db<{ cause: string }[]>`select cause from operation where job_id = ${due.id}::uuid`
    causes.push(row?.cause ?? 'nobody')
  }
}

// promise: person-first
test('of all that is due at one target what a person asked for goes first, then evacuations, then run policies', async () => {
  const target = uuidv7()
  // The last to come is the first to go.
  for (const cause of ['policy', 'evacuation', 'person', 'policy', 'evacuation', 'person'] as const)
    for (let many = 0; many < 5; many += 1) await askFor(target, cause)
  const ten = (cause: string) => Array.from({ length: 10 }, () => cause)
  expect(await claimAll()).toEqual([...ten('person'), ...ten('evacuation'), ...ten('policy')])
})

// promise: person-first
test('a person who asks while others are served is the next', async () => {
  const target = uuidv7()
  for (const cause of ['policy', 'evacuation', 'policy', 'evacuation'] as const) await askFor(target, cause)
  const [first] = await findDueJobs(db, nextOne)
  await mustClaim(db, first?.id ?? '')
  await askFor(target, 'person')
  expect(await claimAll()).toEqual(['person', 'evacuation', 'policy', 'policy'])
})
