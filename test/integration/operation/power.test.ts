import { expect, test } from 'vitest'
import { findOperation } from '../../../db/queries/operations/operation-rows.ts'
import type { OperationVariant } from '../../../src/domain/operation/kinds/kinds.ts'
import { type AskedOperation, askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { cancelOperation } from '../../../src/operation/admission/cancel-operation.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { handleOperateMachine } from '../../../workers/handlers/operate-machine.ts'
import { createEntryWorker } from '../../support/entry-world.ts'
import { createInventoryWorker, makeSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { strictLog } from '../../support/strict-log.ts'

const { db } = await createDatabase()
const lab = await createLab()
const site = await lab.signIn('vcenter')
const target = await makeSite(db, {
  ...{ role: 'target', name: 'vc', connectivity: 'ok', quiet: true },
  ...{ endpoint: lab.endpoint('vcenter'), password: lab.password },
})
const { use } = createInventoryWorker(db, openLab)
const worker = createEntryWorker(db, [handleOperateMachine], use)

const powerOf = async (ref: string): Promise<string> =>
  ((await site.call(`GET /instances/${ref}/power`)).json as { state: string }).state

const startsAsked = async (ref: string): Promise<number> => {
  const { json } = await lab.admin(`GET /lab/calls?call=start&machine=${ref}`)
  return (json as { calls: unknown[] }).calls.length
}

const startTasks = async (ref: string): Promise<string[]> => {
  const { tasks } = (await site.call(`GET /tasks?machine=${ref}`)).json as { tasks: { kind: string }[] }
  return tasks.map(({ kind }) => kind).filter((kind) => kind === 'start')
}

const ask = (
  machineId: string,
  { kind, force }: OperationVariant,
  onConflict: 'supersede' | 'queue' = 'supersede',
) =>
  db.begin((tx) =>
    askOperation(tx, {
      ...{ machineId, kind, force, onConflict, params: {}, cause: 'person', by: 'test' },
      ...{ deadlineSeconds: 60, waitSeconds: 3_600 },
    }),
  ) as Promise<AskedOperation>

const machineOf = (ref: string, power: 'on' | 'off') => addMachine(db, { targetId: target.id, ref, power })
const jobOf = ({ operation }: AskedOperation): string => operation.jobId ?? ''

test('a stop switches the machine off, and its row says so', async () => {
  const machine = await machineOf('vm-101', 'on')
  const asked = await ask(machine, { kind: 'stop', force: true })
  await worker.finish(jobOf(asked))
  expect(await powerOf('vm-101')).toBe('off')
  expect(await findOperation(db, asked.operation.id)).toMatchObject({
    ...{ state: 'completed', reason: 'completed', progress: 100 },
    settledAt: expect.any(Date),
  })
  const [row] = await db`select power from machine where id = ${machine}::uuid`
  expect(row?.power).toBe('off')
})

test('the next in the queue has its turn when the one before it has ended', async () => {
  const machine = await machineOf('vm-102', 'on')
  const first = await ask(machine, { kind: 'stop', force: true })
  const second = await ask(machine, { kind: 'start', force: false }, 'queue')
  await worker.finish(jobOf(first))
  const promoted = await findOperation(db, second.operation.id)
  expect(promoted).toMatchObject({ state: 'pending', jobId: expect.any(String) })
  await worker.finish(promoted?.jobId ?? '')
  expect(await powerOf('vm-102')).toBe('on')
})

// promise: chains
test('a start that its host has no room for gives way to a stop, and the machine stays off', async () => {
  await site.done('POST /instances/vm-103/power', { verb: 'stop' })
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', code: 'platform-no-capacity', call: 'start', machine: 'vm-103' },
  })
  const machine = await machineOf('vm-103', 'off')
  const start = await ask(machine, { kind: 'start', force: false })
  expect((await worker.follow(jobOf(start))).state).not.toBe('succeeded')
  const stop = await ask(machine, { kind: 'stop', force: false })
  await lab.admin('DELETE /lab/faults')
  // The start's own job is called off before the stop acts.
  const early = await worker.follow(jobOf(stop))
  expect(early).toMatchObject({ state: 'waiting', waitReason: 'awaiting-older' })
  const asked = await startsAsked('vm-103')
  expect(asked).toBeGreaterThan(0)
  await worker.finish(jobOf(start))
  await worker.finish(jobOf(stop))
  // It was off before as well: what proves it is that nobody has asked for a start again, and that none was taken on.
  expect(await startsAsked('vm-103')).toBe(asked)
  expect(await startTasks('vm-103')).toEqual([])
  expect(await effectsOf(db, jobOf(start))).toMatchObject([{ kind: 'operation-power', state: 'undone' }])
  expect(await powerOf('vm-103')).toBe('off')
  expect(await findOperation(db, start.operation.id)).toMatchObject({
    state: 'superseded',
    supersededBy: stop.operation.id,
    settledAt: expect.any(Date),
  })
  expect(await findOperation(db, stop.operation.id)).toMatchObject({ state: 'completed' })
})

