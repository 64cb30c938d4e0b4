import { expect, test } from 'vitest'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import { capabilities as all, type Capability, type Platform } from '../../../src/platforms/ports/ports.ts'
import type { TaskHandle } from '../../../src/platforms/ports/task.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createOperatingWorld } from '../../support/operating.ts'

const capabilities = new Set<Capability>(all)
/** Whether every task fails, for a reason that might pass, and nothing comes of it. */
let failing = false
/** Whether the machine alone tells of a task, as on a platform that knows no names of calls. */
let nameless = false
const failed = new PlatformError({
  ...{ code: 'platform-fault', failure: 'unknown', message: 'It broke.', remedy: 'Nothing.' },
})
const failedTask = (handle: TaskHandle): TaskHandle => ({
  id: handle.id,
  status: async () => ({ id: handle.id, state: 'failed', percent: 100, result: null, error: failed }),
  wait: () => Promise.reject(failed),
})
const alter = (platform: Platform): Platform => {
  const { machines } = platform.ports
  if (!machines) return platform
  const findTask: typeof machines.findTask = async (call, trace) => {
    const found = await machines.findTask(call, nameless ? { machine: trace.machine ?? '' } : trace)
    if (nameless && found.found) return { found: true, value: { ...found.value, byMachine: true } }
    return failing && found.found ? { found: true, value: failedTask(found.value) } : found
  }
  return { ...platform, capabilities, ports: { ...platform.ports, machines: { ...machines, findTask } } }
}
const world = await createOperatingWorld({ alter })
const { db, lab, site } = world

const snapshotsOf = async (ref: string): Promise<{ ref: string; name: string }[]> =>
  (
    (await site.call(`GET /instances/${ref}/snapshots`)).json as {
      snapshots: { ref: string; name: string }[]
    }
  ).snapshots

test('a snapshot is made once, and its ref told', async () => {
  const machine = await world.machine('vm-101')
  const operation = await world.done(machine, 'snapshot', { params: { name: 'before' } })
  const [snapshot] = await snapshotsOf('vm-101')
  expect(operation).toMatchObject({
    ...{ state: 'completed', progress: 100, error: null },
    result: { snapshot: snapshot?.ref, name: 'before' },
  })
  expect(await world.tasks('vm-101', 'snapshot-create')).toHaveLength(1)
  expect(await effectsOf(db, operation.jobId ?? '')).toMatchObject([
    { kind: 'operation-snapshot', state: 'done' },
  ])
})

test('one without a name gets one that tells when it was asked for', async () => {
  const machine = await world.machine('vm-102')
  const operation = await world.done(machine, 'snapshot')
  const [snapshot] = await snapshotsOf('vm-102')
  expect(snapshot?.name).toBe(`drover ${operation.createdAt.toISOString()}`)
})

// promise: lost-answer
test('one whose answer was lost is found again, and not made twice', async () => {
  const machine = await world.machine('vm-103')
  await world.fault({ kind: 'lost-answer', call: 'snapshot-create', machine: 'vm-103', times: 1 })
  const asked = await world.ask(machine, 'snapshot', { params: { name: 'lost' } })
  const waiting = await world.turn(asked)
  expect(waiting).toMatchObject({ state: 'running', reason: 'target-unreachable' })
  expect(await world.finish(asked)).toMatchObject({ state: 'completed' })
  expect(await snapshotsOf('vm-103')).toHaveLength(1)
  expect(await world.tasks('vm-103', 'snapshot-create')).toHaveLength(1)
})

// promise: foreign-task
test('what somebody else is at is waited for, and never taken for ours', async () => {
  const machine = await world.machine('vm-110')
  const refusal = { code: 'platform-busy', failure: 'refused', call: 'snapshot-create' } as const
  await world.fault({ kind: 'error', ...refusal, machine: 'vm-110', times: 1 })
  const asked = await world.ask(machine, 'snapshot', { params: { name: 'ours' } })
  expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'target-busy' })
  await world.pace(60)
  await site.call('POST /instances/vm-110/snapshots', { name: 'theirs', memory: false, quiesce: false })
  nameless = true
  const waiting = await world.turn(asked)
  expect(waiting).toMatchObject({ state: 'running', reason: 'target-busy' })
  expect(waiting.message).toContain('whose it is cannot be told')
  expect(await world.tasks('vm-110', 'snapshot-create')).toHaveLength(1)
  await lab.pass(60_000)
  await world.pace(0)
  nameless = false
  expect(await world.finish(asked)).toMatchObject({ state: 'completed', result: { name: 'ours' } })
  expect((await snapshotsOf('vm-110')).map(({ name }) => name).sort()).toEqual(['ours', 'theirs'])
})

