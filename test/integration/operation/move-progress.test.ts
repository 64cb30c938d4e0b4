import { expect, test } from 'vitest'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { moveTimeLimit } from '../../../src/domain/operation/move/judge-move.ts'
import { createMovingWorld } from '../../support/moving.ts'

const percentMs = 600_000
/** Moves take so long that nothing happens by itself meanwhile. */
const world = await createMovingWorld()
const { lab } = world
const slow = async (stallAt?: number) => {
  await world.pace(0)
  const machine = await world.running({
    moveMs: 100 * percentMs,
    ...(stallAt === undefined ? {} : { stallAt }),
  })
  await world.pace(1)
  return machine
}
const to = { params: { host: 'node-2' } }

test('progress goes one way through preparing, copying and switching over, and says how it goes', async () => {
  const machine = await slow()
  const asked = await world.ask(machine.id, 'migrate', to)
  const seen: OperationRow[] = []
  for (const percent of [0, 2, 6, 30, 49, 55, 70, 89, 92, 99]) {
    const done = seen.length === 0 ? 0 : [0, 2, 6, 30, 49, 55, 70, 89, 92, 99][seen.length - 1]
    if (percent > 0) await lab.pass((percent - (done ?? 0)) * percentMs)
    seen.push(await world.until(asked, reasonAt(percent)))
  }
  const progress = seen.map((one) => one.progress)
  expect(progress).toEqual([...progress].sort((a, b) => a - b))
  expect(progress.slice(0, 2)).toEqual([3, 4])
  for (const [index, from, below] of [
    [2, 10, 45],
    [4, 40, 46],
    [5, 45, 90],
    [7, 70, 91],
    [8, 91, 93],
  ] as const) {
    expect(progress[index]).toBeGreaterThanOrEqual(from)
    expect(progress[index]).toBeLessThan(below)
  }
  expect(seen[3]?.message).toMatch(/^To node-2: copying its memory, 30 %, \d+ of 1024 MiB sent/)
  expect(seen[6]?.message).toContain('pass 4')
  expect(seen.map(({ pastReturn }) => pastReturn)).toEqual([...Array(8).fill(false), true, true])
  await lab.pass(percentMs)
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', progress: 100 })
})

const reasonAt = (percent: number): string =>
  percent < 5 ? 'move-preparing' : percent < 90 ? 'move-syncing' : 'move-switching'

test('a guest that outruns the copy is said to, and the move is aborted after a while: force would help', async () => {
  const machine = await slow(60)
  const asked = await world.ask(machine.id, 'migrate', to)
  await world.until(asked, 'move-preparing')
  await lab.pass(70 * percentMs)
  const stalled = await world.until(asked, 'not-converging')
  expect(stalled).toMatchObject({ state: 'running', progress: 58 })
  expect(stalled.message).toContain('its guest writes faster than is copied')
  await world.stuckFor(asked, moveTimeLimit.convergeMs - 3_000)
  for (let looks = 1; looks < 3; looks += 1)
    expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'not-converging' })
  const ended = await world.endOf(asked)
  expect(ended).toMatchObject({ state: 'failed', reason: 'not-converging', progress: 58 })
  expect(ended.error?.remedy).toContain('with force')
  expect(await world.tasks(machine.ref, 'move')).toMatchObject([{ state: 'failed' }])
  expect(await world.power(machine.ref)).toMatchObject({ state: 'on', host: 'node-1' })
  expect(await world.row(machine.id)).toMatchObject({ power: 'on', host: 'node-1' })
})

test('with force the guest is slowed down, and the move gets done', async () => {
  const machine = await slow(60)
  const asked = await world.ask(machine.id, 'migrate', { ...to, force: true })
  await world.until(asked, 'move-preparing')
  await lab.pass(70 * percentMs)
  const slowed = await world.until(asked, 'move-syncing')
  expect(slowed.message).toContain('guest slowed by 40 %')
  await lab.pass(100 * percentMs)
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', result: { to: 'node-2' } })
})

test('a host that does not get ready is given up, and the task at the target with it', async () => {
  const machine = await slow(3)
  const asked = await world.ask(machine.id, 'migrate', to)
  await world.until(asked, 'move-preparing')
  await lab.pass(10 * percentMs)
  await world.until(asked, 'move-preparing')
  await world.stuckFor(asked, moveTimeLimit.prepareMs - 2_000)
  expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'move-preparing' })
  const ended = await world.endOf(asked)
  expect(ended).toMatchObject({ state: 'failed', reason: 'move-prepare-stalled' })
  expect(await world.tasks(machine.ref, 'move')).toMatchObject([{ state: 'failed' }])
  expect(await world.power(machine.ref)).toMatchObject({ state: 'on', host: 'node-1' })
})

test('a deadline ends a move under way: it is aborted, and the machine is where it was', async () => {
  const machine = await slow()
  const asked = await world.ask(machine.id, 'migrate', { ...to, deadlineSeconds: 30 })
  await world.until(asked, 'move-preparing')
  await lab.pass(50 * percentMs)
  await world.until(asked, 'move-syncing')
  await world.db`update operation set deadline_at = now() where id = ${asked.id}::uuid`
  const ended = await world.endOf(asked)
  expect(ended).toMatchObject({ state: 'failed', reason: 'deadline-exceeded', settledAt: expect.any(Date) })
  expect(ended.error?.message).toContain('copying its memory, 50 %')
  expect(await world.tasks(machine.ref, 'move')).toMatchObject([{ state: 'failed' }])
  expect(await world.power(machine.ref)).toMatchObject({ state: 'on', host: 'node-1' })
})
