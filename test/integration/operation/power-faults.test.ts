import { expect, test } from 'vitest'
import { effectsOf } from '../../support/ledger.ts'
import { createOperatingWorld, nextLookMs } from '../../support/operating.ts'
import { until } from '../../support/wait.ts'

const world = await createOperatingWorld()
const { db, site, lab } = world

const off = (ref: string) => site.done(`POST /instances/${ref}/power`, { verb: 'stop' })
const full = (ref: string) => ({
  ...{ kind: 'error', code: 'platform-no-capacity', failure: 'refused', call: 'start', machine: ref },
})

/** How often the lab was asked to start the machine, whatever it answered. */
const startsAsked = async (ref: string): Promise<number> => {
  const { json } = await lab.admin(`GET /lab/calls?call=start&machine=${ref}`)
  return (json as { calls: unknown[] }).calls.length
}

/** A call is held back by a fault. */
const heldBack = () =>
  until(
    async () => {
      const { json } = await lab.admin('GET /lab/faults')
      return (json as { faults: { struck: number }[] }).faults.some(({ struck }) => struck > 0)
    },
    { what: 'a call to be held back' },
  )

test('a start waits for room on a host, and goes on when there is some', async () => {
  await off('vm-101')
  const machine = await world.machine('vm-101', 'off')
  await world.fault(full('vm-101'))
  const asked = await world.ask(machine, 'start')
  for (let turns = 0; turns < 3; turns += 1) {
    expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'host-full' })
    expect(await nextLookMs(world, asked)).toBeLessThanOrEqual(10_500)
  }
  await world.clearFaults()
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', result: { power: 'on' } })
  // Refused at once leaves nothing behind: one effect, however often it was asked.
  expect(await effectsOf(db, asked.jobId ?? '')).toHaveLength(1)
})

// promise: bounded-wait
test('no wait goes beyond the deadline, and what was in the way is said then', async () => {
  await off('vm-102')
  const machine = await world.machine('vm-102', 'off')
  await world.fault(full('vm-102'))
  const asked = await world.ask(machine, 'start')
  await world.turn(asked)
  await db`update operation set started_at = now() - interval '10 minutes', deadline_at = now() + interval '8 seconds'
    where id = ${asked.id}::uuid`
  await world.turn(asked)
  expect(await nextLookMs(world, asked)).toBeLessThanOrEqual(8_500)
  await db`update operation set deadline_at = now() where id = ${asked.id}::uuid`
  const ended = await world.finish(asked)
  await world.clearFaults()
  expect(ended).toMatchObject({ state: 'failed', reason: 'deadline-exceeded', settledAt: expect.any(Date) })
  expect(ended.message).toContain('room')
  expect((await world.power('vm-102')).state).toBe('off')
})

test('a guest that ignores it is told of at once, and at the deadline force is named', async () => {
  await lab.admin('PATCH /lab/sites/vcenter/instances/vm-103', { shutdown: 'hangs' })
  const machine = await world.machine('vm-103')
  const asked = await world.ask(machine, 'stop')
  expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'waiting-for-guest' })
  await db`update operation set deadline_at = now() where id = ${asked.id}::uuid`
  const ended = await world.finish(asked)
  expect(ended).toMatchObject({ state: 'failed', reason: 'guest-keeps-running' })
  expect(ended.error?.remedy).toContain('force')
  expect(await world.row(machine)).toMatchObject({ power: 'on' })
})

test('a guest that cannot be asked fails at once, and is stopped by force', async () => {
  const machine = await world.machine('vm-204')
  const deaf = await world.done(machine, 'stop')
  expect(deaf).toMatchObject({ state: 'failed', reason: 'guest-keeps-running' })
  expect(deaf.error?.remedy).toContain('force')
  expect((await world.power('vm-204')).state).toBe('on')
  expect(await world.done(machine, 'stop', { force: true })).toMatchObject({ state: 'completed' })
  expect((await world.power('vm-204')).state).toBe('off')
})

test('a stop of what is off, or not there any more, has nothing to do', async () => {
  await off('vm-104')
  const machine = await world.machine('vm-104')
  const stopped = await world.done(machine, 'stop')
  expect(stopped).toMatchObject({ state: 'completed', result: { power: 'off' } })
  expect(await effectsOf(db, stopped.jobId ?? '')).toEqual([])
  const gone = await world.machine('vm-imagined')
  expect(await world.done(gone, 'stop', { force: true })).toMatchObject({
    ...{ state: 'completed', result: { gone: true } },
  })
})

test('what is gone cannot be started', async () => {
  const machine = await world.machine('vm-nowhere', 'off')
  expect(await world.done(machine, 'start')).toMatchObject({ state: 'failed', reason: 'machine-gone' })
})

test('a restart has ended only when the machine runs anew, once', async () => {
  const machine = await world.machine('vm-105')
  const before = await world.power('vm-105')
  await world.fault({ kind: 'lost-answer', call: 'restart', machine: 'vm-105', times: 1 })
  const operation = await world.done(machine, 'restart', { force: true })
  expect(operation).toMatchObject({ state: 'completed', result: { power: 'on' } })
  expect((await world.power('vm-105')).boot_id).not.toBe(before.boot_id)
  expect(await world.tasks('vm-105', 'restart')).toHaveLength(1)
})

