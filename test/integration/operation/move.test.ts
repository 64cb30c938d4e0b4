import { afterEach, expect, test } from 'vitest'
import { effectsOf, holdsOf } from '../../support/ledger.ts'
import { createMovingWorld, GiB } from '../../support/moving.ts'
import { checkOperations } from '../../support/operation-invariants.ts'

const world = await createMovingWorld()
const { lab, site } = world

const hosts = ['node-1', 'node-2', 'node-3']
afterEach(async () => {
  await world.clearFaults()
  for (const host of hosts) {
    await world.act({ act: 'host-back', host })
    await world.act({ act: 'capacity-back', of: 'host', ref: host })
    await world.editHost(host, { state: 'connected', cpu_class: 'x86-64-v3' })
  }
})

test('a move to a host that was named ends there, in the same run, and the row says so', async () => {
  const machine = await world.running()
  const before = await world.power(machine.ref)
  const operation = await world.done(machine.id, 'migrate', { params: { host: 'node-3' } })
  expect(operation).toMatchObject({
    ...{ state: 'completed', reason: 'completed', progress: 100, error: null },
    result: { from: 'node-1', to: 'node-3', same_run: true },
  })
  expect(await world.power(machine.ref)).toEqual({ ...before, host: 'node-3' })
  expect(await world.row(machine.id)).toMatchObject({ host: 'node-3', power: 'on' })
  expect(await world.tasks(machine.ref, 'move')).toHaveLength(1)
  expect(await holdsOf(world.db, 'host-inbound-moves/vc.node-3')).toEqual([])
})

test('without a name it goes to the host with the most memory left', async () => {
  await world.running({ host: 'node-2', memory: 64 * GiB })
  const machine = await world.running()
  const { result } = await world.done(machine.id, 'migrate')
  expect(result).toMatchObject({ to: 'node-3' })
  await world.running({ host: 'node-3', memory: 96 * GiB })
  const next = await world.running()
  expect((await world.done(next.id, 'evict')).result).toMatchObject({ to: 'node-2' })
})

test('nothing is evicted to a host that is in maintenance; while there is no other it waits and holds nothing', async () => {
  const machine = await world.running()
  await world.editHost('node-2', { state: 'maintenance' })
  await world.editHost('node-3', { state: 'maintenance' })
  await world.sync()
  const asked = await world.ask(machine.id, 'evict', { deadlineSeconds: 60 })
  const waiting = await world.turn(asked)
  expect(waiting).toMatchObject({
    state: 'pending',
    reason: 'no-host-fits',
    deadlineAt: null,
    startedAt: null,
  })
  expect(waiting.message).toContain('node-2 is maintenance; node-3 is maintenance')
  expect(await world.jobOf(asked)).toMatchObject({ state: 'waiting', waitReason: 'no-host-fits', tokens: [] })
  const firstMs = await nextLook(asked.jobId)
  await world.turn(asked)
  await world.turn(asked)
  expect(await nextLook(asked.jobId)).toBeGreaterThan(firstMs * 2)
  await world.editHost('node-3', { state: 'connected' })
  await world.sync()
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', result: { to: 'node-3' } })
  expect(await world.tasks(machine.ref, 'move')).toHaveLength(1)
})

const nextLook = async (jobId: string | null): Promise<number> => {
  const [row] = await world.db<{ ms: number }[]>`
    select (extract(epoch from wait_until - wait_since) * 1000)::float8 as ms from job where id = ${jobId}::uuid`
  return row?.ms ?? 0
}

test('one that waits in vain for a host ends in time', async () => {
  const machine = await world.running({ memory: 300 * GiB - 100 * GiB })
  for (const host of ['node-2', 'node-3']) await world.act({ act: 'capacity-gone', of: 'host', ref: host })
  const asked = await world.ask(machine.id, 'migrate', { params: { host: 'node-2' } })
  expect(await world.turn(asked)).toMatchObject({ state: 'pending', reason: 'no-host-fits' })
  await world.db`update operation set expires_at = now() where id = ${asked.id}::uuid`
  expect(await world.endOf(asked)).toMatchObject({ state: 'failed', reason: 'wait-expired' })
  expect(await world.tasks(machine.ref, 'move')).toEqual([])
  await site.done(`POST /instances/${machine.ref}/power`, { verb: 'stop' })
})

test.each([
  ['the one it runs on', 'node-1', 'is where the machine runs'],
  ['one that is gone by then', 'node-9', 'has no host node-9'],
])('to %s no machine is moved', async (_what, host, why) => {
  const machine = await world.running()
  await world.db`insert into host (id, site_id, ref, name, hash, revision, facts)
    select gen_random_uuid(), target_id, 'host-9', 'node-9', '', 1, '{}' from machine where id = ${machine.id}::uuid`
  const asked = await world.ask(machine.id, 'migrate', { params: { host } })
  await world.db`delete from host where name = 'node-9'`
  const operation = await world.finish(asked)
  expect(operation).toMatchObject({
    ...{ state: 'failed', reason: 'host-unsuitable', startedAt: null },
    error: { remedy: expect.stringContaining('another host') },
  })
  expect(operation.message).toContain(why)
  expect(await effectsOf(world.db, operation.jobId ?? '')).toEqual([])
})

test('to a host that the target does not have no move is let in', async () => {
  const machine = await world.running()
  await expect(world.ask(machine.id, 'migrate', { params: { host: 'node-9' } })).rejects.toMatchObject({
    ...{ code: 'host-unknown', field: 'params.host' },
  })
})

