import { expect, test } from 'vitest'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { createOperatingWorld } from '../../support/operating.ts'
import { strictLog } from '../../support/strict-log.ts'

const world = await createOperatingWorld()
const { db, site, lab } = world

const snapshot = async (ref: string, name: string): Promise<string> =>
  (await site.done(`POST /instances/${ref}/snapshots`, { name, memory: false, quiesce: false })).result ?? ''

test('a machine that ran is brought back and runs again', async () => {
  const made = await snapshot('vm-101', 'before')
  const before = await world.power('vm-101')
  const machine = await world.machine('vm-101')
  const operation = await world.done(machine, 'restore', { params: { snapshot: 'before' } })
  expect(operation).toMatchObject({
    ...{ state: 'completed', pastReturn: true },
    result: { snapshot: made, name: 'before', was: 'on', power: 'on' },
  })
  expect(await world.tasks('vm-101', 'snapshot-revert')).toHaveLength(1)
  const after = await world.power('vm-101')
  expect(after.state).toBe('on')
  expect(after.boot_id).not.toBe(before.boot_id)
  expect(await world.row(machine)).toMatchObject({ power: 'on' })
})

test('one that was off stays off, and a snapshot is found by its ref too', async () => {
  await site.done('POST /instances/vm-102/power', { verb: 'stop' })
  const made = await snapshot('vm-102', 'cold')
  const machine = await world.machine('vm-102', 'off')
  expect(await world.done(machine, 'restore', { params: { snapshot: made } })).toMatchObject({
    ...{ state: 'completed', result: { snapshot: made, was: 'off', power: 'off' } },
  })
  expect((await world.power('vm-102')).state).toBe('off')
})

test('a name that several have is refused with their refs, and nothing is touched', async () => {
  const refs = [await snapshot('vm-103', 'twice'), await snapshot('vm-103', 'twice')]
  const machine = await world.machine('vm-103')
  const operation = await world.done(machine, 'restore', { params: { snapshot: 'twice' } })
  expect(operation).toMatchObject({ state: 'failed', reason: 'snapshot-ambiguous', pastReturn: false })
  for (const ref of refs) expect(operation.message).toContain(ref)
  expect(operation.error?.detail).toMatchObject({ snapshots: expect.arrayContaining(refs) })
  expect(await world.tasks('vm-103', 'snapshot-revert')).toEqual([])
})

test('one that the machine does not have is refused with those that it has', async () => {
  await snapshot('vm-104', 'there')
  const machine = await world.machine('vm-104')
  const operation = await world.done(machine, 'restore', { params: { snapshot: 'absent' } })
  expect(operation).toMatchObject({ state: 'failed', reason: 'snapshot-absent' })
  expect(operation.message).toContain('"there"')
})

test('a lost answer does not bring it back twice', async () => {
  await snapshot('vm-105', 'once')
  const machine = await world.machine('vm-105')
  await world.fault({ kind: 'lost-answer', call: 'snapshot-revert', machine: 'vm-105', times: 1 })
  const operation = await world.done(machine, 'restore', { params: { snapshot: 'once' } })
  expect(operation).toMatchObject({ state: 'completed', result: { power: 'on' } })
  expect(await world.tasks('vm-105', 'snapshot-revert')).toHaveLength(1)
})

test('once it was asked for nobody can take it back', async () => {
  await snapshot('vm-106', 'far')
  const machine = await world.machine('vm-106')
  await world.pace(60)
  const asked = await world.ask(machine, 'restore', { params: { snapshot: 'far' } })
  expect(await world.turn(asked)).toMatchObject({ state: 'running', pastReturn: true })
  await expect(world.cancel(asked)).rejects.toMatchObject({ code: 'past-return' })
  await world.pace(0)
  await lab.pass(120_000)
  expect(await world.finish(asked)).toMatchObject({ state: 'completed' })
})

test('one that no host has room for afterwards waits for room, and then runs', async () => {
  await snapshot('vm-107', 'room')
  const machine = await world.machine('vm-107')
  await world.fault({
    ...{ kind: 'error', code: 'platform-no-capacity', failure: 'refused', call: 'start', machine: 'vm-107' },
  })
  const asked = await world.ask(machine, 'restore', { params: { snapshot: 'room' } })
  const waiting = await world.turn(asked)
  expect(waiting).toMatchObject({ state: 'running', reason: 'host-full' })
  expect(await world.row(machine)).toMatchObject({ power: 'off' })
  await world.clearFaults()
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', result: { was: 'on', power: 'on' } })
  expect(await world.tasks('vm-107', 'snapshot-revert')).toHaveLength(1)
})