test.each([
  ['while it is reset', 'vm-111', 600],
  ['just before it is reset', 'vm-207', 0],
])('a guest that goes down by itself %s is started all the same', async (_when, ref, pace) => {
  const machine = await world.machine(ref)
  // Somebody has asked it to go down, and it takes its time.
  await world.pace(60)
  await site.call(`POST /instances/${ref}/power`, { verb: 'shutdown' })
  await lab.pass(6_000)
  await world.pace(pace)
  if (pace === 0) {
    // It goes between the look at it and the reset: the call finds it off.
    await world.fault({ kind: 'stall', call: 'restart', machine: ref })
  }
  const asked = await world.ask(machine, 'restart', { force: true })
  const turn = world.turn(asked)
  if (pace === 0) await heldBack()
  else await turn
  expect((await world.power(ref)).state).toBe('on')
  await lab.pass(3_600_000)
  await world.pace(0)
  await world.clearFaults()
  await turn
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', result: { power: 'on' } })
  expect((await world.power(ref)).state).toBe('on')
})

test('a restart of what is off is a start with force, and refused without', async () => {
  await off('vm-106')
  // Its row is older than that.
  const machine = await world.machine('vm-106')
  const refused = await world.done(machine, 'restart')
  expect(refused).toMatchObject({ state: 'failed', reason: 'not-for-phase' })
  expect(refused.error?.remedy).toContain('force')
  expect(await world.row(machine)).toMatchObject({ power: 'off' })
  await db`update machine set power = 'on' where id = ${machine}::uuid`
  expect(await world.done(machine, 'restart', { force: true })).toMatchObject({ state: 'completed' })
  expect((await world.power('vm-106')).state).toBe('on')
})

test('a paused machine is restarted by force only: it boots anew', async () => {
  const machine = await world.machine('vm-113')
  await db`update machine set power = 'suspended' where id = ${machine}::uuid`
  expect(await world.done(machine, 'restart')).toMatchObject({ state: 'failed', reason: 'guest-suspended' })
  expect((await world.power('vm-113')).state).toBe('suspended')
  expect(await world.done(machine, 'restart', { force: true })).toMatchObject({ state: 'completed' })
  expect(await world.tasks('vm-113', 'stop')).toHaveLength(1)
  expect((await world.power('vm-113')).state).toBe('on')
})

test('a target that does not answer is waited for, visibly', async () => {
  const machine = await world.machine('vm-107')
  await world.fault({ kind: 'error', code: 'platform-unreachable', call: 'power', machine: 'vm-107' })
  const asked = await world.ask(machine, 'stop', { force: true })
  expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'target-unreachable' })
  await world.clearFaults()
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', result: { power: 'off' } })
})

test('a task that failed is begun anew once its host is back', async () => {
  await off('vm-108')
  const machine = await world.machine('vm-108', 'off')
  await world.pace(60)
  const asked = await world.ask(machine, 'start')
  await world.turn(asked)
  const [task] = await world.tasks('vm-108', 'start')
  expect(task).toMatchObject({ state: 'running' })
  const [row] = await lab.database.db<{ host: string }[]>`
    select args->>'host' as host from lab.task where machine = 'vm-108' and kind = 'start'`
  const host = { site: 'vcenter', host: row?.host }
  await lab.admin('POST /lab/acts', { act: 'host-dead', ...host, mode: 'partition' })
  await lab.pass(120_000)
  expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'target-unreachable' })
  await world.pace(0)
  await lab.admin('POST /lab/acts', { act: 'host-back', ...host })
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', result: { power: 'on' } })
  expect((await world.tasks('vm-108', 'start')).map(({ state }) => state).sort()).toEqual([
    'failed',
    'succeeded',
  ])
})

test('a start that is given up in its middle is waited for, and its machine is known as what it became', async () => {
  await off('vm-110')
  const machine = await world.machine('vm-110', 'off')
  await world.pace(60)
  const asked = await world.ask(machine, 'start')
  await world.turn(asked)
  await world.cancel(asked)
  const ending = world.finish(asked)
  await world.pace(0)
  await lab.pass(120_000)
  expect(await ending).toMatchObject({ state: 'canceled', settledAt: expect.any(Date) })
  expect((await world.power('vm-110')).state).toBe('on')
  expect(await world.row(machine)).toMatchObject({ power: 'on' })
})

// promise: chains
test('a chain of three ends where the last one leads: a start without room, a stop, a stop by force', async () => {
  await off('vm-109')
  const machine = await world.machine('vm-109', 'off')
  await world.fault(full('vm-109'))
  const start = await world.ask(machine, 'start')
  expect(await world.turn(start)).toMatchObject({ reason: 'host-full' })
  const stop = await world.ask(machine, 'stop')
  const plug = await world.ask(machine, 'stop', { force: true })
  await world.clearFaults()
  const asked = await startsAsked('vm-109')
  expect(asked).toBeGreaterThan(0)
  for (const one of [start, stop, plug])
    if ((await world.operation(one.id)).settledAt === null) await world.finish(one)
  expect(await world.operation(start.id)).toMatchObject({ state: 'superseded', supersededBy: stop.id })
  expect(await world.operation(stop.id)).toMatchObject({ state: 'superseded', supersededBy: plug.id })
  expect(await world.operation(plug.id)).toMatchObject({ state: 'completed' })
  // There is room again, and nobody asks for it: the start's request was withdrawn, and nothing is left of it.
  expect(await world.tasks('vm-109', 'start')).toEqual([])
  expect(await effectsOf(db, start.jobId ?? '')).toMatchObject([{ kind: 'operation-power', state: 'undone' }])
  expect(await startsAsked('vm-109')).toBe(asked)
  expect((await world.power('vm-109')).state).toBe('off')
})
