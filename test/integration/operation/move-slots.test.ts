import { expect, test } from 'vitest'
import { wakeTimedOutWaits } from '../../../db/queries/leases/wake-timed-out-waits.ts'
import { explainTokenWait } from '../../../db/queries/tokens/explain-token-wait.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { expire, holdsOf, jobOf } from '../../support/ledger.ts'
import { createMovingWorld, type MovingMachine } from '../../support/moving.ts'
import { checkOperations } from '../../support/operation-invariants.ts'
import { strictLog } from '../../support/strict-log.ts'

const percentMs = 600_000
const world = await createMovingWorld()
const { db, lab } = world

const machinesOn = async (host: string, count: number): Promise<MovingMachine[]> => {
  await world.pace(0)
  const machines: MovingMachine[] = []
  for (let made = 0; made < count; made += 1)
    machines.push(await world.running({ host, moveMs: 100 * percentMs }))
  await world.pace(1)
  return machines
}

/** Moves that the lab is at: how many, and the most of them into one host. */
const underWay = async (): Promise<{ total: number; into: number }> => {
  const rows = await lab.database.db<{ host: string; moves: number }[]>`
    select args ->> 'host' as host, count(*)::int as moves from lab.task
    where site = 'cloud' and kind = 'move' and state = 'running' group by 1`
  const moves = rows.map((row) => row.moves)
  return { total: moves.reduce((sum, one) => sum + one, 0), into: Math.max(0, ...moves) }
}

/** All of them have their turns at once, until all have ended; what was seen between is given to `look`. */
const finishAll = async (
  asked: readonly OperationRow[],
  look: () => Promise<void>,
): Promise<OperationRow[]> => {
  for (let rounds = 0; rounds < 200; rounds += 1) {
    const open: OperationRow[] = []
    for (const { id } of asked) {
      const now = await world.operation(id)
      if (now.finishedAt === null) open.push(now)
    }
    if (open.length === 0) return Promise.all(asked.map(({ id }) => world.operation(id)))
    await Promise.all(open.map((one) => followUnlessInLine(one)))
    await look()
    await lab.pass(40 * percentMs)
    await tickOperations(db, strictLog)
  }
  throw new Error('They did not end.')
}

/** Who stands in line is let in by those who end, not by the test. */
const followUnlessInLine = async (operation: OperationRow): Promise<void> => {
  const job = await jobOf(db, operation.jobId ?? '')
  if (job.waitReason !== 'token' || job.state !== 'waiting') await world.turn(operation)
}

// promise: move-slots
test.each([
  { outbound: 1, syncs: 1 },
  { outbound: 2, syncs: 2 },
  { outbound: 2, syncs: 1 },
])(
  'of ten moves out of a host with $outbound slots out and $syncs for copies no more than the fewer are ever under way, and all get done',
  async ({ outbound, syncs }) => {
    const most = Math.min(outbound, syncs)
    await world.limit('host-outbound-moves', outbound)
    await world.limit('host-move-syncs', syncs)
    await world.limit('host-inbound-moves', 1)
    const machines = await machinesOn('node-1', 10)
    const asked: OperationRow[] = []
    for (const { id } of machines) asked.push(await world.ask(id, 'evict', { deadlineSeconds: 3_600 }))
    const seen: number[] = []
    const done = await finishAll(asked, async () => {
      const { total, into } = await underWay()
      seen.push(total)
      expect(total).toBeLessThanOrEqual(most)
      expect(into).toBeLessThanOrEqual(1)
      // There is no conductor here, and a round takes its time.
      await wakeTimedOutWaits(db, 100)
      expect(await checkInvariants(db)).toEqual([])
    })
    expect(Math.max(...seen)).toBe(most)
    expect(done.map(({ state }) => state)).toEqual(Array(10).fill('completed'))
    for (const { ref } of machines) {
      expect((await world.power(ref)).host).not.toBe('node-1')
      expect(await world.tasks(ref, 'move')).toHaveLength(1)
    }
    expect(await checkOperations(db, { atRest: true })).toEqual([])
    expect(await db`select from token_hold`).toHaveLength(0)
  },
)

