import { afterEach, expect, test } from 'vitest'
import type { OperationRow } from '../../../db/schema/operation.ts'
import type { OperationVariant } from '../../../src/domain/operation/kinds/kinds.ts'
import { variantText } from '../../../src/domain/operation/kinds/kinds.ts'
import { DroverError } from '../../../src/errors.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createMovingWorld, type MovingMachine } from '../../support/moving.ts'
import { strictLog } from '../../support/strict-log.ts'
import { until } from '../../support/wait.ts'

const percentMs = 600_000
const world = await createMovingWorld()
const { lab } = world
afterEach(() => world.clearFaults())

const to = { params: { host: 'node-2' } }
/** A move at so many percent, on a clock that only the test winds. */
const moving = async (
  percent: number,
  { kind, force }: OperationVariant = { kind: 'migrate', force: false },
): Promise<{ machine: MovingMachine; move: OperationRow }> => {
  await world.pace(0)
  const machine = await world.running({ moveMs: 100 * percentMs })
  await world.pace(1)
  const asked = await world.ask(machine.id, kind, { force, ...(kind === 'migrate' ? to : {}) })
  await world.until(asked, 'move-preparing')
  await lab.pass(percent * percentMs)
  const reason = percent >= 90 ? 'move-switching' : percent < 5 ? 'move-preparing' : 'move-syncing'
  return { machine, move: await world.until(asked, reason) }
}
/** The lab is quick again: whatever a power change takes. */
const finish = async (operation: OperationRow): Promise<OperationRow> => {
  await world.pace(0)
  return world.finish(operation)
}

const newer: readonly OperationVariant[] = [
  { kind: 'stop', force: false },
  { kind: 'stop', force: true },
  { kind: 'restart', force: false },
  { kind: 'restart', force: true },
]

// promise: move-gives-way
test.each(newer.map((variant) => [variantText(variant), variant] as const))(
  'a syncing move gives way to a %s: it is aborted first, and the machine never leaves its host',
  async (_text, { kind, force }) => {
    const { machine, move } = await moving(50)
    const before = await world.power(machine.ref)
    const asked = await world.ask(machine.id, kind, { force })
    // Until the move has let go, the newer one does not act.
    expect(await world.turn(asked)).toMatchObject({ state: 'pending', startedAt: null })
    expect(await world.power(machine.ref)).toEqual(before)
    await world.worker.finish(move.jobId ?? '')
    expect(await world.tasks(machine.ref, 'move')).toMatchObject([{ state: 'failed' }])
    expect(await finish(asked)).toMatchObject({ state: 'completed' })
    expect(await world.operation(move.id)).toMatchObject({
      ...{ state: 'superseded', supersededBy: asked.id, settledAt: expect.any(Date), pastReturn: false },
    })
    const after = await world.power(machine.ref)
    expect(after).toMatchObject({ state: kind === 'stop' ? 'off' : 'on', host: 'node-1' })
    expect(after.boot_id).not.toBe(before.boot_id)
    expect(await world.row(machine.id)).toMatchObject({ host: 'node-1', power: after.state })
  },
)

const moves: readonly OperationVariant[] = [
  { kind: 'migrate', force: false },
  { kind: 'migrate', force: true },
  { kind: 'evict', force: false },
  { kind: 'evict', force: true },
]

test.each(moves.map((variant) => [variantText(variant), variant] as const))(
  'a syncing %s gives way to a restart by force: the machine is restarted once, where it was, and nothing is left of the move',
  async (_text, variant) => {
    const { machine, move } = await moving(50, variant)
    const before = await world.power(machine.ref)
    const asked = await world.ask(machine.id, 'restart', { force: true })
    await world.worker.finish(move.jobId ?? '')
    expect(await finish(asked)).toMatchObject({ state: 'completed', supersededBy: null })
    expect(await world.operation(move.id)).toMatchObject({
      ...{ state: 'superseded', supersededBy: asked.id, settledAt: expect.any(Date) },
    })
    const after = await world.power(machine.ref)
    expect(after).toMatchObject({ state: 'on', host: 'node-1' })
    expect(after.boot_id).not.toBe(before.boot_id)
    expect(await world.tasks(machine.ref, 'restart')).toMatchObject([{ state: 'succeeded' }])
    expect(await world.tasks(machine.ref, 'move')).toMatchObject([{ state: 'failed' }])
    expect(await effectsOf(world.db, move.jobId ?? '')).toMatchObject([{ state: 'undone' }])
    expect(await world.db`select from token_hold where job_id = ${move.jobId}::uuid`).toHaveLength(0)
    expect(await world.row(machine.id)).toMatchObject({ host: 'node-1', power: 'on' })
  },
)

