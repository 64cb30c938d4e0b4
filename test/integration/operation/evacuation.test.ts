import { expect, test } from 'vitest'
import { moveOperation } from '../../../db/queries/operations/operation-rows.ts'
import { pruneStart } from '../../../db/queries/operations/prune-operations.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import type { OperationVariant } from '../../../src/domain/operation/kinds/kinds.ts'
import {
  type AskedOperation,
  askOperation,
  type OperationAsk,
} from '../../../src/operation/admission/ask-operation.ts'
import { cancelOperation } from '../../../src/operation/admission/cancel-operation.ts'
import { endOperation } from '../../../src/operation/admission/end-operation.ts'
import { resumeEvacuations } from '../../../src/operation/upkeep/resume-evacuation.ts'
import { pruneOperationsOnce } from '../../../src/operation/upkeep/retention.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { strictLog } from '../../support/strict-log.ts'

const { db } = await createDatabase()

const ask = async (
  machineId: string,
  { kind, force }: OperationVariant,
  cause: OperationAsk['cause'] = 'person',
): Promise<OperationRow> => {
  const { operation } = (await db.begin((tx) =>
    askOperation(tx, {
      ...{ machineId, kind, force, cause, onConflict: 'supersede', params: {} },
      ...{ by: cause === 'person' ? 'ann' : 'drain of node-1', deadlineSeconds: 900, waitSeconds: 600 },
    }),
  )) as AskedOperation
  return operation
}

const evict = { kind: 'evict', force: false } as const
const restart = { kind: 'restart', force: true } as const

/** As its job ends it. */
const end = async ({ id, machineId, jobId }: OperationRow, to: 'completed' | 'failed'): Promise<void> => {
  await db`update job set state = 'canceled', finished_at = now() where id = ${jobId}::uuid`
  const told = { id, message: 'The test did it.', actor: 'test' }
  await db.begin(async (tx) => {
    await moveOperation(tx, { ...told, event: 'begin', reason: 'in-progress' })
    await endOperation(tx, machineId, {
      ...told,
      event: to === 'completed' ? 'complete' : 'fail',
      reason: to,
    })
  })
}

const evictsOf = (machine: string): Promise<OperationRow[]> => db<OperationRow[]>`
  select * from operation where machine_id = ${machine}::uuid and kind = 'evict' order by id`

const cancel = (id: string) => db.begin((tx) => cancelOperation(tx, { id, by: 'ann' }))

const dueNow = (machine: string) => db`
  update operation set come_back_at = now() - interval '1 second' where machine_id = ${machine}::uuid and come_back_at is not null`

// promise: evacuation
test('it gives way to a person, and comes back when that has ended, whatever became of it', async () => {
  for (const to of ['completed', 'failed'] as const) {
    const machine = await addMachine(db, { power: 'on' })
    const first = await ask(machine, evict, 'evacuation')
    expect(first).toMatchObject({ standsDown: true, leaves: 'node-1', resumes: null })
    const restarting = await ask(machine, restart)
    await resumeEvacuations(db, strictLog)
    expect(await evictsOf(machine)).toMatchObject([{ state: 'superseded', comeBackAt: expect.any(Date) }])
    await end(restarting, to)
    await resumeEvacuations(db, strictLog)
    await resumeEvacuations(db, strictLog)
    expect(await evictsOf(machine)).toMatchObject([
      { state: 'superseded', comeBackAt: null },
      {
        state: 'pending',
        resumes: first.id,
        leaves: 'node-1',
        standsDown: true,
        createdBy: 'drain of node-1',
      },
    ])
  }
})

// promise: evacuation
test('it stays down while the machine is off or elsewhere, and comes back when it runs there again', async () => {
  const machine = await addMachine(db, { power: 'on' })
  await ask(machine, evict, 'evacuation')
  await end(await ask(machine, { kind: 'stop', force: true }), 'completed')
  await db`update machine set power = 'off' where id = ${machine}::uuid`
  await resumeEvacuations(db, strictLog)
  expect(await evictsOf(machine)).toHaveLength(1)
  await db`update machine set power = 'on', host = 'node-2' where id = ${machine}::uuid`
  await resumeEvacuations(db, strictLog)
  expect(await evictsOf(machine)).toHaveLength(1)
  await db`update machine set host = 'node-1' where id = ${machine}::uuid`
  await resumeEvacuations(db, strictLog)
  expect(await evictsOf(machine)).toHaveLength(2)
})

test('after failures it comes back, each time after a longer rest, and counts them all', async () => {
  const machine = await addMachine(db, { power: 'on' })
  let evicting = await ask(machine, evict, 'evacuation')
  for (const failures of [1, 2, 3]) {
    await end(evicting, 'failed')
    await resumeEvacuations(db, strictLog)
    expect(await evictsOf(machine)).toHaveLength(failures)
    const [rest] = await db`
      select failures, ceil(extract(epoch from come_back_at - finished_at))::int as seconds from operation
      where id = ${evicting.id}::uuid`
    expect(rest).toMatchObject({ failures, seconds: 2 ** failures })
    await dueNow(machine)
    await resumeEvacuations(db, strictLog)
    const next = (await evictsOf(machine)).at(-1)
    expect(next).toMatchObject({ state: 'pending', resumes: evicting.id, failures })
    evicting = next as OperationRow
  }
})

