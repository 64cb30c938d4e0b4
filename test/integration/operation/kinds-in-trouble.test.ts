import { expect, test } from 'vitest'
import type { OperationKind } from '../../../src/domain/operation/kinds/kinds.ts'
import { sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import type { Platform, Ports } from '../../../src/platforms/ports/ports.ts'
import { expire } from '../../support/ledger.ts'
import { type Asking, createOperatingWorld } from '../../support/operating.ts'

/** Counts what the worker asks of the platform, and does something after one of these calls. */
const meddling = { calls: 0, after: 0, times: 0, meddle: async (): Promise<unknown> => undefined }
const afterCall = async (): Promise<void> => {
  meddling.calls += 1
  if (meddling.calls !== meddling.after) return
  meddling.times += 1
  await meddling.meddle()
}

/** As if the worker's machine had died; what it still does as a ghost is refused. */
const loseWorker = async (): Promise<void> => {
  const running = await db<{ id: string }[]>`select id from job where state = 'running'`
  await expire(db, ...running.map(({ id }) => id))
  await sweepLeases(db)
}

type Method = (...args: unknown[]) => Promise<unknown>

const watched = <Port extends object>(port: Port): Port =>
  Object.fromEntries(
    Object.entries(port as Record<string, Method>).map(([name, method]) => [
      name,
      async (...args: unknown[]) => {
        const answer = await method(...args)
        await afterCall()
        return answer
      },
    ]),
  ) as Port

const alter = (platform: Platform): Platform => {
  const { inventory, ...ports } = platform.ports
  const all = Object.entries(ports).map(([name, port]) => [name, watched(port)])
  return {
    ...platform,
    ports: { ...(Object.fromEntries(all) as Partial<Ports>), ...(inventory && { inventory }) },
  }
}

const world = await createOperatingWorld({ alter })
const { db, site, lab } = world

/** Of all that Drover asks, so much is answered by nobody, after it was done or without; the test sees the truth. */
const answerAmiss = async (seed: number): Promise<void> => {
  const which = { caller: 'drover/test', seed }
  await world.fault({ ...which, kind: 'lost-answer', probability: 0.15 })
  await world.fault({ ...which, kind: 'error', code: 'platform-unreachable', probability: 0.1 })
  await world.fault({ ...which, kind: 'error', code: 'platform-fault', after: true, probability: 0.1 })
}

/** One of each, in an order in which the machine runs at the end. */
const doAll = async (machine: string, ref: string): Promise<void> => {
  const steps: readonly (readonly [OperationKind, Asking])[] = [
    ['snapshot', { params: { name: 'kept' } }],
    ['hibernate', {}],
    ['wake', {}],
    ['restore', { params: { snapshot: 'kept' } }],
    ['restart', { force: true }],
    ['stop', { force: true }],
    ['start', {}],
    ['clone', { params: { name: `copy-${ref}` } }],
  ]
  for (const [kind, asking] of steps) {
    meddling.calls = 0
    const { state, message } = await world.done(machine, kind, asking)
    expect([kind, state, message]).toEqual([kind, 'completed', message])
  }
}

const expectOnce = async (machine: string, ref: string): Promise<void> => {
  const done = async (kind: string) =>
    (await world.tasks(ref, kind)).filter(({ state }) => state === 'succeeded').length
  expect({
    ...{ snapshots: await done('snapshot-create'), reverts: await done('snapshot-revert') },
    ...{ saves: await done('save'), wakes: await done('restore'), clones: await done('clone') },
    ...{ restarts: await done('restart'), stops: await done('stop'), starts: await done('start') },
    // Two starts: after the snapshot was brought back, and the one that was asked for.
  }).toEqual({ snapshots: 1, reverts: 1, saves: 1, wakes: 1, clones: 1, restarts: 1, stops: 1, starts: 2 })
  expect((await world.power(ref)).state).toBe('on')
  expect(await world.row(machine)).toMatchObject({ power: 'on', savedState: null })
  const left = await db<{ kind: string; state: string }[]>`
    select e.kind, e.state from effect e join operation o on o.job_id = e.job_id
    where o.machine_id = ${machine}::uuid and e.state not in ('done', 'undone')`
  for (const { kind, state } of left) expect([kind, state]).toEqual(['saved-state-drop', 'debt'])
  const copies = await lab.database.db<{ ref: string }[]>`
    select ref from lab.machine where site = 'vcenter' and name = ${`copy-${ref}`}`
  expect(copies).toHaveLength(1)
  const { json } = await site.call(`GET /instances/${ref}/snapshots`)
  expect((json as { snapshots: unknown[] }).snapshots).toHaveLength(1)
}

test.each([
  [1, 'vm-101'],
  [2, 'vm-102'],
  [3, 'vm-103'],
])('with every third answer amiss everything is done once all the same (seed %i)', async (seed, ref) => {
  const machine = await world.machine(ref)
  await answerAmiss(seed)
  await doAll(machine, ref)
  const { json } = await lab.admin('GET /lab/faults')
  const struck = (json as { faults: { struck: number }[] }).faults.map((fault) => fault.struck)
  expect(struck.reduce((sum, times) => sum + times, 0)).toBeGreaterThan(4)
  await world.clearFaults()
  await expectOnce(machine, ref)
})

test.each([
  [1, 'vm-104'],
  [2, 'vm-105'],
  [3, 'vm-106'],
  [4, 'vm-107'],
  [5, 'vm-108'],
  [6, 'vm-109'],
])('a worker that is lost after call %i of each leaves nothing undone or done twice', async (after, ref) => {
  const machine = await world.machine(ref)
  Object.assign(meddling, { calls: 0, after, times: 0, meddle: loseWorker })
  await doAll(machine, ref)
  expect(meddling.times).toBeGreaterThan(0)
  meddling.after = 0
  await expectOnce(machine, ref)
})

test('what is given up leaves nothing of itself, after whichever call that is', async () => {
  const machine = await world.machine('vm-111')
  let canceled = 0
  for (const kind of ['snapshot', 'clone'] as const)
    for (let after = 1; after <= 6; after += 1) {
      const name = `${kind}-${after}`
      const asked = await world.ask(machine, kind, { params: { name } })
      const meddle = () => world.cancel(asked)
      Object.assign(meddling, { calls: 0, after, times: 0, meddle })
      const ended = await world.finish(asked)
      if (meddling.times > 0) canceled += 1
      expect([name, ended.state, ended.settledAt]).toEqual([
        ...[name, meddling.times > 0 ? 'canceled' : 'completed', expect.any(Date)],
      ])
      const left = (await called(name)) + (await snapshotsCalled('vm-111', name))
      expect([name, left]).toEqual([name, meddling.times > 0 ? 0 : 1])
    }
  meddling.after = 0
  expect(canceled).toBeGreaterThan(4)
})

test('a deadline that passes after whichever call never costs the memory', async () => {
  const machine = await world.machine('vm-110')
  const guest = async () =>
    (await site.call('GET /instances/vm-110/guest')).json as { boot_id: string; counter: number }
  const { boot_id: ranFrom } = await guest()
  let late = 0
  for (let after = 1; after <= 6; after += 1)
    for (const kind of ['hibernate', 'wake'] as const) {
      const asked = await world.ask(machine, kind)
      const meddle = async () => {
        await db`update operation set deadline_at = now() where id = ${asked.id}::uuid`
        await loseWorker()
      }
      Object.assign(meddling, { calls: 0, after, times: 0, meddle })
      const ended = await world.finish(asked)
      meddling.after = 0
      if (ended.state === 'failed') late += 1
      expect([kind, after, ended.reason]).toEqual([
        ...[kind, after, meddling.times > 0 ? 'deadline-exceeded' : 'completed'],
      ])
      // Its row says how it is, so that it can be asked for what is left to do.
      const { power, savedState } = await world.row(machine)
      expect([power, savedState !== null]).toEqual([(await world.power('vm-110')).state, power === 'off'])
      const left = kind === 'hibernate' ? power === 'on' : power === 'off'
      if (left) expect(await world.done(machine, kind)).toMatchObject({ state: 'completed' })
    }
  expect((await guest()).boot_id).toBe(ranFrom)
  expect(late).toBeGreaterThan(4)
})

/** How many machines of that name are there. */
const called = async (name: string): Promise<number> => {
  const rows = await lab.database.db<{ ref: string }[]>`
    select ref from lab.machine where site = 'vcenter' and name = ${name}`
  const statuses = await Promise.all(rows.map(({ ref }) => site.call(`GET /instances/${ref}/power`)))
  return statuses.filter(({ status }) => status === 200).length
}

const snapshotsCalled = async (ref: string, name: string): Promise<number> => {
  const { json } = await site.call(`GET /instances/${ref}/snapshots`)
  return (json as { snapshots: { name: string }[] }).snapshots.filter((one) => one.name === name).length
}
