import { expect, test } from 'vitest'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { createInventoryWorker } from '../../support/inventory.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createOperatingWorld } from '../../support/operating.ts'

const world = await createOperatingWorld()
const { db, site, lab, target } = world
const { sync } = createInventoryWorker(db, openLab)
// All machines come to be known by the sync, as they would.
await sync('vc', { role: 'target', mode: 'full' })

const savedStatus = async (state: string): Promise<number> => (await site.call(`GET /saved/${state}`)).status
const byHand = (ref: string, verb: 'start' | 'stop') => site.done(`POST /instances/${ref}/power`, { verb })
const seen = async (machine: string) => {
  await sync('vc', { role: 'target', mode: 'full' })
  return world.row(machine)
}

/** A machine that was hibernated by an operation, and its saved state. */
const hibernated = async (ref: string) => {
  const [row] = await db<{ id: string }[]>`
    select id from machine where target_id = ${target.id}::uuid and ref = ${ref}`
  const machine = row?.id ?? ''
  expect(await world.done(machine, 'hibernate')).toMatchObject({ state: 'completed' })
  return { machine, state: (await world.row(machine)).savedState ?? '' }
}

/** It stops by hand: what would be woken now is memory of before it ran. */
const expectNothingToWake = async (machine: string, ref: string, state: string) => {
  expect(await world.row(machine)).toMatchObject({ savedState: null })
  await byHand(ref, 'stop')
  expect(await seen(machine)).toMatchObject({ power: 'off', savedState: null })
  await expect(world.ask(machine, 'wake')).rejects.toMatchObject({ code: 'not-for-phase' })
  await world.settleDebts()
  expect(await savedStatus(state)).toBe(404)
}

// promise: old-memory
test('a wake that finds its machine running lets go of the memory, and is refused', async () => {
  const { machine, state } = await hibernated('vm-101')
  await byHand('vm-101', 'start')
  expect(await world.done(machine, 'wake')).toMatchObject({ state: 'failed', reason: 'not-for-phase' })
  await expectNothingToWake(machine, 'vm-101', state)
})

test('a cold wake that is called off after its machine has started leaves no memory to wake from', async () => {
  const { machine, state } = await hibernated('vm-102')
  await world.pace(60)
  const wake = await world.ask(machine, 'wake', { params: { cold: true } })
  await world.turn(wake)
  await world.cancel(wake)
  const ending = world.finish(wake)
  await world.pace(0)
  await lab.pass(200_000)
  expect(await ending).toMatchObject({ state: 'canceled' })
  await expectNothingToWake(machine, 'vm-102', state)
})

test('a wake whose time is over when its machine runs leaves no memory to wake from', async () => {
  const { machine, state } = await hibernated('vm-103')
  await world.pace(60)
  const wake = await world.ask(machine, 'wake')
  await world.turn(wake)
  await db`update operation set deadline_at = now() where id = ${wake.id}::uuid`
  const ending = world.finish(wake)
  await world.pace(0)
  await lab.pass(200_000)
  expect(await ending).toMatchObject({ state: 'failed', reason: 'deadline-exceeded' })
  expect(await world.row(machine)).toMatchObject({ power: 'on' })
  await expectNothingToWake(machine, 'vm-103', state)
})

test('a machine that ran and is hibernated anew has its new memory alone', async () => {
  const { machine, state } = await hibernated('vm-104')
  await byHand('vm-104', 'start')
  await db`update machine set power = 'on' where id = ${machine}::uuid`
  expect(await world.done(machine, 'hibernate')).toMatchObject({ state: 'completed' })
  const { savedState: anew } = await world.row(machine)
  await world.settleDebts()
  expect(anew).not.toBe(state)
  expect([await savedStatus(state), await savedStatus(anew ?? '')]).toEqual([404, 200])
  expect(await world.row(machine)).toMatchObject({ power: 'off', savedState: anew })
})

// promise: old-memory
test('a sync lets go of the memory of a machine that runs, also when somebody else has noted that before', async () => {
  const { machine, state } = await hibernated('vm-105')
  await byHand('vm-105', 'start')
  await db`update machine set power = 'on' where id = ${machine}::uuid`
  expect(await seen(machine)).toMatchObject({ power: 'on', savedState: null })
  await expectNothingToWake(machine, 'vm-105', state)
})

test('the memory that a sync lets go of is owed by the sync, once', async () => {
  const { machine, state } = await hibernated('vm-106')
  await byHand('vm-106', 'start')
  await seen(machine)
  await seen(machine)
  const owing = await db<{ jobId: string; kind: string; state: string }[]>`
    select e.job_id, j.kind, e.state from effect e join job j on j.id = e.job_id where e.name = ${`stale/${state}`}`
  expect(owing).toMatchObject([{ kind: 'sync-target', state: 'debt' }])
  await world.settleDebts()
  expect(await effectsOf(db, owing[0]?.jobId ?? '')).toMatchObject([{ state: 'undone' }])
  await expectNothingToWake(machine, 'vm-106', state)
})

test('a sync during a wake leaves the memory to the wake', async () => {
  const { machine, state } = await hibernated('vm-107')
  await world.pace(60)
  const wake = await world.ask(machine, 'wake')
  await world.turn(wake)
  await db`update machine set power = 'on' where id = ${machine}::uuid`
  await sync('vc', { role: 'target', mode: 'full' })
  expect(await world.row(machine)).toMatchObject({ savedState: state })
  await world.pace(0)
  await lab.pass(200_000)
  expect(await world.finish(wake)).toMatchObject({ state: 'completed', result: { woken_from: state } })
  expect(await world.row(machine)).toMatchObject({ power: 'on', savedState: null })
  expect(await savedStatus(state)).toBe(404)
})
