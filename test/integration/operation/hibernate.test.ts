import { expect, test } from 'vitest'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createOperatingWorld } from '../../support/operating.ts'

/** Machines whose saved states the platform shows as unfinished. */
const unfinished = new Set<string>()
const alter = (platform: Platform): Platform => {
  const { hibernate } = platform.ports
  if (!hibernate) return platform
  const saved: typeof hibernate.saved = async (call, ref) => {
    const found = await hibernate.saved(call, ref)
    if (!found.found || !unfinished.has(found.value.machine)) return found
    return { found: true, value: { ...found.value, complete: false } }
  }
  return { ...platform, ports: { ...platform.ports, hibernate: { ...hibernate, saved } } }
}
const world = await createOperatingWorld({ alter })
const { db, site, lab } = world

const guestOf = async (ref: string) =>
  (await site.call(`GET /instances/${ref}/guest`)).json as { boot_id: string; counter: number }
const savedStatus = async (state: string): Promise<number> => (await site.call(`GET /saved/${state}`)).status
const stateOf = async (machine: string): Promise<string> => (await world.row(machine)).savedState ?? ''

/** A machine that was hibernated by an operation, and its saved state. */
const hibernated = async (ref: string) => {
  const machine = await world.machine(ref)
  expect(await world.done(machine, 'hibernate')).toMatchObject({ state: 'completed' })
  return { machine, state: await stateOf(machine) }
}

test('memory is saved, the machine is off, and wakes where it was', async () => {
  const before = await guestOf('vm-101')
  const machine = await world.machine('vm-101')
  const slept = await world.done(machine, 'hibernate')
  const state = await stateOf(machine)
  expect(slept).toMatchObject({
    ...{ state: 'completed', pastReturn: true },
    result: { saved_state: state, digest: expect.stringMatching(/^sha256:/), power: 'off' },
  })
  expect((await world.power('vm-101')).state).toBe('off')
  const woken = await world.done(machine, 'wake')
  expect(woken).toMatchObject({
    ...{ state: 'completed', result: { power: 'on', cold: false, woken_from: state } },
  })
  const after = await guestOf('vm-101')
  expect(after.boot_id).toBe(before.boot_id)
  expect(after.counter).toBeGreaterThanOrEqual(before.counter)
  expect(await world.row(machine)).toMatchObject({ power: 'on', savedState: null })
  expect(await savedStatus(state)).toBe(404)
})

test('a hibernated machine is not started: the answer says to wake it', async () => {
  const { machine, state } = await hibernated('vm-102')
  await expect(world.ask(machine, 'start')).rejects.toMatchObject({
    code: 'not-for-phase',
    message: expect.stringContaining('wake it'),
  })
  expect(await stateOf(machine)).toBe(state)
})

test('a start that waited behind the hibernation does not throw its memory away', async () => {
  const machine = await world.machine('vm-103')
  const hibernate = await world.ask(machine, 'hibernate')
  const start = await world.ask(machine, 'start', { onConflict: 'queue' })
  await world.finish(hibernate)
  const refused = await world.finish(start)
  expect(refused).toMatchObject({ state: 'failed', reason: 'not-for-phase' })
  expect(refused.error?.remedy).toContain('wake')
  expect(await world.tasks('vm-103', 'start')).toEqual([])
})

// promise: lost-answer
test('a lost answer saves and wakes it once', async () => {
  const machine = await world.machine('vm-104')
  await world.fault({ kind: 'lost-answer', call: ['save', 'restore'], machine: 'vm-104', times: 1 })
  expect(await world.done(machine, 'hibernate')).toMatchObject({ state: 'completed' })
  expect(await world.tasks('vm-104', 'save')).toHaveLength(1)
  await world.clearFaults()
  const state = await stateOf(machine)
  await world.fault({ kind: 'lost-answer', call: 'restore', times: 1 })
  expect(await world.done(machine, 'wake')).toMatchObject({
    state: 'completed',
    result: { woken_from: state },
  })
  expect(await world.tasks('vm-104', 'restore')).toHaveLength(1)
  await world.clearFaults()
})

test('it can be given up until it was asked for, and not after', async () => {
  const machine = await world.machine('vm-105')
  const early = await world.ask(machine, 'hibernate')
  expect((await world.cancel(early)).operation).toMatchObject({ state: 'canceled' })
  await world.pace(60)
  const asked = await world.ask(machine, 'hibernate')
  expect(await world.turn(asked)).toMatchObject({ pastReturn: true, reason: 'in-progress' })
  await expect(world.cancel(asked)).rejects.toMatchObject({ code: 'past-return' })
  await world.pace(0)
  await lab.pass(120_000)
  expect(await world.finish(asked)).toMatchObject({ state: 'completed' })
})

