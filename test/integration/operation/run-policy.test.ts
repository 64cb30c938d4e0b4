import { afterEach, expect, test } from 'vitest'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { keepRunPolicies } from '../../../src/operation/upkeep/keep-run-policies.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { makeSite } from '../../support/inventory.ts'
import { addMachine } from '../../support/machines.ts'
import { createOperatingWorld } from '../../support/operating.ts'
import { strictLog } from '../../support/strict-log.ts'

const world = await createOperatingWorld()
const { db, target } = world

afterEach(async () => {
  await world.clearFaults()
  await db`update operation set state = 'canceled', finished_at = now(), settled_at = now() where settled_at is null`
  await db`update machine set run_policy = 'manual'`
})

const addKept = async (ref: string, runPolicy: string, power: 'on' | 'off'): Promise<string> => {
  const id = await world.machine(ref, power)
  await db`update machine set run_policy = ${runPolicy} where id = ${id}::uuid`
  return id
}

/** What run policies have asked of a machine, the newest first. */
const askedOf = (machine: string): Promise<OperationRow[]> => db<OperationRow[]>`
  select * from operation where machine_id = ${machine}::uuid and cause = 'policy' order by id desc`

const due = (machine: string) =>
  db`update machine set policy_next_at = now() - interval '1 second' where id = ${machine}::uuid`

const latest = async (machine: string): Promise<OperationRow> => {
  const [operation] = await askedOf(machine)
  if (!operation) throw new Error('Its run policy has asked for nothing.')
  return operation
}

// promise: run-policy
test('a machine that is always to be on is started when it is seen off, and left alone then', async () => {
  await world.site.done('POST /instances/vm-101/power', { verb: 'stop' })
  const machine = await addKept('vm-101', 'always-on', 'off')
  await keepRunPolicies(db, strictLog)
  await keepRunPolicies(db, strictLog)
  const asked = await askedOf(machine)
  expect(asked).toMatchObject([{ kind: 'start', force: false, createdBy: 'run-policy', standsDown: false }])
  expect(await world.finish(await latest(machine))).toMatchObject({ state: 'completed' })
  expect((await world.power('vm-101')).state).toBe('on')
  await due(machine)
  await keepRunPolicies(db, strictLog)
  expect(await askedOf(machine)).toHaveLength(1)
})

test('a start of a machine that is on already does nothing to it', async () => {
  const before = await world.power('vm-102')
  const machine = await addKept('vm-102', 'always-on', 'off')
  await keepRunPolicies(db, strictLog)
  expect(await world.finish(await latest(machine))).toMatchObject({ state: 'completed' })
  expect((await world.power('vm-102')).boot_id).toBe(before.boot_id)
  expect((await world.row(machine)).power).toBe('on')
})

// promise: run-policy
test('what a person stops stays off until a person starts it', async () => {
  const machine = await addKept('vm-103', 'always-on-unless-stopped', 'on')
  await world.done(machine, 'stop', { force: true })
  expect((await world.row(machine)).stoppedAt).toBeInstanceOf(Date)
  await keepRunPolicies(db, strictLog)
  expect(await askedOf(machine)).toEqual([])
  await world.done(machine, 'start')
  expect((await world.row(machine)).stoppedAt).toBeNull()
  await world.site.done('POST /instances/vm-103/power', { verb: 'stop' })
  await db`update machine set power = 'off' where id = ${machine}::uuid`
  await keepRunPolicies(db, strictLog)
  expect(await latest(machine)).toMatchObject({ kind: 'start', state: 'pending' })
  // And it gives way to a person at once.
  const stop = await world.ask(machine, 'stop')
  expect(await latest(machine)).toMatchObject({ state: 'superseded', supersededBy: stop.id })
})

// promise: run-policy
test('a machine that is always to be off is stopped politely', async () => {
  const machine = await addKept('vm-105', 'always-off', 'on')
  await keepRunPolicies(db, strictLog)
  expect(await latest(machine)).toMatchObject({ kind: 'stop', force: false })
  expect(await world.finish(await latest(machine))).toMatchObject({ state: 'completed' })
  expect((await world.power('vm-105')).state).toBe('off')
  expect((await world.row(machine)).stoppedAt).toBeNull()
})

