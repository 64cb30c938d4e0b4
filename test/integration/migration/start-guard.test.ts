import { expect, test } from 'vitest'
import { askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { handleOperateMachine } from '../../../workers/handlers/operate-machine.ts'
import { handlePowerInstance } from '../../../workers/handlers/power-instance.ts'
import { createEntryWorker, entryOf, overlapsOf, powerOf } from '../../support/entry-world.ts'
import { instanceOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { addOne, jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { use } = world.inventory
const worker = createEntryWorker(db, [handlePowerInstance, handleOperateMachine], use)

/** A machine that was migrated, certified and runs on the target. */
const migrated = async (ref: string) => {
  const entry = await world.ready(ref)
  const job = await world.verify(entry.id)
  expect(job).toMatchObject({ state: 'succeeded' })
  return entryOf(db, entry.id)
}

/** What a person has done to the source, past the API: the job as it is stored. */
const power = async (ref: string, verb: 'start' | 'restart' | 'stop') => {
  const { id } = await instanceOf(db, 'vc', ref)
  const payload = { instance: id, verb, force: true }
  return worker.finish(
    await addOne(db, { kind: 'power-instance', payload, subject: { type: 'instance', id } }),
  )
}

const ask = async (machineRef: string | null, kind: 'start' | 'restart' | 'wake' | 'stop') => {
  const [machine] = await db<{ id: string }[]>`select id from machine where ref = ${machineRef}`
  return db.begin((tx) =>
    askOperation(tx, {
      ...{ machineId: machine?.id ?? '', kind, force: kind !== 'start', params: {}, onConflict: 'reject' },
      ...{ cause: 'person', by: 'ann', deadlineSeconds: 60, waitSeconds: 60 },
    }),
  )
}

/** As if a person had tidied away all that says what became of it. */
const forget = async (entryId: string, ...what: readonly ('machine' | 'certificate')[]) => {
  await db`delete from entry where id = ${entryId}::uuid`
  for (const one of what) await db`delete from ${db(one)} where entry_id = ${entryId}::uuid`
}

// promise: one-copy
test.each([
  ['nothing but its entry', []],
  ['its entry and the row of its machine', ['machine']],
  ['its entry and its certificate', ['certificate']],
] as const)(
  'a migrated machine stays off at its source when somebody has tidied away %s',
  async (_what, rows) => {
    const ref =
      { 0: 'vm-101', 1: 'vm-102', 2: 'vm-103' }[['', 'machine', 'certificate'].indexOf(rows[0] ?? '')] ?? ''
    const entry = await migrated(ref)
    expect(await powerOf(world.to, entry.machineRef ?? '')).toBe('on')
    await forget(entry.id, ...rows)
    for (const verb of ['start', 'restart'] as const) {
      const job = await power(ref, verb)
      expect(job).toMatchObject({ state: 'failed', error: { code: 'migrated' } })
      expect(job.error?.message).toContain(entry.machineRef)
    }
    expect(await powerOf(world.from, ref)).toBe('off')
    expect(await overlapsOf(lab)).toEqual([])
  },
)

test('it stays off also by the UUID alone, which a sync of the target has seen running', async () => {
  const entry = await migrated('vm-104')
  await forget(entry.id, 'machine', 'certificate')
  await world.inventory.sync('cloud', { role: 'target' })
  const job = await power('vm-104', 'start')
  expect(job).toMatchObject({ state: 'failed', error: { code: 'runs-elsewhere' } })
  expect(await overlapsOf(lab)).toEqual([])
})

test('once its copy is gone from the target it may be started again', async () => {
  const entry = await migrated('vm-105')
  await forget(entry.id)
  await world.to.done(`POST /instances/${entry.machineRef}/power`, { verb: 'stop' })
  await world.to.done(`DELETE /instances/${entry.machineRef}`)
  expect(await power('vm-105', 'start')).toMatchObject({ state: 'succeeded' })
  expect(await powerOf(world.from, 'vm-105')).toBe('on')
})

test('a copy that a sync has missed is looked for once more before its source is started', async () => {
  const entry = await migrated('vm-110')
  await forget(entry.id)
  await db`update machine set gone_at = now() where ref = ${entry.machineRef}`
  expect(await power('vm-110', 'start')).toMatchObject({ state: 'failed', error: { code: 'migrated' } })
  expect(await powerOf(world.from, 'vm-110')).toBe('off')
  expect(await overlapsOf(lab)).toEqual([])
})

test('a certificate says nothing of a machine whose place is now that of the copy of another', async () => {
  const entry = await migrated('vm-112')
  const other = await migrated('vm-111')
  await forget(entry.id, 'machine')
  await world.to.call(`POST /instances/${entry.machineRef}/power`, { verb: 'stop' })
  await world.to.done(`DELETE /instances/${entry.machineRef}`)
  await db`
    update certificate set document = jsonb_set(document, '{target,machine}', to_jsonb(${other.machineRef}::text))
    where entry_id = ${entry.id}::uuid`
  expect(await power('vm-112', 'start')).toMatchObject({ state: 'succeeded' })
  expect(await power('vm-111', 'start')).toMatchObject({ state: 'failed', error: { code: 'migrated' } })
  expect(await overlapsOf(lab)).toEqual([])
})

test('while the target does not answer nobody can tell, so it is not started', async () => {
  const entry = await migrated('vm-106')
  await forget(entry.id, 'certificate')
  await db`update machine set origin = 'adopted', power = 'off' where ref = ${entry.machineRef}`
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', call: 'power', site: 'cloud', code: 'platform-unreachable', failure: 'unknown' },
  })
  const { id } = await instanceOf(db, 'vc', 'vm-106')
  const payload = { instance: id, verb: 'start' }
  const job = await addOne(db, { kind: 'power-instance', payload, subject: { type: 'instance', id } })
  expect(await worker.follow(job)).toMatchObject({ state: 'ready', environmentAttempt: 1 })
  expect((await jobOf(db, job)).error).toMatchObject({ code: 'twin-unknown' })
  expect(await powerOf(world.from, 'vm-106')).toBe('off')
  await lab.admin('DELETE /lab/faults')
  await worker.finish(job)
  expect(await overlapsOf(lab)).toEqual([])
})

test('a verified copy starts and restarts although the platform of its source is switched off for good', async () => {
  const entry = await migrated('vm-107')
  await db`update site set connectivity = 'cannot-connect' where name = 'vc'`
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', call: 'power', site: 'vcenter', code: 'platform-unreachable', failure: 'unknown' },
  })
  const { operation } = await ask(entry.machineRef, 'restart')
  expect(await worker.finish(operation.jobId ?? '')).toMatchObject({ state: 'succeeded' })
  await lab.admin('DELETE /lab/faults')
  await db`update site set connectivity = 'ok' where name = 'vc'`
})

