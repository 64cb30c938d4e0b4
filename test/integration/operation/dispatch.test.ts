import { expect, test } from 'vitest'
import type { JobRow } from '../../../db/schema/job.ts'
import { sweepDebts } from '../../../src/ledger/conductor/sweeps.ts'
import {
  type AskedOperation,
  askOperation,
  type OperationAsk,
} from '../../../src/operation/admission/ask-operation.ts'
import { makeSite } from '../../support/inventory.ts'
import { addOne, jobOf } from '../../support/ledger.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

const ask = async (asked: Partial<OperationAsk> & { readonly at?: string }): Promise<JobRow> => {
  const { at, ...more } = asked
  const machineId = await addMachine(db, at === undefined ? {} : { targetId: at })
  const { operation } = (await db.begin((tx) =>
    askOperation(tx, {
      ...{ machineId, kind: 'stop', force: false, params: {}, onConflict: 'reject', cause: 'person' },
      ...{ deadlineSeconds: 600, waitSeconds: 600, by: 'test' },
      ...more,
    }),
  )) as AskedOperation
  return jobOf(db, operation.jobId ?? '')
}

test('the lane of an operation is its target, whoever wants it', async () => {
  const { id: at } = await makeSite(db, { role: 'target', name: 'cloud', quiet: true })
  for (const cause of ['person', 'policy', 'evacuation'] as const)
    expect(await ask({ at, cause })).toMatchObject({ lane: 'machines/cloud' })
})

test("a person's stop with force overtakes all that other people have asked for before", async () => {
  const { priority } = await ask({ force: true })
  for (const kind of ['stop', 'restart', 'snapshot', 'migrate'] as const)
    expect((await ask({ kind })).priority).toBeLessThan(priority)
  expect((await ask({ force: true, kind: 'restart' })).priority).toBeLessThan(priority)
  expect((await ask({ force: true, cause: 'policy' })).priority).toBeLessThan(
    (await ask({ cause: 'person' })).priority,
  )
})

test('the lane of a debt is the platform that owes it', async () => {
  const id = await addOne(db)
  await db`update job set state = 'canceled', finished_at = now() where id = ${id}::uuid`
  for (const platform of ['cloud', 'attic'])
    await db`
      insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state, next_try_at)
      values (gen_random_uuid(), ${id}::uuid, 'test', 'x', 1, 'thing', ${platform}, ${platform}, 'debt', now() - interval '1 second')`
  await sweepDebts(db)
  const lanes = await db<{ lane: string }[]>`select lane from job where kind = 'settle-debt' order by lane`
  expect(lanes.map(({ lane }) => lane)).toEqual(['debts/attic', 'debts/cloud'])
})
