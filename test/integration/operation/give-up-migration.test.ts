import { expect, test } from 'vitest'
import { queueMost } from '../../../src/domain/operation/admission/admit.ts'
import {
  type AskedOperation,
  askOperation,
  type OperationAsk,
} from '../../../src/operation/admission/ask-operation.ts'
import { rehearseOperation } from '../../../src/operation/admission/rehearse.ts'
import { handleOperateMachine } from '../../../workers/handlers/operate-machine.ts'
import { handlePowerInstance } from '../../../workers/handlers/power-instance.ts'
import { clientOf, depsOver } from '../../api/setup.ts'
import { createCopyWorker } from '../../support/copy-worker.ts'
import { createEntryWorld, entryOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)
const worker = createCopyWorker(world, undefined, undefined, [handlePowerInstance, handleOperateMachine])
const call = clientOf(depsOver(db))

/** An entry whose source is off on its account. */
const committed = async (ref: string) => {
  const { id } = await placeEntry(world, ref)
  const entry = await entryOf(db, id)
  await db`update instance set frozen_by = ${world.batch.name} where id = ${entry.instanceId}::uuid`
  await worker.finish(await sendTo(world, id, 'cutover-instance'))
  await db`update entry set state = 'post-import', stage = 'complete', job_id = null where id = ${id}::uuid`
  return entry
}

const stopOf = (machineId: string, force: boolean, onConflict: OperationAsk['onConflict']): OperationAsk => ({
  ...{ machineId, kind: 'stop', force, onConflict, params: {}, cause: 'person', by: 'ann' },
  ...{ deadlineSeconds: 60, waitSeconds: 600 },
})

const ask = (machineId: string, force: boolean, onConflict: OperationAsk['onConflict'] = 'supersede') =>
  db.begin((tx) => askOperation(tx, stopOf(machineId, force, onConflict))) as Promise<AskedOperation>

const power = (instance: string, json: object) => call('POST', `/v1/instances/${instance}/:power`, { json })

test('a stop of an instance in a committed migration is refused, and with force gives the migration up first', async () => {
  const { id, instanceId } = await committed('vm-101')
  const refused = await power(instanceId, { verb: 'stop' })
  expect([refused.status, refused.body.code]).toEqual([409, 'instance-not-actionable'])
  expect(refused.body.detail).toContain(world.batch.name)
  expect((await power(instanceId, { verb: 'shutdown', force: true })).status).toBe(409)
  expect(await entryOf(db, id)).toMatchObject({ state: 'post-import' })

  const asked = await power(instanceId, { verb: 'stop', force: true })
  expect(asked.status).toBe(202)
  const given = await entryOf(db, id)
  expect(given.state).toBe('canceled')
  // Who asks again hears of the same job, though the migration still holds the instance.
  const again = await power(instanceId, { verb: 'stop', force: true })
  expect(again.body).toMatchObject({ id: asked.body.id, existing: true })

  // The machine is left alone until the migration has put right what it left: then it goes off.
  expect(await worker.follow(asked.body.id)).toMatchObject({ state: 'waiting', waitReason: 'entry-lets-go' })
  expect((await worker.finish(given.jobId ?? '')).state).toBe('succeeded')
  expect(await powerOf(world.from, 'vm-101')).toBe('on')
  expect((await worker.finish(asked.body.id)).state).toBe('succeeded')
  expect(await powerOf(world.from, 'vm-101')).toBe('off')
})

// promise: stop-in-migration
test('a stop of a machine in a committed migration is refused, and with force gives the migration up first', async () => {
  const entry = await committed('vm-103')
  const machine = await addMachine(db, {
    ...{ targetId: world.target.id, ref: entry.machineRef ?? '', power: 'on' },
  })
  await db`update machine set entry_id = ${entry.id}::uuid where id = ${machine}::uuid`
  await expect(ask(machine, false)).rejects.toMatchObject({
    ...{ code: 'in-migration', detail: { blocker: entry.id } },
  })
  // One that is taken back, as a dry run is, gives nothing up.
  await db.begin(async (tx) => void (await rehearseOperation(tx, stopOf(machine, true, 'supersede'))))
  expect((await entryOf(db, entry.id)).state).toBe('post-import')
  const { operation, admission } = await ask(machine, true)
  expect(admission.cancelsEntry).toBe(entry.id)
  expect(operation).toMatchObject({ state: 'pending', jobId: expect.any(String) })
  const given = await entryOf(db, entry.id)
  expect(given).toMatchObject({ state: 'canceled', jobId: expect.any(String) })
  expect((await worker.finish(given.jobId ?? '')).state).toBe('succeeded')
  expect((await worker.finish(operation.jobId ?? '')).state).toBe('succeeded')
  expect(await powerOf(world.from, 'vm-103')).toBe('on')
  expect(await powerOf(world.to, entry.machineRef ?? '')).toBe('off')
})

test('a queue that is full is said to be', async () => {
  const machine = await addMachine(db, { power: 'on' })
  for (let asked = 0; asked <= queueMost; asked += 1) await ask(machine, false, 'queue')
  await expect(ask(machine, false, 'queue')).rejects.toMatchObject({ code: 'queue-full' })
})

// promise: stop-in-migration
test('where the stop cannot be asked for, the migration goes on', async () => {
  const { id, instanceId } = await committed('vm-102')
  await db`update site set connectivity = 'unknown' where id = ${world.source.id}::uuid`
  expect((await power(instanceId, { verb: 'stop', force: true })).status).toBe(409)
  expect(await entryOf(db, id)).toMatchObject({ state: 'post-import', jobId: null })
  await db`update site set connectivity = 'ok' where id = ${world.source.id}::uuid`
})
