import { afterEach, describe, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { actOnEntry } from '../../../src/migration/entry/entry-verbs.ts'
import { ownSnapshots } from '../../support/batch-world.ts'
import { checkEntries } from '../../support/copy-invariants.ts'
import { lookNow } from '../../support/drive-entry.ts'
import { entryOf, overlapsOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf, jobOf } from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'
import { expectUnderWay, setPace, whileTimePasses } from '../../support/slow-tasks.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to, worker } = world
await world.setBatch({ config: { guest_shutdown_limit: '5m', boot_limit: '5m' } })

afterEach(async () => {
  await lab.admin('DELETE /lab/faults')
  await setPace(lab, 0)
})

/** What the platform accepts meanwhile takes minutes. */
const slowly = async (work: () => Promise<unknown>) => {
  await setPace(lab, 200)
  await work()
  await setPace(lab, 0)
}

/** The guest has heard; it goes down minutes later. */
const hearsSlowly = async (ref: string) => {
  await lab.pass(25_000)
  expect(await powerOf(from, ref)).toBe('on')
  await expectUnderWay(lab, ref, 'guest-off')
}

/** One turn of a verification, which ends when the guest of a machine has heard that it is to go down. */
const askDown = (job: string, ref: string) =>
  slowly(async () => {
    await worker.follow(job)
    await hearsSlowly(ref)
  })

/** One turn of a cutover, which is cut while it waits for the guest that was asked to go down. */
const cutWhileAsking = async (job: string, ref: string, meanwhile = async () => {}) => {
  const turn = worker.follow(job)
  await until(async () => (await effectsOf(db, job)).some(({ state }) => state === 'done'), {
    what: 'the guest to be asked',
    withinMs: 60_000,
  })
  await meanwhile()
  const lost = { kind: 'error', call: 'power', site: 'vcenter', machine: ref, code: 'platform-unreachable' }
  await lab.admin('POST /lab/faults', lost)
  expect(await turn).toMatchObject({ state: 'ready', error: { code: 'platform-unreachable' } })
  await lab.admin('DELETE /lab/faults')
}

/** A verification up to the start of its target, which the platform has accepted and does not get done. */
const startSlowly = async (id: string, machine: string | null): Promise<string> => {
  const job = await sendTo(world, id, 'final-verify')
  const start = { call: 'start', site: 'cloud', machine, kind: 'error' }
  await lab.admin('POST /lab/faults', { ...start, code: 'platform-unreachable', times: 1 })
  // Everything before the start is quick.
  expect(await worker.follow(job)).toMatchObject({ state: 'ready' })
  await slowly(() => worker.follow(job))
  await expectUnderWay(lab, machine ?? '', 'start')
  return job
}

const callOff = (job: string) => requestCancel(db, job, { by: 'test', reason: 'called off' })

const cancel = (id: string) =>
  db.begin((tx) => actOnEntry(tx as Tx, { id, by: 'test', verb: 'cancel', force: true, cleanup: false }))

const withdrawalOf = async (id: string): Promise<string> => {
  for (let turns = 0; turns < 5; turns += 1) {
    await lookNow(world)
    const { jobId } = await entryOf(db, id)
    if (jobId !== null && (await jobOf(db, jobId)).kind === 'withdraw-entry') return jobId
  }
  throw new Error(`Nobody withdraws entry ${id}.`)
}

/** The source runs and goes on running, the copy is off and stays off, and nothing is owed. */
const expectGivenBack = async (id: string, ref: string, machine: string | null) => {
  await lab.pass(3_600_000)
  expect(await powerOf(from, ref)).toBe('on')
  expect(await powerOf(to, machine ?? '')).toBe('off')
  expect(await overlapsOf(lab)).toEqual([])
  expect(await ownSnapshots(world)).toEqual([])
  expect((await entryOf(db, id)).sourceStoppedAt).toBeNull()
  expect(await checkEntries(world)).toEqual([])
}

describe('a source that was asked to go down and has not yet', () => {
  // promise: source-given-back
  test('is started when it has gone, by the undo of the cutover', async () => {
    const { id, machineRef } = await placeEntry(world, 'vm-101')
    const job = await sendTo(world, id, 'cutover-instance')
    await slowly(() => cutWhileAsking(job, 'vm-101', () => hearsSlowly('vm-101')))
    await cancel(id)
    const ended = await whileTimePasses(lab, ['power'], () => worker.follow(job))
    expect(ended).toMatchObject({ state: 'canceled' })
    expect((await effectsOf(db, job)).map(({ state }) => state)).toEqual(['undone'])
    expect(await powerOf(from, 'vm-101')).toBe('on')
    await worker.finish(await withdrawalOf(id))
    await expectGivenBack(id, 'vm-101', machineRef)
  })

  test('is waited for by the withdrawal of a verification that had asked it', async () => {
    const { id, machineRef } = await world.ready('vm-102')
    await from.done('POST /instances/vm-102/power', { verb: 'start' })
    await lab.pass(60_000)
    const job = await sendTo(world, id, 'final-verify')
    await askDown(job, 'vm-102')
    await cancel(id)
    expect(await worker.follow(job)).toMatchObject({ state: 'canceled' })
    const withdrawal = await withdrawalOf(id)
    expect(await worker.follow(withdrawal)).toMatchObject({
      state: 'waiting',
      waitDetail: 'Waits for the guest that was asked to shut itself down.',
    })
    expect(await powerOf(from, 'vm-102')).toBe('on')
    expect((await entryOf(db, id)).sourceStoppedAt).not.toBeNull()
    await lab.pass(3_600_000)
    expect(await powerOf(from, 'vm-102')).toBe('off')
    expect(await worker.finish(withdrawal)).toMatchObject({ result: { source: 'started' } })
    await expectGivenBack(id, 'vm-102', machineRef)
  })

  test('and never goes is left running when its time has passed', async () => {
    await world.setBatch({ config: { guest_shutdown_limit: '10s', boot_limit: '5m' } })
    const { id, machineRef } = await placeEntry(world, 'vm-210')
    const job = await sendTo(world, id, 'cutover-instance')
    await cutWhileAsking(job, 'vm-210')
    expect(await powerOf(from, 'vm-210')).toBe('on')
    await cancel(id)
    expect(await worker.follow(job)).toMatchObject({ state: 'canceled' })
    expect((await effectsOf(db, job)).map(({ state }) => state)).toEqual(['debt'])
    expect(await worker.finish(await withdrawalOf(id))).toMatchObject({ result: { source: 'started' } })
    await expectGivenBack(id, 'vm-210', machineRef)
    await world.setBatch({ config: { guest_shutdown_limit: '5m', boot_limit: '5m' } })
  })

  test('is seen through by the withdrawal when the undo could not wait', async () => {
    const { id, machineRef } = await placeEntry(world, 'vm-103')
    const job = await sendTo(world, id, 'cutover-instance')
    await slowly(() => cutWhileAsking(job, 'vm-103', () => hearsSlowly('vm-103')))
    await lab.admin('POST /lab/faults', { kind: 'error', call: 'power', site: 'vcenter', machine: 'vm-103' })
    await cancel(id)
    expect(await worker.follow(job)).toMatchObject({ state: 'canceled' })
    await lab.admin('DELETE /lab/faults')
    expect((await effectsOf(db, job)).map(({ state }) => state)).toEqual(['debt'])
    const withdrawal = await withdrawalOf(id)
    expect(await worker.follow(withdrawal)).toMatchObject({ state: 'waiting' })
    await lab.pass(3_600_000)
    expect(await worker.finish(withdrawal)).toMatchObject({ result: { source: 'started' } })
    await expectGivenBack(id, 'vm-103', machineRef)
  })
})

describe('a target whose start was accepted and has not come', () => {
  // promise: one-copy
  test('is waited for and switched off by the undo, before its source is started', async () => {
    const { id, machineRef } = await world.ready('vm-104')
    const job = await startSlowly(id, machineRef)
    await cancel(id)
    const ended = await whileTimePasses(lab, ['task', 'tasks'], () => worker.follow(job))
    expect(ended).toMatchObject({ state: 'canceled' })
    expect((await effectsOf(db, job)).map(({ state }) => state)).not.toContain('debt')
    expect(await powerOf(to, machineRef ?? '')).toBe('off')
    await worker.finish(await withdrawalOf(id))
    await expectGivenBack(id, 'vm-104', machineRef)
  })

  test('keeps the withdrawal waiting, and the source off, until it has', async () => {
    const { id, machineRef } = await world.ready('vm-106')
    const job = await startSlowly(id, machineRef)
    await lab.admin('POST /lab/faults', { kind: 'error', call: 'find-owned', site: 'cloud' })
    await cancel(id)
    expect(await worker.follow(job)).toMatchObject({ state: 'canceled' })
    await lab.admin('DELETE /lab/faults')
    expect((await effectsOf(db, job)).map(({ state }) => state)).toContain('debt')
    const withdrawal = await withdrawalOf(id)
    expect(await worker.follow(withdrawal)).toMatchObject({
      state: 'waiting',
      waitDetail: 'Waits for a start of our copy that the target is still at.',
    })
    expect(await powerOf(from, 'vm-106')).toBe('off')
    await lab.pass(3_600_000)
    expect(await powerOf(to, machineRef ?? '')).toBe('on')
    expect(await worker.finish(withdrawal)).toMatchObject({ result: { source: 'started' } })
    await expectGivenBack(id, 'vm-106', machineRef)
  })

  test('of which no answer came is found by its name', async () => {
    const { id, machineRef } = await world.ready('vm-107')
    const start = { call: 'start', site: 'cloud', machine: machineRef }
    await lab.admin('POST /lab/faults', { ...start, kind: 'lost-answer', skip: 1 })
    const job = await startSlowly(id, machineRef)
    await lab.admin('DELETE /lab/faults')
    const begun = (await effectsOf(db, job)).filter(({ kind }) => kind === 'target-start')
    expect(begun.map(({ externalId }) => externalId)).toEqual([null])
    await cancel(id)
    const ended = await whileTimePasses(lab, ['task', 'tasks'], () => worker.follow(job))
    expect(ended).toMatchObject({ state: 'canceled' })
    expect(await powerOf(to, machineRef ?? '')).toBe('off')
    await worker.finish(await withdrawalOf(id))
    await expectGivenBack(id, 'vm-107', machineRef)
  })
})

test('a snapshot that is still being made when its copy is called off is removed when it is there', async () => {
  const { id } = await placeEntry(world, 'vm-109')
  const job = await sendTo(world, id, 'import-instance')
  const snapshot = { call: 'snapshot-create', site: 'vcenter', machine: 'vm-109' }
  await lab.admin('POST /lab/faults', { ...snapshot, kind: 'lost-answer' })
  await slowly(() => worker.follow(job))
  await lab.admin('DELETE /lab/faults')
  await expectUnderWay(lab, 'vm-109', 'snapshot-create')
  await callOff(job)
  const ended = await whileTimePasses(lab, ['task', 'tasks'], () => worker.follow(job))
  expect(ended).toMatchObject({ state: 'canceled' })
  expect((await effectsOf(db, job)).map(({ state }) => state)).toEqual(['undone'])
  expect(await ownSnapshots(world)).toEqual([])
})