// promise: chains
test('a stop by force takes the place of one whose guest does not hear', async () => {
  await lab.admin('PATCH /lab/sites/vcenter/instances/vm-105', { shutdown: 'hangs' })
  const machine = await machineOf('vm-105', 'on')
  const polite = await ask(machine, { kind: 'stop', force: false })
  expect((await worker.follow(jobOf(polite))).state).toBe('waiting')
  const plug = await ask(machine, { kind: 'stop', force: true })
  await worker.finish(jobOf(polite))
  await worker.finish(jobOf(plug))
  expect(await powerOf('vm-105')).toBe('off')
  expect(await findOperation(db, polite.operation.id)).toMatchObject({ state: 'superseded' })
})

test('a restart by force takes the place of one whose guest does not hear, and the machine is restarted once', async () => {
  await lab.admin('PATCH /lab/sites/vcenter/instances/vm-110', { shutdown: 'hangs' })
  const machine = await machineOf('vm-110', 'on')
  const bootOf = async () =>
    ((await site.call('GET /instances/vm-110/power')).json as { boot_id: string }).boot_id
  const before = await bootOf()
  const polite = await ask(machine, { kind: 'restart', force: false })
  expect(await worker.follow(jobOf(polite))).toMatchObject({
    state: 'waiting',
    waitReason: 'waiting-for-guest',
  })
  expect(await bootOf()).toBe(before)
  const plug = await ask(machine, { kind: 'restart', force: true })
  await worker.finish(jobOf(polite))
  await worker.finish(jobOf(plug))
  expect(await powerOf('vm-110')).toBe('on')
  expect(await bootOf()).not.toBe(before)
  expect(await findOperation(db, polite.operation.id)).toMatchObject({
    state: 'superseded',
    supersededBy: plug.operation.id,
    settledAt: expect.any(Date),
  })
  expect(await findOperation(db, plug.operation.id)).toMatchObject({ state: 'completed' })
  const { json } = await site.call('GET /tasks?machine=vm-110')
  const ends = (json as { tasks: { kind: string }[] }).tasks.filter(({ kind }) => kind !== 'shutdown')
  expect(ends).toMatchObject([{ kind: 'restart', state: 'succeeded' }])
})

test('one that its job could not do fails, with why, and lets the next one have its turn', async () => {
  await lab.admin('POST /lab/faults', {
    ...{
      kind: 'error',
      code: 'platform-unsupported',
      failure: 'unsupported',
      call: 'stop',
      machine: 'vm-106',
    },
  })
  const machine = await machineOf('vm-106', 'on')
  const stop = await ask(machine, { kind: 'stop', force: true })
  const next = await ask(machine, { kind: 'restart', force: true }, 'queue')
  const job = await worker.finish(jobOf(stop))
  expect(job.state).toBe('failed')
  await tickOperations(db, strictLog)
  expect(await findOperation(db, stop.operation.id)).toMatchObject({
    ...{ state: 'failed', reason: 'failed', error: expect.objectContaining({ code: expect.any(String) }) },
  })
  expect(await findOperation(db, next.operation.id)).toMatchObject({ state: 'pending' })
  await lab.admin('DELETE /lab/faults')
})

// promise: bounded-wait
test('who waits in vain ends in time, and nothing is left of it', async () => {
  const machine = await machineOf('vm-107', 'on')
  await ask(machine, { kind: 'snapshot', force: false })
  const queued = await ask(machine, { kind: 'stop', force: false }, 'queue')
  await db`update operation set expires_at = now() where id = ${queued.operation.id}::uuid`
  await tickOperations(db, strictLog)
  expect(await findOperation(db, queued.operation.id)).toMatchObject({
    state: 'failed',
    reason: 'wait-expired',
  })
})

test('a person gives one up before it began, and the next has its turn at once', async () => {
  const machine = await machineOf('vm-108', 'on')
  const first = await ask(machine, { kind: 'stop', force: false })
  const next = await ask(machine, { kind: 'restart', force: true }, 'queue')
  const { operation } = (await db.begin((tx) =>
    cancelOperation(tx, { id: first.operation.id, by: 'test' }),
  )) as Awaited<ReturnType<typeof cancelOperation>>
  expect(operation).toMatchObject({ state: 'canceled', settledAt: expect.any(Date) })
  expect(await findOperation(db, next.operation.id)).toMatchObject({ state: 'pending' })
  expect(await powerOf('vm-108')).toBe('on')
})