test('a verified copy is not started beside a source that somebody has started', async () => {
  const entry = await migrated('vm-108')
  await world.to.done(`POST /instances/${entry.machineRef}/power`, { verb: 'stop' })
  await world.inventory.sync('cloud', { role: 'target' })
  await world.from.done('POST /instances/vm-108/power', { verb: 'start' })
  const { operation } = await ask(entry.machineRef, 'start')
  expect(await worker.finish(operation.jobId ?? '')).toMatchObject({
    ...{ state: 'failed', error: { code: 'runs-elsewhere' } },
  })
  expect(await powerOf(world.to, entry.machineRef ?? '')).toBe('off')
  expect(await overlapsOf(lab)).toEqual([])
})

// promise: one-copy
test("a copy that was not verified is nobody else's machine, and nobody starts it beside its source", async () => {
  const entry = await world.ready('vm-109')
  await world.inventory.sync('cloud', { role: 'target' })
  await db`update entry set state = 'canceled', source_stopped_at = null, job_id = null where id = ${entry.id}::uuid`
  await forget(entry.id)
  await world.inventory.sync('cloud', { role: 'target' })
  const [machine] = await db`select origin, instance_id from machine where ref = ${entry.machineRef}`
  expect(machine).toMatchObject({ origin: 'copy', instanceId: entry.instanceId })
  for (const kind of ['start', 'restart', 'wake'] as const)
    await expect(ask(entry.machineRef, kind)).rejects.toMatchObject({ code: 'unproven-copy' })
  expect(await power('vm-109', 'start')).toMatchObject({ state: 'succeeded' })
  await expect(ask(entry.machineRef, 'start')).rejects.toMatchObject({ code: 'unproven-copy' })
  expect(await overlapsOf(lab)).toEqual([])
})