test('what takes long is waited for outside of turns, with progress that never goes back', async () => {
  await world.pace(60)
  const machine = await world.machine('vm-104')
  const asked = await world.ask(machine, 'snapshot', { params: { name: 'slow' } })
  const early = await world.turn(asked)
  expect(early).toMatchObject({ state: 'running', reason: 'in-progress' })
  await lab.pass(20_000)
  const later = await world.turn(asked)
  expect(later.progress).toBeGreaterThan(early.progress)
  expect(later.progress).toBeLessThan(100)
  expect(later.message).toContain('"slow"')
  await lab.pass(60_000)
  expect(await world.turn(asked)).toMatchObject({ state: 'completed', progress: 100 })
  await world.pace(0)
})

// promise: own-by-id
test('one that is given up is waited for and then removed, and no other that has its name', async () => {
  const machine = await world.machine('vm-105')
  await site.done('POST /instances/vm-105/snapshots', { name: 'same', memory: false, quiesce: false })
  const [theirs] = await snapshotsOf('vm-105')
  await world.pace(60)
  const asked = await world.ask(machine, 'snapshot', { params: { name: 'same' } })
  await world.turn(asked)
  const { operation } = await world.cancel(asked)
  expect(operation).toMatchObject({ state: 'canceled', settledAt: null })
  await lab.pass(60_000)
  await world.pace(0)
  const ended = await world.finish(asked)
  expect(ended).toMatchObject({ state: 'canceled', settledAt: expect.any(Date) })
  expect(await snapshotsOf('vm-105')).toEqual([theirs])
  expect(await effectsOf(db, asked.jobId ?? '')).toMatchObject([{ state: 'undone' }])
})

test('one whose call the platform never heard leaves nothing to remove', async () => {
  const machine = await world.machine('vm-106')
  await world.fault({
    kind: 'error',
    code: 'platform-unreachable',
    call: 'snapshot-create',
    machine: 'vm-106',
  })
  const asked = await world.ask(machine, 'snapshot', { params: { name: 'never' } })
  expect(await world.turn(asked)).toMatchObject({ reason: 'target-unreachable' })
  await world.cancel(asked)
  await world.finish(asked)
  await world.clearFaults()
  expect(await snapshotsOf('vm-106')).toEqual([])
  expect(await effectsOf(db, asked.jobId ?? '')).toMatchObject([{ state: 'undone' }])
})

test('what the target cannot do is refused before anything is touched', async () => {
  const machine = await world.machine('vm-107')
  capabilities.delete('snapshots')
  const operation = await world.done(machine, 'snapshot')
  capabilities.add('snapshots')
  expect(operation).toMatchObject({ state: 'failed', reason: 'unsupported', startedAt: null })
  expect(await effectsOf(db, operation.jobId ?? '')).toEqual([])
})

test('what the platform refuses fails, with what it said', async () => {
  const machine = await world.machine('vm-108')
  await world.fault({
    ...{ kind: 'error', code: 'platform-refused', failure: 'refused', message: 'No agent could quiesce it.' },
    ...{ call: 'snapshot-create', machine: 'vm-108', times: 1 },
  })
  const operation = await world.done(machine, 'snapshot', { params: { quiesce: true } })
  expect(operation).toMatchObject({ state: 'failed', reason: 'failed' })
  expect(operation.message).toContain('No agent could quiesce it.')
  expect(await snapshotsOf('vm-108')).toEqual([])
})

test('a target that takes it on and fails at it every time is not asked for ever', async () => {
  const machine = await world.machine('vm-109')
  const asked = await world.ask(machine, 'snapshot', { params: { name: 'hopeless' } })
  failing = true
  const ended = await world.finish(asked)
  failing = false
  expect(ended).toMatchObject({ state: 'failed', reason: 'failed', settledAt: expect.any(Date) })
  expect(ended.message).toContain('10 times')
  expect(await world.tasks('vm-109', 'snapshot-create')).toHaveLength(10)
})

test('a machine that is gone from its target by then is told as gone', async () => {
  const machine = await world.machine('vm-imagined')
  expect(await world.done(machine, 'snapshot')).toMatchObject({ state: 'failed', reason: 'machine-gone' })
})
