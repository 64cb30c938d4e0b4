import { expect, test } from 'vitest'
import { lockMachine } from '../../../db/queries/machines/machine-rows.ts'
import { findOperation } from '../../../db/queries/operations/operation-rows.ts'
import { cancelInTransaction } from '../../../src/ledger/jobs/cancel.ts'
import { type AskedOperation, askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { handleOperateMachine } from '../../../workers/handlers/operate-machine.ts'
import { createEntryWorker } from '../../support/entry-world.ts'
import { createInventoryWorker, makeSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const lab = await createLab()
const target = await makeSite(db, {
  ...{ role: 'target', name: 'vc', connectivity: 'ok', quiet: true },
  ...{ endpoint: lab.endpoint('vcenter'), password: lab.password },
})
const { use } = createInventoryWorker(db, openLab)
const worker = createEntryWorker(db, [handleOperateMachine], use)

const ask = async (ref: string) => {
  const machineId = await addMachine(db, { targetId: target.id, ref, power: 'on' })
  const { operation } = (await db.begin((tx) =>
    askOperation(tx, {
      ...{ machineId, kind: 'stop', force: true, onConflict: 'supersede', params: {}, cause: 'person' },
      ...{ by: 'test', deadlineSeconds: 60, waitSeconds: 3_600 },
    }),
  )) as AskedOperation
  return { machineId, id: operation.id, jobId: operation.jobId ?? '' }
}

const workerWaits = () =>
  until(
    async () => {
      const [row] = await db<{ waits: number }[]>`
        select count(*)::int as waits from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return row?.waits === 1
    },
    { what: 'the worker to wait for the machine' },
  )

/** Holds the machine as whoever asks for an operation does, until the worker wants it too, and calls off the job. */
const callOff = async (
  { machineId, jobId }: { readonly machineId: string; readonly jobId: string },
  meanwhile: () => void,
) => {
  const outcome = await db.begin(async (tx) => {
    await lockMachine(tx, machineId)
    meanwhile()
    await workerWaits()
    return cancelInTransaction(tx, jobId, { by: 'test', reason: 'not wanted' })
  })
  expect(outcome).toMatchObject({ outcome: 'requested' })
}

test('a worker that takes an operation up waits for its machine with empty hands', async () => {
  const asked = await ask('vm-101')
  let working: Promise<unknown> | undefined
  await callOff(asked, () => {
    working = worker.follow(asked.jobId)
  })
  await working
})

test('a worker that ends an operation waits for its machine with empty hands', async () => {
  const asked = await ask('vm-102')
  await lab.admin('POST /lab/faults', { kind: 'stall', call: 'stop', machine: 'vm-102' })
  const working = worker.follow(asked.jobId)
  await until(async () => (await findOperation(db, asked.id))?.state === 'running', { what: 'it to run' })
  let answered: Promise<unknown> | undefined
  await callOff(asked, () => {
    answered = lab.admin('DELETE /lab/faults')
  })
  await Promise.all([answered, working])
})