test('a machine goes to no host of another class of CPU', async () => {
  const machine = await world.running()
  await world.editHost('node-2', { cpu_class: 'x86-64-v4' })
  await world.sync()
  const operation = await world.done(machine.id, 'migrate', { params: { host: 'node-2' } })
  expect(operation).toMatchObject({ state: 'failed', reason: 'host-unsuitable' })
  expect(operation.message).toContain('has CPUs of class x86-64-v4, not x86-64-v3')
  expect((await world.done(machine.id, 'evict')).result).toMatchObject({ to: 'node-3' })
})

test('a machine that no host may take is said to be bound, and stays', async () => {
  const machine = await world.running()
  await world.fault({
    ...{ kind: 'error', code: 'platform-refused', failure: 'refused', call: 'move-check' },
    ...{ machine: machine.ref, message: 'It has a disk on local storage.' },
  })
  const operation = await world.done(machine.id, 'evict')
  expect(operation).toMatchObject({ state: 'failed', reason: 'machine-not-movable' })
  expect(operation.message).toContain('It has a disk on local storage.')
  expect((await world.power(machine.ref)).host).toBe('node-1')
})

test('while a person moves the machine by hand it waits, and has nothing to do when that is done', async () => {
  const machine = await world.running({ moveMs: 3_600_000 })
  await world.pace(1)
  await site.call(`POST /instances/${machine.ref}/move`, { host: 'node-2' })
  const asked = await world.ask(machine.id, 'evict')
  const waiting = await world.turn(asked)
  expect(waiting).toMatchObject({ state: 'pending', reason: 'other-move', startedAt: null })
  await lab.pass(3_600_000)
  await world.pace(0)
  expect(await world.finish(asked)).toMatchObject({
    state: 'completed',
    result: { from: 'node-1', to: 'node-2', by: 'somebody else' },
  })
  expect(await world.tasks(machine.ref, 'move')).toHaveLength(1)
})

// promise: lost-answer
test('a move whose answer was lost is found again by its name, and not begun twice', async () => {
  const machine = await world.running({ moveMs: 3_600_000 })
  await world.pace(1)
  await world.fault({ kind: 'lost-answer', call: 'move', machine: machine.ref, times: 1 })
  const asked = await world.ask(machine.id, 'migrate', { params: { host: 'node-2' } })
  expect(await world.until(asked, 'target-unreachable')).toMatchObject({ state: 'running' })
  expect(await world.until(asked, 'move-preparing')).toMatchObject({ state: 'running', progress: 3 })
  await lab.pass(3_600_000)
  await world.pace(0)
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', result: { to: 'node-2' } })
  expect(await world.tasks(machine.ref, 'move')).toHaveLength(1)
})

test('when the host dies to which it goes, it runs on where it was and goes to another', async () => {
  const machine = await world.running({ moveMs: 3_600_000 })
  await world.pace(1)
  const asked = await world.ask(machine.id, 'evict')
  const going = await world.until(asked, 'move-preparing')
  const first = going.message.includes('node-2') ? 'node-2' : 'node-3'
  await world.act({ act: 'host-dead', host: first, mode: 'crash' })
  await lab.pass(3_600_000)
  const failed = await world.turn(asked)
  expect(failed).toMatchObject({ state: 'running', reason: 'move-scheduling' })
  expect(failed.message).toContain(`The move to ${first} failed`)
  expect(await world.row(machine.id)).toMatchObject({ power: 'on', host: 'node-1' })
  await world.pace(0)
  const other = first === 'node-2' ? 'node-3' : 'node-2'
  expect(await world.finish(asked)).toMatchObject({
    state: 'completed',
    result: { from: 'node-1', to: other },
  })
  expect(await world.power(machine.ref)).toMatchObject({ state: 'on', host: other })
  expect(await world.tasks(machine.ref, 'move')).toHaveLength(2)
})

test('a move that somebody aborts at the target ends failed, and says so', async () => {
  const machine = await world.running({ stallAt: 30 })
  const asked = await world.ask(machine.id, 'evict')
  await world.until(asked, 'not-converging')
  const [task] = await world.tasks(machine.ref, 'move')
  const { tasks } = (await site.call(`GET /tasks?machine=${machine.ref}`)).json as { tasks: { id: string }[] }
  expect(task?.state).toBe('running')
  await site.call(`POST /tasks/${tasks[0]?.id}/abort`)
  expect(await world.endOf(asked)).toMatchObject({ state: 'failed', reason: 'move-aborted' })
  expect(await world.row(machine.id)).toMatchObject({ host: 'node-1' })
})

test('a host that fills up at the last moment is not waited for: the move goes to another', async () => {
  const machine = await world.running()
  await world.fault({
    ...{ kind: 'error', code: 'platform-no-capacity', failure: 'refused', call: 'move', times: 1 },
    machine: machine.ref,
  })
  const operation = await world.done(machine.id, 'evict')
  expect(operation).toMatchObject({ state: 'completed', result: { from: 'node-1' } })
  expect(await effectsOf(world.db, operation.jobId ?? '')).toMatchObject([{ state: 'done' }])
})

test('one that was refused, and is then moved by hand, leaves nothing open behind it', async () => {
  const machine = await world.running()
  await world.fault({
    ...{ kind: 'error', code: 'platform-no-capacity', failure: 'refused', call: 'move' },
    machine: machine.ref,
  })
  const asked = await world.ask(machine.id, 'migrate', { params: { host: 'node-2' } })
  await world.turn(asked)
  await world.turn(asked)
  expect(await world.operation(asked.id)).toMatchObject({ state: 'running' })
  await world.clearFaults()
  await site.done(`POST /instances/${machine.ref}/move`, { host: 'node-3' })
  const operation = await world.finish(asked)
  expect(operation).toMatchObject({ state: 'completed', result: { to: 'node-3', by: 'somebody else' } })
  expect(await effectsOf(world.db, operation.jobId ?? '')).toMatchObject([{ state: 'done' }])
  expect(await checkOperations(world.db)).toEqual([])
})
