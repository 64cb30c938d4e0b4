import { afterEach, expect, test } from 'vitest'
import { readOperation } from '../../../db/queries/operations/list-operations.ts'
import { noteSlotWait } from '../../../db/queries/tokens/slot-wait.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { whyItWaits } from '../../../src/domain/operation/admission/why-it-waits.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { effectsOf, holdsOf } from '../../support/ledger.ts'
import { createMovingWorld, type MovingMachine } from '../../support/moving.ts'
import { checkOperations } from '../../support/operation-invariants.ts'
import { strictLog } from '../../support/strict-log.ts'

const percentMs = 600_000
const world = await createMovingWorld()
const { db, lab } = world

const hosts = ['node-2', 'node-3']
afterEach(async () => {
  await world.clearFaults()
  for (const ref of hosts) await world.act({ act: 'capacity-back', of: 'host', ref })
})

const slow = async (host: string): Promise<MovingMachine> => {
  await world.pace(0)
  const machine = await world.running({ host, moveMs: 100 * percentMs })
  await world.pace(1)
  return machine
}

/** As if so long had passed since: all its moments are that much earlier. */
const pass = async ({ id }: OperationRow, minutes: number): Promise<void> => {
  const span = `${minutes} minutes`
  await db`update operation set created_at = created_at - ${span}::interval, started_at = started_at - ${span}::interval,
    deadline_at = deadline_at - ${span}::interval, expires_at = expires_at - ${span}::interval,
    in_line_since = in_line_since - ${span}::interval, let_in_at = let_in_at - ${span}::interval
    where id = ${id}::uuid`
}

/** An evacuation that has begun, was refused by one host, and stands in line for the only other one. */
const refusedOnce = async () => {
  await world.limit('host-inbound-moves', 1)
  await world.limit('host-outbound-moves', 1)
  const before = await world.ask((await slow('node-2')).id, 'migrate', { params: { host: 'node-3' } })
  await world.until(before, 'move-preparing')
  const machine = await slow('node-1')
  await world.fault({
    ...{ kind: 'error', code: 'platform-no-capacity', failure: 'refused', call: 'move', times: 1 },
    machine: machine.ref,
  })
  const asked = await world.ask(machine.id, 'evict', { deadlineSeconds: 60 })
  const waits = await world.until(asked, 'awaiting-slot')
  // The first time it stood in line for a moment, before it began.
  return { before, machine, waits: waits.state === 'running' ? waits : await begun(asked) }
}

const begun = async (asked: OperationRow): Promise<OperationRow> => {
  const now = await world.turn(asked)
  expect(now).toMatchObject({ state: 'running', reason: 'awaiting-slot' })
  return now
}

// promise: bounded-wait
test('a move that was refused once stands in line past its deadline, and gets done when its turn has come', async () => {
  const { before, machine, waits } = await refusedOnce()
  expect(waits.inLineSince).not.toBeNull()
  expect(await world.turn(waits)).toMatchObject({ state: 'running', reason: 'awaiting-slot' })
  const released =
    await db`select distinct reason from event where job_id = ${waits.jobId} and type = 'job.released'`
  expect(released).toEqual([{ reason: 'awaiting-slot' }])
  // While it only stands there it holds nothing that others could use.
  expect(await holdsOf(db, 'host-outbound-moves/vc.node-1')).toEqual([])
  await pass(waits, 50)
  await tickOperations(db, strictLog)
  const line = await readOperation(db, waits.id, 60_000)
  expect(line).toMatchObject({ state: 'running', shownReason: 'awaiting-slot' })
  expect(line?.deadlineAt?.getTime()).toBeLessThan(Date.now())
  expect(line && whyItWaits(line)?.until).toEqual(line?.expiresAt)
  expect(line?.expiresAt.getTime()).toBeGreaterThan(Date.now())
  await lab.pass(100 * percentMs)
  expect(await world.turn(before)).toMatchObject({ state: 'completed' })
  // Let in by the end of the other, not by a look of its own.
  expect((await world.jobOf(waits)).state).toBe('ready')
  const again = await world.until(waits, 'move-preparing')
  expect(again).toMatchObject({ state: 'running', inLineSince: null, startedAt: expect.any(Date) })
  const leftMs = (again.deadlineAt?.getTime() ?? 0) - (again.letInAt?.getTime() ?? 0)
  expect(leftMs).toBeGreaterThan(30_000)
  expect(leftMs).toBeLessThanOrEqual(60_000)
  await lab.pass(100 * percentMs)
  expect(await world.turn(waits)).toMatchObject({ state: 'completed', result: { to: 'node-3' } })
  expect(await world.tasks(machine.ref, 'move')).toHaveLength(1)
  expect(await checkOperations(db, { atRest: true })).toEqual([])
})