// promise: move-gives-way
test('once it switches over, nothing takes its place and nobody gives it up', async () => {
  const { machine, move } = await moving(95)
  expect(move.pastReturn).toBe(true)
  for (const { kind, force } of newer) {
    const refused = await world.ask(machine.id, kind, { force }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(DroverError)
    expect(refused).toMatchObject({ code: 'past-return', class: 'conflict' })
  }
  await expect(world.cancel(move)).rejects.toMatchObject({ code: 'past-return' })
  await lab.pass(5 * percentMs)
  expect(await finish(move)).toMatchObject({ state: 'completed', result: { to: 'node-2' } })
})

test('a stop that came before anybody knew of the switch-over waits for its end, and acts where the machine is', async () => {
  const { machine, move } = await moving(50)
  // The platform is past the return, and no turn has seen it yet.
  await lab.pass(45 * percentMs)
  const asked = await world.ask(machine.id, 'stop', { force: true })
  expect(await world.operation(move.id)).toMatchObject({ state: 'superseded', pastReturn: false })
  const before = await aborts()
  const undone = world.worker.finish(move.jobId ?? '')
  await until(async () => (await aborts()) > before, { what: 'the abort to be asked for', withinMs: 30_000 })
  expect(await world.turn(asked)).toMatchObject({ state: 'pending', startedAt: null })
  await lab.pass(5 * percentMs)
  await undone
  expect(await world.row(machine.id)).toMatchObject({ host: 'node-2', power: 'on' })
  expect(await finish(asked)).toMatchObject({ state: 'completed' })
  expect(await world.power(machine.ref)).toMatchObject({ state: 'off', host: 'node-2' })
  expect(await world.row(machine.id)).toMatchObject({ host: 'node-2', power: 'off' })
})

/** How often the lab was asked to abort a move. */
const aborts = async (): Promise<number> => {
  const { json } = await lab.admin('GET /lab/calls?call=abort&limit=1000')
  return (json as { calls: unknown[] }).calls.length
}

test('a person gives a move up, and it is aborted', async () => {
  const { machine, move } = await moving(50)
  await world.cancel(move)
  await world.worker.finish(move.jobId ?? '')
  await tickOperations(world.db, strictLog)
  expect(await world.operation(move.id)).toMatchObject({ state: 'canceled', settledAt: expect.any(Date) })
  expect(await world.tasks(machine.ref, 'move')).toMatchObject([{ state: 'failed' }])
  expect(await effectsOf(world.db, move.jobId ?? '')).toMatchObject([
    { kind: 'operation-move', state: 'undone' },
  ])
  expect(await world.power(machine.ref)).toMatchObject({ state: 'on', host: 'node-1' })
})

// promise: debt
test('an abort that gets no answer is owed, and until it is done nothing newer acts', async () => {
  const { machine, move } = await moving(50)
  await world.fault({ kind: 'error', code: 'platform-unreachable', call: 'abort' })
  const asked = await world.ask(machine.id, 'stop', { force: true })
  await world.worker.finish(move.jobId ?? '')
  expect(await effectsOf(world.db, move.jobId ?? '')).toMatchObject([{ state: 'debt' }])
  expect(await world.operation(move.id)).toMatchObject({ state: 'superseded', settledAt: null })
  expect(await world.turn(asked)).toMatchObject({ state: 'pending', startedAt: null })
  expect(await world.power(machine.ref)).toMatchObject({ state: 'on', host: 'node-1' })
})

test.each([
  { kind: 'stop', force: false },
  { kind: 'restart', force: true },
] as const)('a move that found no host gives way to a $kind at once', async ({ kind, force }) => {
  await world.pace(0)
  const machine = await world.running()
  for (const ref of ['node-2', 'node-3']) await world.act({ act: 'capacity-gone', of: 'host', ref })
  const evict = await world.ask(machine.id, 'evict')
  expect(await world.turn(evict)).toMatchObject({ state: 'pending', reason: 'no-host-fits' })
  const asked = await world.ask(machine.id, kind, { force })
  expect(await world.operation(evict.id)).toMatchObject({
    ...{ state: 'superseded', supersededBy: asked.id, settledAt: expect.any(Date), startedAt: null },
  })
  expect(await finish(asked)).toMatchObject({ state: 'completed' })
  expect((await world.power(machine.ref)).state).toBe(kind === 'stop' ? 'off' : 'on')
  expect(await world.tasks(machine.ref, 'move')).toEqual([])
  for (const ref of ['node-2', 'node-3']) await world.act({ act: 'capacity-back', of: 'host', ref })
})