test('a deadline that passes in its middle ends it, and what it began is waited for first', async () => {
  await snapshot('vm-108', 'late')
  const machine = await world.machine('vm-108')
  await world.pace(60)
  const asked = await world.ask(machine, 'restore', { params: { snapshot: 'late' } })
  await world.turn(asked)
  await db`update operation set deadline_at = now() where id = ${asked.id}::uuid`
  const ending = world.finish(asked)
  await world.pace(0)
  await lab.pass(120_000)
  const ended = await ending
  expect(ended).toMatchObject({ state: 'failed', reason: 'deadline-exceeded', settledAt: expect.any(Date) })
  expect(ended.message).toContain('"late"')
  expect(await world.tasks('vm-108', 'snapshot-revert')).toMatchObject([{ state: 'succeeded' }])
})

test('a hibernated machine keeps its disks as its memory knows them', async () => {
  await snapshot('vm-109', 'torn')
  const machine = await world.machine('vm-109')
  const hibernate = await world.ask(machine, 'hibernate')
  const restore = await world.ask(machine, 'restore', { params: { snapshot: 'torn' }, onConflict: 'queue' })
  expect(await world.finish(hibernate)).toMatchObject({ state: 'completed' })
  expect(await world.finish(restore)).toMatchObject({ state: 'failed', reason: 'not-for-phase' })
  expect(await world.tasks('vm-109', 'snapshot-revert')).toEqual([])
})

/** Its memory is gone with the revert, and then there is no room to start it. */
const findNoRoom = async (ref: string) => {
  await snapshot(ref, 'before')
  const machine = await world.machine(ref)
  await world.fault({
    kind: 'error',
    code: 'platform-no-capacity',
    failure: 'refused',
    call: 'start',
    machine: ref,
  })
  const restore = await world.ask(machine, 'restore', { params: { snapshot: 'before' } })
  expect(await world.turn(restore)).toMatchObject({ state: 'running', reason: 'host-full' })
  return { machine, restore }
}

/** There is none until its time is over. */
const strand = async (ref: string) => {
  const { machine, restore } = await findNoRoom(ref)
  await db`update operation set deadline_at = now() where id = ${restore.id}::uuid`
  expect(await world.finish(restore)).toMatchObject({ state: 'failed', settledAt: null })
  expect((await world.power(ref)).state).toBe('off')
  await world.clearFaults()
  return { machine, restore }
}

const unused = ['vm-110', 'vm-202', 'vm-206']
const nextRef = (): string => unused.shift() ?? ''

const settle = async () => {
  await db`update effect set next_try_at = now() - interval '1 second' where state = 'debt'`
  await world.settleDebts()
  await tickOperations(db, strictLog)
}

test('a machine that ran and could not be started again in time is started as soon as there is room', async () => {
  const { machine, restore } = await strand('vm-111')
  await settle()
  expect((await world.power('vm-111')).state).toBe('on')
  expect(await world.row(machine)).toMatchObject({ power: 'on' })
  expect(await world.operation(restore.id)).toMatchObject({ state: 'failed', settledAt: expect.any(Date) })
})

test('a machine that ran is not started again when its run policy has it off by then', async () => {
  const { machine } = await strand('vm-207')
  await db`update machine set run_policy = 'always-off' where id = ${machine}::uuid`
  await settle()
  expect((await world.power('vm-207')).state).toBe('off')
})

test.each([
  ['a snapshot', 'snapshot', true],
  ['another restore', 'restore', true],
  ['a stop', 'stop', false],
] as const)(
  '%s that waits behind a restore decides about the machine only when it is about its power',
  async (_what, kind, starts) => {
    const ref = nextRef()
    const { machine, restore } = await findNoRoom(ref)
    const params = kind === 'restore' ? { snapshot: 'before' } : {}
    await world.ask(machine, kind, { onConflict: 'queue', params })
    await db`update operation set deadline_at = now() where id = ${restore.id}::uuid`
    await world.finish(restore)
    await world.clearFaults()
    await settle()
    expect((await world.power(ref)).state).toBe(starts ? 'on' : 'off')
  },
)

// promise: lost-answer
test('one whose task the platform has forgotten is not done again, and what ran is started again', async () => {
  const ref = 'vm-209'
  await snapshot(ref, 'before')
  const machine = await world.machine(ref)
  await world.pace(60)
  const restore = await world.ask(machine, 'restore', { params: { snapshot: 'before' } })
  expect(await world.turn(restore)).toMatchObject({ state: 'running', reason: 'in-progress' })
  await lab.pass(60_000)
  await world.pace(0)
  expect((await world.power(ref)).state).toBe('off')
  await lab.database.db`delete from lab.task where machine = ${ref} and kind = 'snapshot-revert'`
  const ended = await world.finish(restore)
  expect(ended).toMatchObject({ state: 'failed', error: { code: 'outcome-unknown' } })
  expect(ended.message).toContain('whether it was done cannot be told')
  expect(await world.tasks(ref, 'snapshot-revert')).toEqual([])
  await settle()
  expect((await world.power(ref)).state).toBe('on')
})