test('while it is denied it rests longer each time, and tells of it no more than once a minute', async () => {
  const machine = await addMachine(db, { power: 'on' })
  const first = await ask(machine, evict, 'evacuation')
  await end(await ask(machine, restart), 'completed')
  await db`update machine set run_policy = 'always-off' where id = ${machine}::uuid`
  for (let round = 0; round < 5; round += 1) {
    await dueNow(machine)
    await resumeEvacuations(db, strictLog)
    await resumeEvacuations(db, strictLog)
  }
  expect(await evictsOf(machine)).toMatchObject([{ id: first.id, failures: 5 }])
  const told = await db`select detail from event where type = 'operation.refused' and subject_id = ${machine}`
  expect(told).toMatchObject([{ detail: { reason: 'not-for-run-policy', cause: 'evacuation' } }])
})

// promise: evacuation
test('a person who cancels it has the machine stay, also when it only waits to come back', async () => {
  const machine = await addMachine(db, { power: 'on' })
  const active = await ask(machine, evict, 'evacuation')
  await cancel(active.id)
  await resumeEvacuations(db, strictLog)
  expect(await evictsOf(machine)).toMatchObject([{ state: 'canceled', comeBackAt: null }])

  const waiting = await ask(machine, evict, 'evacuation')
  await end(await ask(machine, restart), 'completed')
  await cancel(waiting.id)
  await resumeEvacuations(db, strictLog)
  expect((await evictsOf(machine)).slice(1)).toMatchObject([{ state: 'superseded', comeBackAt: null }])
  await expect(cancel(waiting.id)).rejects.toMatchObject({ code: 'operation-ended' })
  const told =
    await db`select actor from event where type = 'operation.stays-down' and subject_id = ${waiting.id}`
  expect(told).toEqual([{ actor: 'ann' }])
})

test('a new wish of an evacuation takes the place of the one that waits to come back', async () => {
  const machine = await addMachine(db, { power: 'on' })
  await ask(machine, evict, 'evacuation')
  await end(await ask(machine, restart), 'completed')
  const anew = await ask(machine, evict, 'evacuation')
  await end(anew, 'completed')
  await resumeEvacuations(db, strictLog)
  expect(await evictsOf(machine)).toMatchObject([{ comeBackAt: null }, { state: 'completed' }])
})

/** One that waits to come back, because a person's has ended meanwhile. */
const addWaiting = async (): Promise<{ machine: string; id: string }> => {
  const machine = await addMachine(db, { power: 'on' })
  const { id } = await ask(machine, evict, 'evacuation')
  await end(await ask(machine, restart), 'completed')
  return { machine, id }
}

const whyItStays = async (id: string): Promise<string[]> => {
  const rows = await db<{ reason: string }[]>`
    select reason from event where type = 'operation.stays-down' and subject_id = ${id}`
  return rows.map(({ reason }) => reason)
}

test('a wish ends with its machine, with a move elsewhere, after a week and after very many failures', async () => {
  const [stays, gone, moved, old, failed] = await Promise.all(Array.from({ length: 5 }, addWaiting))
  if (!stays || !gone || !moved || !old || !failed) throw new Error('They were not made.')
  await db`update machine set gone_at = now() where id = ${gone.machine}::uuid`
  await end(await ask(moved.machine, { kind: 'migrate', force: false }), 'completed')
  await db`update machine set host = 'node-2' where id = ${moved.machine}::uuid`
  await db`update operation set finished_at = now() - interval '169 hours' where id = ${old.id}::uuid`
  await db`update operation set failures = 2000 where id = ${failed.id}::uuid`
  expect(await pruneOperationsOnce(db, { after: pruneStart })).toMatchObject({ resumptions: 4 })
  const told = await Promise.all([gone, moved, old, failed].map(({ id }) => whyItStays(id)))
  expect(told).toEqual([
    ['It does not come back. The machine is gone from its target.'],
    ['It does not come back. The machine was moved to another host.'],
    ['It does not come back. It could not come back for 7 days.'],
    ['It does not come back. It has failed 2000 times in a row.'],
  ])
  expect(await whyItStays(stays.id)).toEqual([])
  expect(await evictsOf(stays.machine)).toMatchObject([{ comeBackAt: expect.any(Date) }])
  expect(await evictsOf(gone.machine)).toMatchObject([{ comeBackAt: null }])
})

test('what was wanted last year moves nothing, also before anybody has ended the wish', async () => {
  const { machine, id } = await addWaiting()
  await db`update operation set finished_at = now() - interval '1 year' where id = ${id}::uuid`
  await resumeEvacuations(db, strictLog)
  expect(await evictsOf(machine)).toHaveLength(1)
})

test('a machine that is gone is removed in the end, whatever an evacuation wanted of it', async () => {
  const { machine, id } = await addWaiting()
  await db`update operation set finished_at = now() - interval '400 days' where machine_id = ${machine}::uuid`
  await db`update machine set gone_at = now() - interval '399 days' where id = ${machine}::uuid`
  await pruneOperationsOnce(db, { after: pruneStart })
  await pruneOperationsOnce(db, { after: pruneStart })
  expect(await db`select from operation where id = ${id}::uuid`).toHaveLength(0)
  expect(await db`select from machine where id = ${machine}::uuid`).toHaveLength(0)
})