test('a move that was refused once and stands in line for ever ends when its patience is over, and says for what it stood', async () => {
  const { before, machine, waits } = await refusedOnce()
  await pass(waits, 61)
  const ended = await world.endOf(waits)
  expect(ended).toMatchObject({ state: 'failed', reason: 'wait-expired', settledAt: expect.any(Date) })
  expect(ended.message).toContain('host-inbound-moves/vc.node-3')
  expect(await world.power(machine.ref)).toMatchObject({ state: 'on', host: 'node-1' })
  expect(await world.tasks(machine.ref, 'move')).toEqual([])
  expect(await effectsOf(db, waits.jobId ?? '')).toMatchObject([{ state: 'undone' }])
  await lab.pass(100 * percentMs)
  expect(await world.turn(before)).toMatchObject({ state: 'completed' })
  expect(await db`select from token_hold`).toHaveLength(0)
})

test('a move that was refused once and finds no host any more waits for one past its deadline', async () => {
  const machine = await slow('node-1')
  const refused = { kind: 'error', code: 'platform-no-capacity', failure: 'refused', machine: machine.ref }
  await world.fault({ ...refused, call: 'move' })
  await world.fault({ ...refused, call: 'move-check', skip: 2 })
  const asked = await world.ask(machine.id, 'evict', { deadlineSeconds: 60 })
  const waits = await world.until(asked, 'no-host-fits')
  expect(waits).toMatchObject({ state: 'running', inLineSince: expect.any(Date) })
  await pass(waits, 20)
  await tickOperations(db, strictLog)
  expect(await world.turn(waits)).toMatchObject({ state: 'running', reason: 'no-host-fits' })
  await world.fault({ kind: 'error', code: 'platform-unreachable', call: 'power', machine: machine.ref })
  // That the target does not answer is no line: its deadline goes on, from where it stood.
  const lost = await world.until(waits, 'target-unreachable')
  expect(lost).toMatchObject({ state: 'running', inLineSince: null })
  expect(lost.deadlineAt?.getTime()).toBeGreaterThan(Date.now())
  await world.clearFaults()
  await world.pace(0)
  expect(await world.finish(waits)).toMatchObject({ state: 'completed', result: { from: 'node-1' } })
})

test('all the standing in line takes no more than the patience, all the work no more than the deadline', async () => {
  const machine = await slow('node-1')
  const asked = await world.ask(machine.id, 'evict', { deadlineSeconds: 600 })
  await world.until(asked, 'move-preparing')
  const line = async (waitsForSlot: boolean, minutes: number): Promise<OperationRow> => {
    await db.begin((tx) => noteSlotWait(tx, asked.id, waitsForSlot))
    await pass(asked, minutes)
    return world.operation(asked.id)
  }
  const minutesLeft = (moment: Date | null): number =>
    Math.round(((moment?.getTime() ?? 0) - Date.now()) / 60_000)
  const first = await world.operation(asked.id)
  expect([minutesLeft(first.deadlineAt), minutesLeft(first.expiresAt)]).toEqual([10, 60])
  await pass(asked, 3)
  expect(minutesLeft((await line(true, 20)).expiresAt)).toBe(40)
  expect(minutesLeft((await line(false, 4)).deadlineAt)).toBe(3)
  expect(minutesLeft((await line(true, 35)).expiresAt)).toBe(5)
  // Twice the same changes nothing.
  expect(minutesLeft((await line(true, 0)).expiresAt)).toBe(5)
  const last = await line(false, 4)
  expect(minutesLeft(last.deadlineAt)).toBe(-1)
  // Whose time is over does not get into line any more.
  expect((await line(true, 0)).inLineSince).toBeNull()
  expect(await world.endOf(asked)).toMatchObject({ state: 'failed', reason: 'deadline-exceeded' })
})
