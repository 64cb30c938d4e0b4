import { beforeEach, expect, test } from 'vitest'
import { createOperatingWorld } from '../../support/operating.ts'
import { until } from '../../support/wait.ts'

const world = await createOperatingWorld()
const { db, site, lab } = world

beforeEach(() => world.pace(0))

const atEnd = async (operation: Parameters<typeof world.finish>[0]) => {
  await world.pace(0)
  return world.finish(operation)
}
const taskEnds = (ref: string, kind: string) =>
  until(async () => (await world.tasks(ref, kind)).every(({ state }) => state !== 'running'), {
    what: `the ${kind} of ${ref} to end`,
  })

/** The guest goes down by itself while the plug that was asked for is still about to be pulled. */
const stopThenForce = async (ref: string, kind: 'stop' | 'restart') => {
  const machine = await world.machine(ref)
  await world.pace(60)
  const stop = await world.ask(machine, 'stop')
  await world.turn(stop)
  await lab.pass(7_000)
  await world.turn(stop)
  const forced = await world.ask(machine, kind, { force: true })
  await world.finish(stop)
  return forced
}

// promise: escalation
test('stop <- restart!, while the guest goes off before it can be reset: it is started', async () => {
  const restart = await stopThenForce('vm-101', 'restart')
  await lab.pass(30_000)
  await world.turn(restart)
  expect(await world.tasks('vm-101', 'restart')).toMatchObject([{ state: 'running' }])
  await lab.pass(120_000)
  await taskEnds('vm-101', 'restart')
  expect(await world.tasks('vm-101', 'restart')).toMatchObject([{ state: 'failed' }])
  expect(await atEnd(restart)).toMatchObject({ state: 'completed', result: { power: 'on' } })
  expect((await world.power('vm-101')).state).toBe('on')
  expect(await world.tasks('vm-101', 'start')).toHaveLength(1)
})

test('stop <- stop!, while the guest goes off before the plug is pulled: it is done', async () => {
  const plug = await stopThenForce('vm-102', 'stop')
  await lab.pass(75_000)
  await world.turn(plug)
  await lab.pass(120_000)
  await taskEnds('vm-102', 'stop')
  expect(await world.tasks('vm-102', 'stop')).toMatchObject([{ state: 'failed' }])
  expect(await atEnd(plug)).toMatchObject({ state: 'completed', result: { power: 'off' } })
})

// promise: escalation
test('start <- stop, when the start was accepted: the guest is asked until it hears, and goes off', async () => {
  await site.done('POST /instances/vm-103/power', { verb: 'stop' })
  const machine = await world.machine('vm-103', 'off')
  await world.pace(60)
  const start = await world.ask(machine, 'start')
  await world.turn(start)
  const stop = await world.ask(machine, 'stop')
  const ending = world.finish(start)
  await lab.pass(50_000)
  expect(await ending).toMatchObject({ state: 'superseded' })
  const waits = await world.turn(stop)
  expect(waits).toMatchObject({ state: 'running', reason: 'waiting-for-guest' })
  expect(waits.message).toContain('come up far enough to be asked')
  await lab.pass(300_000)
  expect(await atEnd(stop)).toMatchObject({ state: 'completed', result: { power: 'off' } })
  expect((await world.power('vm-103')).state).toBe('off')
})

test('one that runs for long and cannot be asked is not waited for', async () => {
  const machine = await world.machine('vm-204')
  const start = await world.ask(machine, 'restart', { force: true })
  await world.finish(start)
  await db`update operation set started_at = started_at - interval '6 minutes' where id = ${start.id}::uuid`
  expect(await world.done(machine, 'stop')).toMatchObject({ state: 'failed', reason: 'guest-keeps-running' })
})