test('a deadline that passes during the save loses no memory', async () => {
  const machine = await world.machine('vm-106')
  await world.pace(60)
  const asked = await world.ask(machine, 'hibernate')
  await world.turn(asked)
  await db`update operation set deadline_at = now() where id = ${asked.id}::uuid`
  const ending = world.finish(asked)
  await world.pace(0)
  await lab.pass(120_000)
  expect(await ending).toMatchObject({ state: 'failed', reason: 'deadline-exceeded' })
  const state = await stateOf(machine)
  expect(await savedStatus(state)).toBe(200)
  expect(await world.row(machine)).toMatchObject({ power: 'off' })
  expect(await world.done(machine, 'wake')).toMatchObject({ state: 'completed' })
})

test('a state that is not complete does not count, and the error says what to do', async () => {
  const machine = await world.machine('vm-107')
  unfinished.add('vm-107')
  const operation = await world.done(machine, 'hibernate')
  expect(operation).toMatchObject({ state: 'failed', reason: 'state-unusable' })
  expect(operation.error?.remedy).toContain('start it')
  expect(await world.row(machine)).toMatchObject({ power: 'off', savedState: null })
  unfinished.clear()
  expect(await world.done(machine, 'start')).toMatchObject({ state: 'completed', result: { power: 'on' } })
})

// promise: unknown-is-not-absent
test('a machine whose saved memory is gone is not started cold unless somebody says so', async () => {
  const { machine, state } = await hibernated('vm-108')
  await site.call(`DELETE /saved/${state}`)
  const failed = await world.done(machine, 'wake')
  expect(failed).toMatchObject({ state: 'failed', reason: 'state-unusable', pastReturn: false })
  expect((await world.power('vm-108')).state).toBe('off')
  const cold = await world.done(machine, 'wake', { params: { cold: true } })
  expect(cold).toMatchObject({ state: 'completed', result: { power: 'on', cold: true } })
  expect(await world.row(machine)).toMatchObject({ power: 'on', savedState: null })
})

test('a wake that no host has room for waits, and can be given up: it stays hibernated', async () => {
  const { machine, state } = await hibernated('vm-109')
  await world.fault({
    ...{ kind: 'error', code: 'platform-no-capacity', failure: 'refused', call: 'restore' },
  })
  const asked = await world.ask(machine, 'wake')
  expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'host-full', pastReturn: false })
  await world.cancel(asked)
  await world.clearFaults()
  expect(await world.finish(asked)).toMatchObject({ state: 'canceled', settledAt: expect.any(Date) })
  expect(await world.row(machine)).toMatchObject({ power: 'off', savedState: state })
  expect(await savedStatus(state)).toBe(200)
})

test('a saved state that cannot be dropped is a debt, and none of the trouble of who woke', async () => {
  const { machine, state } = await hibernated('vm-111')
  await world.fault({ kind: 'error', code: 'platform-refused', failure: 'refused', call: 'saved-drop' })
  const woken = await world.done(machine, 'wake')
  await world.clearFaults()
  expect(woken).toMatchObject({ state: 'completed', result: { power: 'on' }, settledAt: expect.any(Date) })
  expect(await world.row(machine)).toMatchObject({ power: 'on', savedState: null })
  const effects = await effectsOf(db, woken.jobId ?? '')
  expect(effects.find(({ kind }) => kind === 'saved-state-drop')).toMatchObject({ state: 'debt' })
  expect(await savedStatus(state)).toBe(200)
})

test('memory that was saved before the machine ran again is let go of when it stops', async () => {
  const { machine, state } = await hibernated('vm-110')
  await site.done('POST /instances/vm-110/power', { verb: 'start' })
  await db`update machine set power = 'on' where id = ${machine}::uuid`
  expect(await world.done(machine, 'stop', { force: true })).toMatchObject({ state: 'completed' })
  expect(await world.row(machine)).toMatchObject({ power: 'off', savedState: null })
  await world.settleDebts()
  expect(await savedStatus(state)).toBe(404)
})

test('what is off has no memory to save', async () => {
  const machine = await world.machine('vm-113')
  await site.done('POST /instances/vm-113/power', { verb: 'stop' })
  expect(await world.done(machine, 'hibernate')).toMatchObject({ state: 'failed', reason: 'not-for-phase' })
  expect(await world.row(machine)).toMatchObject({ power: 'off', savedState: null })
})

test('memory that a machine has run from is nothing to wake from, even when it went off before its wake saw it run', async () => {
  await site.done('POST /instances/vm-112/power', { verb: 'start' })
  const { machine, state } = await hibernated('vm-112')
  await world.pace(60)
  const asked = await world.ask(machine, 'wake')
  expect(await world.turn(asked)).toMatchObject({ state: 'running', pastReturn: true })
  await world.pace(0)
  await lab.pass(120_000)
  await site.done('POST /instances/vm-112/power', { verb: 'stop' })
  expect(await world.turn(asked)).toMatchObject({ state: 'running', pastReturn: true })
  await db`update operation set deadline_at = now() where id = ${asked.id}::uuid`
  expect(await world.finish(asked)).toMatchObject({ state: 'failed', reason: 'deadline-exceeded' })
  expect(await world.row(machine)).toMatchObject({ power: 'off', savedState: null })
  await world.settleDebts()
  expect(await savedStatus(state)).toBe(404)
  expect(await world.done(machine, 'start')).toMatchObject({ state: 'completed' })
})
