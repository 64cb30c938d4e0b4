import { expect, test } from 'vitest'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { createMovingWorld, type MovingMachine } from '../../support/moving.ts'
import { checkMachines, readLabLog } from '../../support/operated-machines.ts'
import { checkOperations } from '../../support/operation-invariants.ts'
import { strictLog } from '../../support/strict-log.ts'

/** The conductor of these tests is `tickOperations`, the worker takes turns, and nobody touches a row. */
const percentMs = 600_000
const world = await createMovingWorld()
const { db, lab } = world

/** An evacuation has it copied to another host; how far that is only the test decides. */
const leaving = async (): Promise<{ machine: MovingMachine; evict: OperationRow }> => {
  await world.pace(0)
  const machine = await world.running({ moveMs: 100 * percentMs })
  await world.pace(1)
  const evict = await world.ask(machine.id, 'evict', { cause: 'evacuation' })
  await world.until(evict, 'move-preparing')
  await lab.pass(50 * percentMs)
  return { machine, evict: await world.until(evict, 'move-syncing') }
}

/** The older one is called off by its own job; then the newer one is done, and the lab is quick again. */
const letGo = async (older: OperationRow, newer?: OperationRow): Promise<void> => {
  await world.worker.finish(older.jobId ?? '')
  await world.pace(0)
  if (newer) expect(await world.finish(newer)).toMatchObject({ state: 'completed' })
  await rounds()
}

const rounds = async (): Promise<void> => {
  for (let round = 0; round < 3; round += 1) await tickOperations(db, strictLog)
}

const evictsOf = (machine: MovingMachine): Promise<OperationRow[]> => db<OperationRow[]>`
  select * from operation where machine_id = ${machine.id}::uuid and kind = 'evict' order by id`

const statesOf = async (machine: MovingMachine, kind: string): Promise<string[]> =>
  (await world.tasks(machine.ref, kind)).map(({ state }) => state).toSorted()

/** It has come back once, and is done now: its machine has left, and nothing comes back again. */
const expectLeft = async (machine: MovingMachine, evict: OperationRow): Promise<void> => {
  const again = (await evictsOf(machine)).filter(({ resumes }) => resumes === evict.id)
  expect(again).toMatchObject([{ state: 'pending', cause: 'evacuation', leaves: 'node-1' }])
  expect(await world.finish(again[0] as OperationRow)).toMatchObject({
    state: 'completed',
    result: { from: 'node-1' },
  })
  await rounds()
  const { state, host } = await world.power(machine.ref)
  expect(state).toBe('on')
  expect(host).not.toBe('node-1')
  expect(await evictsOf(machine)).toHaveLength(2)
  expect(await statesOf(machine, 'move')).toEqual(['failed', 'succeeded'])
  await expectWhole()
}

const expectWhole = async (): Promise<void> => {
  expect(await checkOperations(db, { atRest: true })).toEqual([])
  expect(await checkMachines(db, await readLabLog(lab, 'cloud'))).toEqual([])
}

// promise: evacuation
test('an evacuation whose copying gave way to a restart comes back by itself, and the machine leaves its host once', async () => {
  const { machine, evict } = await leaving()
  const restart = await world.ask(machine.id, 'restart', { force: true })
  await rounds()
  // While the restart is at the machine nothing comes back.
  expect(await evictsOf(machine)).toMatchObject([{ state: 'superseded', supersededBy: restart.id }])
  await letGo(evict, restart)
  expect(await statesOf(machine, 'move')).toEqual(['failed'])
  expect(await statesOf(machine, 'restart')).toEqual(['succeeded'])
  await expectLeft(machine, evict)
  expect(await statesOf(machine, 'restart')).toEqual(['succeeded'])
})

test('an evacuation whose copying gave way to a stop stays down until its machine runs there again', async () => {
  const { machine, evict } = await leaving()
  await letGo(evict, await world.ask(machine.id, 'stop', { force: true }))
  expect(await evictsOf(machine)).toMatchObject([{ state: 'superseded', comeBackAt: expect.any(Date) }])
  expect(await world.power(machine.ref)).toMatchObject({ state: 'off', host: 'node-1' })
  expect(await world.done(machine.id, 'start')).toMatchObject({ state: 'completed' })
  expect((await world.power(machine.ref)).host).toBe('node-1')
  await rounds()
  await expectLeft(machine, evict)
})

test('an evacuation that a person cancels while it copies does not come back, and its machine stays', async () => {
  const { machine, evict } = await leaving()
  await world.cancel(evict)
  await letGo(evict)
  await expectStayed(machine, 'canceled')
})

test('an evacuation that a person cancels while it stands down does not come back either', async () => {
  const { machine, evict } = await leaving()
  const restart = await world.ask(machine.id, 'restart', { force: true })
  await world.cancel(evict)
  await letGo(evict, restart)
  await expectStayed(machine, 'superseded')
})

const expectStayed = async (machine: MovingMachine, state: string): Promise<void> => {
  // Also after whatever else is done to it there.
  await world.done(machine.id, 'restart', { force: true })
  await rounds()
  expect(await evictsOf(machine)).toMatchObject([{ state, comeBackAt: null }])
  expect(await world.power(machine.ref)).toMatchObject({ state: 'on', host: 'node-1' })
  expect(await statesOf(machine, 'move')).toEqual(['failed'])
  await expectWhole()
}

test('a machine that was moved before the turn of its evacuation has come is not moved on from there', async () => {
  await world.pace(0)
  const machine = await world.running()
  const migrate = await world.ask(machine.id, 'migrate', { params: { host: 'node-2' } })
  const evict = await world.ask(machine.id, 'evict', { cause: 'evacuation', onConflict: 'queue' })
  expect(evict).toMatchObject({ state: 'queued', leaves: 'node-1' })
  expect(await world.finish(migrate)).toMatchObject({ state: 'completed' })
  expect(await world.finish(await world.operation(evict.id))).toMatchObject({
    state: 'completed',
    result: { from: 'node-1', to: 'node-2', by: 'somebody else' },
  })
  expect(await world.power(machine.ref)).toMatchObject({ state: 'on', host: 'node-2' })
  expect(await statesOf(machine, 'move')).toEqual(['succeeded'])
  await expectWhole()
})