test('failures make the rests longer, people hear of the third, and a success ends it', async () => {
  const machine = await addKept('vm-106', 'always-on', 'off')
  await world.site.done('POST /instances/vm-106/power', { verb: 'stop' })
  await world.fault({ kind: 'error', code: 'platform-unsupported', failure: 'unsupported', call: 'start' })
  for (const failures of [1, 2, 3]) {
    await keepRunPolicies(db, strictLog)
    expect(await world.finish(await latest(machine))).toMatchObject({ state: 'failed' })
    const [rest] = await db`
      select policy_failures as failures, ceil(extract(epoch from policy_next_at - now()))::int as seconds
      from machine where id = ${machine}::uuid`
    expect(rest?.failures).toBe(failures)
    expect(rest?.seconds).toBeGreaterThan(0)
    expect(rest?.seconds).toBeLessThanOrEqual(2 ** failures)
    await keepRunPolicies(db, strictLog)
    expect(await askedOf(machine)).toHaveLength(failures)
    const warnings = await db`select 1 from warning where type = 'policy-fails' and entity_id = ${machine}`
    expect(warnings).toHaveLength(failures < 3 ? 0 : 1)
    await due(machine)
  }
  await world.clearFaults()
  await keepRunPolicies(db, strictLog)
  expect(await world.finish(await latest(machine))).toMatchObject({ state: 'completed' })
  await tickOperations(db, strictLog)
  expect(await db`select 1 from warning where entity_id = ${machine}`).toHaveLength(0)
})

// promise: unknown-is-not-absent
test('nothing is done to what nobody can tell, or what others have', async () => {
  const off = (given: Parameters<typeof addMachine>[1] = {}) =>
    addMachine(db, { targetId: target.id, power: 'off', runPolicy: 'always-on', ...given })
  const [unknown, stale, busy, elsewhere, resting] = await Promise.all([
    off({ power: 'unknown' }),
    off(),
    off(),
    off({ targetId: (await db`select gen_random_uuid() as id`)[0]?.id as string }),
    off(),
  ])
  await db`update machine set seen_at = now() - interval '2 hours' where id = ${stale}::uuid`
  await db`update machine set policy_next_at = now() + interval '1 minute' where id = ${resting}::uuid`
  await world.ask(busy, 'snapshot')
  await keepRunPolicies(db, strictLog)
  for (const machine of [unknown, stale, busy, elsewhere, resting]) expect(await askedOf(machine)).toEqual([])
  const away = await off()
  await db`update site set connectivity = 'unknown' where id = ${target.id}::uuid`
  await keepRunPolicies(db, strictLog)
  expect(await askedOf(away)).toEqual([])
  await db`update site set connectivity = 'ok' where id = ${target.id}::uuid`
})

test('a machine that no reading has found changed for hours is kept all the same', async () => {
  const machine = await addMachine(db, { targetId: target.id, power: 'off', runPolicy: 'always-on' })
  await db`update machine set seen_at = now() - interval '2 hours' where id = ${machine}::uuid`
  await keepRunPolicies(db, strictLog)
  expect(await askedOf(machine)).toEqual([])
  await db`update site set synced_at = now() where id = ${target.id}::uuid`
  await keepRunPolicies(db, strictLog)
  expect(await askedOf(machine)).toMatchObject([{ kind: 'start' }])
  await db`update site set synced_at = null where id = ${target.id}::uuid`
})

test('a target at which nothing comes to an end keeps no other from its turn', async () => {
  const other = await makeSite(db, { role: 'target', name: 'other', connectivity: 'ok', quiet: true })
  for (let made = 0; made < 60; made += 1)
    await addMachine(db, { targetId: target.id, power: 'off', runPolicy: 'always-on' })
  for (let round = 0; round < 4; round += 1) await keepRunPolicies(db, strictLog)
  const machine = await addMachine(db, { targetId: other.id, power: 'off', runPolicy: 'always-on' })
  await keepRunPolicies(db, strictLog)
  expect(await askedOf(machine)).toMatchObject([{ kind: 'start' }])
})

// promise: run-policy
test('after an outage not everything is started at once', async () => {
  for (let made = 0; made < 70; made += 1)
    await addMachine(db, { targetId: target.id, power: 'off', runPolicy: 'always-on' })
  expect(await keepRunPolicies(db, strictLog)).toBe(true)
  for (let round = 0; round < 10; round += 1) await keepRunPolicies(db, strictLog)
  const [row] =
    await db`select count(*)::int as open from operation where settled_at is null and cause = 'policy'`
  expect(row?.open).toBe(50)
})