// promise: move-slots
// promise: bounded-wait
test('who stands in line says for what, who has it and where it stands; and its deadline does not run', async () => {
  await world.limit('target-moves', 1)
  const [first, second, third] = await machinesOn('node-2', 3)
  const ask = (machine: MovingMachine | undefined) =>
    world.ask(machine?.id ?? '', 'migrate', { params: { host: 'node-3' }, deadlineSeconds: 30 })
  const [goes, waits, last] = [await ask(first), await ask(second), await ask(third)]
  await world.until(goes, 'move-preparing')
  for (const one of [waits, last]) {
    expect(await world.turn(one)).toMatchObject({ state: 'pending', reason: 'awaiting-slot' })
    expect(await world.turn(one)).toMatchObject({ state: 'pending', reason: 'awaiting-slot', progress: 2 })
    expect(await world.jobOf(one)).toMatchObject({ state: 'waiting', waitReason: 'token' })
  }
  const line = (await explainTokenWait(db, last.jobId ?? '')).find(({ token }) => token === 'target-moves/vc')
  expect(line).toMatchObject({ holders: [goes.jobId], holds: 1, waiters: 2, position: 2 })
  // An hour in line, with thirty seconds to do it in.
  await db`update operation set created_at = created_at - interval '1 hour' where id = any(${[waits.id, last.id]}::uuid[])`
  await tickOperations(db, strictLog)
  expect(await world.operation(waits.id)).toMatchObject({
    state: 'pending',
    deadlineAt: null,
    startedAt: null,
  })
  await lab.pass(100 * percentMs)
  expect(await world.turn(goes)).toMatchObject({ state: 'completed' })
  const begun = await world.until(waits, 'move-preparing')
  expect(begun.state).toBe('running')
  expect((begun.deadlineAt?.getTime() ?? 0) - (begun.startedAt?.getTime() ?? 0)).toBe(30_000)
  expect(await world.jobOf(last)).toMatchObject({ state: 'waiting', waitReason: 'token' })
  await lab.pass(100 * percentMs)
  expect(await world.turn(waits)).toMatchObject({ state: 'completed' })
  await world.until(last, 'move-preparing')
  await lab.pass(100 * percentMs)
  expect(await world.turn(last)).toMatchObject({ state: 'completed' })
})

// promise: move-slots
test('a move whose worker is lost keeps its slots, because it goes on at the target', async () => {
  await world.limit('target-moves', 1)
  const [first, second] = await machinesOn('node-2', 2)
  const ask = (machine: MovingMachine | undefined) =>
    world.ask(machine?.id ?? '', 'migrate', { params: { host: 'node-3' } })
  const [goes, waits] = [await ask(first), await ask(second)]
  await world.until(goes, 'move-preparing')
  await world.turn(waits)
  await world.turn(waits)
  await db`update job set state = 'running', lease_until = now() + interval '1 hour', wait_reason = null, wait_detail = null,
    wait_since = null, wait_until = null where id = ${goes.jobId}::uuid`
  await expire(db, goes.jobId ?? '')
  await sweepLeases(db)
  expect(await holdsOf(db, 'target-moves/vc')).toEqual([goes.jobId])
  expect(await world.jobOf(waits)).toMatchObject({ state: 'waiting', waitReason: 'token' })
  await lab.pass(100 * percentMs)
  expect(await world.until(goes, 'completed')).toMatchObject({ state: 'completed' })
  await world.until(waits, 'move-preparing')
  await lab.pass(100 * percentMs)
  expect(await world.turn(waits)).toMatchObject({ state: 'completed' })
})

test('a host that filled up while a move stood in line is not gone to: another is found', async () => {
  await world.limit('target-moves', 1)
  const [first, second] = await machinesOn('node-2', 2)
  const goes = await world.ask(first?.id ?? '', 'migrate', { params: { host: 'node-3' } })
  await world.until(goes, 'move-preparing')
  const waits = await world.ask(second?.id ?? '', 'evict')
  await world.turn(waits)
  const { tokens } = await world.jobOf(waits)
  const chosen =
    tokens.find((token) => token.startsWith('host-inbound-moves/'))?.slice(-'node-1'.length) ?? ''
  expect(['node-1', 'node-3']).toContain(chosen)
  await world.turn(waits)
  await world.act({ act: 'capacity-gone', of: 'host', ref: chosen })
  await lab.pass(100 * percentMs)
  expect(await world.turn(goes)).toMatchObject({ state: 'completed' })
  await world.until(waits, 'move-preparing')
  await lab.pass(100 * percentMs)
  const other = chosen === 'node-1' ? 'node-3' : 'node-1'
  expect(await world.turn(waits)).toMatchObject({ state: 'completed', result: { to: other } })
  expect(await world.tasks(second?.ref ?? '', 'move')).toHaveLength(1)
})
