import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { lockMachine } from '../../../db/queries/machines/machine-rows.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { DroverError } from '../../../src/errors.ts'
import { nudge } from '../../../src/ledger/jobs/nudge.ts'
import { askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { onEachFleet } from '../../support/fleet.ts'
import { effectsOf } from '../../support/ledger.ts'
import type { OperatedMachine } from '../../support/operated-world.ts'
import { fault, RaceScene } from '../../support/race-scene.ts'
import { until } from '../../support/wait.ts'

const chains = (scene: RaceScene): void => {
  test('of twenty who ask at once one has the machine, and the others know who', async () => {
    const machine = scene.machineOf(1)
    // It is not done before the last of them was heard.
    await scene.hold(machine, 'restart')
    const asked = await Promise.all(
      Array.from({ length: 20 }, () => scene.world.ask(machine, { kind: 'restart', force: true })),
    )
    await scene.clear()
    const made = asked.filter((one): one is OperationRow => !(one instanceof DroverError))
    expect(made).toHaveLength(1)
    for (const one of asked)
      if (one instanceof DroverError)
        expect(one).toMatchObject({ code: 'blocked', detail: { blocker: made[0]?.id } })
    for (const one of made) await scene.ended(one)
    await scene.expectChain(made)
    expect(await scene.tasks(machine)).toEqual(['restart'])
  })

  test('start <- stop <- stop!, while the start has no host: the machine stays off', async () => {
    const machine = scene.machineOf(10)
    await fault(scene.lab, machine, {
      kind: 'error',
      code: 'platform-no-capacity',
      failure: 'refused',
      call: 'start',
    })
    const start = await scene.world.mustAsk(machine, { kind: 'start' })
    await until(async () => (await scene.world.read(start.id)).reason === 'host-full', {
      what: 'it to find no room',
    })
    const stop = await scene.world.mustAsk(machine, { kind: 'stop' })
    const plug = await scene.world.mustAsk(machine, { kind: 'stop', force: true })
    await scene.ended(start)
    // There is room again; the request of the start was withdrawn, and nobody asks for it any more.
    await scene.clear()
    await scene.ended(plug)
    await scene.expectChain([start, stop, plug])
    expect(await scene.world.power(machine)).toBe('off')
    expect(await scene.tasks(machine)).toEqual([])
    expect(await effectsOf(scene.world.db, start.jobId ?? '')).toMatchObject([
      { kind: 'operation-power', state: 'undone' },
    ])
  })

  test('stop <- restart! of a guest that does not hear: it runs anew, once', async () => {
    const machine = scene.machineOf(2)
    await scene.lab.admin(`PATCH /lab/sites/vcenter/instances/${machine.ref}`, { shutdown: 'hangs' })
    const stop = await scene.world.mustAsk(machine, { kind: 'stop' })
    await scene.becomes(stop, 'running')
    const restart = await scene.world.mustAsk(machine, { kind: 'restart', force: true })
    await scene.ended(restart)
    await scene.expectChain([stop, restart])
    expect(await scene.world.power(machine)).toBe('on')
  })
}

/**
 * A restart that the platform has done, and the moment at which its end is about to be written: its worker waits for the
 * machine, which `meanwhile` has.
 */
const beforeItsEnd = async <Done>(
  scene: RaceScene,
  machine: OperatedMachine,
  meanwhile: (tx: Tx) => Promise<Done>,
): Promise<{ readonly restart: OperationRow; readonly done: Done }> => {
  await scene.hold(machine, 'start', true)
  const restart = await scene.world.mustAsk(machine, { kind: 'restart' })
  await until(async () => (await scene.tasks(machine)).includes('start'), {
    what: 'the machine to be started',
    withinMs: 60_000,
  })
  await scene.runs(machine, 'on')
  const done = (await scene.world.db.begin(async (tx) => {
    await lockMachine(tx, machine.id)
    await scene.clear()
    await scene.waitForLock('drover-worker')
    return await meanwhile(tx)
  })) as Done
  nudge(scene.world.db)
  return { restart, done }
}

/** Before the end of the older one is written. */
const askBefore = async (scene: RaceScene, machine: OperatedMachine) => {
  const { restart, done } = await beforeItsEnd(scene, machine, (tx) =>
    askOperation(tx, {
      ...{ machineId: machine.id, kind: 'stop', force: true, params: {}, onConflict: 'supersede' },
      ...{ cause: 'person', by: 'test', deadlineSeconds: 120, waitSeconds: 3_600 },
    }),
  )
  return { restart, stop: done.operation }
}

/** While it is written: whoever asks stands behind the worker, and is let in by what that leaves. */
const askBehind = async (scene: RaceScene, machine: OperatedMachine) => {
  const { restart, done } = await beforeItsEnd(scene, machine, async () => {
    const asking = scene.world.mustAsk(machine, { kind: 'stop', force: true })
    await scene.waitForLock('drover-test')
    return { asking }
  })
  return { restart, stop: await done.asking }
}

const moments = (scene: RaceScene): void => {
  // promise: last-wish
  test('the older one ends while its place is taken: it has ended or it gave way, and its machine is as the last one wants', async () => {
    const asked = [
      { machine: scene.machineOf(11), ask: askBefore, gaveWay: true },
      { machine: scene.machineOf(12), ask: askBehind, gaveWay: false },
    ]
    for (const { machine, ask, gaveWay } of asked) {
      const { restart, stop } = await ask(scene, machine)
      await scene.ended(stop)
      await scene.ended(restart)
      expect(await scene.world.read(restart.id)).toMatchObject({
        ...{ state: gaveWay ? 'superseded' : 'completed', supersededBy: gaveWay ? stop.id : null },
      })
      expect(await scene.world.read(stop.id)).toMatchObject({ state: 'completed' })
      expect(await scene.tasks(machine)).toEqual(['shutdown', 'start', 'stop'])
      expect(await scene.world.power(machine)).toBe('off')
    }
  })

  test('as soon as one has ended the next is let in', async () => {
    const machine = scene.machineOf(3)
    for (const kind of ['stop', 'start', 'stop', 'start'] as const) {
      const made = await scene.world.mustAsk(machine, { kind, force: true })
      await scene.becomes(made, 'completed')
    }
    expect(await scene.world.power(machine)).toBe('on')
  })
}

const interventions = (scene: RaceScene): void => {
  // promise: last-wish
  test('one that is canceled while it waits for the older one leaves the machine as that one left it', async () => {
    const machine = scene.machineOf(4)
    await scene.hold(machine, 'shutdown')
    const older = await scene.world.mustAsk(machine, { kind: 'stop', force: false })
    await scene.becomes(older, 'running')
    const newer = await scene.world.mustAsk(machine, { kind: 'restart', force: true })
    await scene.world.cancel(newer.id)
    await scene.clear()
    await scene.ended(older)
    await scene.ended(newer)
    expect(await scene.world.read(older.id)).toMatchObject({ state: 'superseded', supersededBy: newer.id })
    expect(await scene.world.read(newer.id)).toMatchObject({ state: 'canceled', startedAt: null })
    expect(await scene.tasks(machine)).not.toContain('restart')
  })

  test('behind one that is canceled and still letting go the next is let in, and waits for that', async () => {
    const machine = scene.machineOf(6)
    await scene.hold(machine, 'shutdown')
    const older = await scene.world.mustAsk(machine, { kind: 'stop' })
    await until(() => scene.isHeld(), { what: 'the guest to be asked', withinMs: 60_000 })
    await scene.world.cancel(older.id)
    expect(await scene.world.read(older.id)).toMatchObject({ state: 'canceled', settledAt: null })
    const newer = await scene.world.mustAsk(machine, { kind: 'restart', force: true })
    await until(async () => (await scene.world.read(newer.id)).reason === 'awaiting-older', {
      what: 'the newer one to wait for the older',
      withinMs: 60_000,
    })
    expect(await scene.world.read(newer.id)).toMatchObject({ state: 'pending', startedAt: null })
    expect(await scene.tasks(machine)).toEqual([])
    await scene.clear()
    await scene.ended(newer)
    expect(await scene.world.read(older.id)).toMatchObject({
      ...{ state: 'canceled', supersededBy: null, settledAt: expect.any(Date) },
    })
    expect(await scene.world.read(newer.id)).toMatchObject({ state: 'completed' })
    expect(await scene.world.power(machine)).toBe('on')
  })

  test('one that makes no sense takes the place of nobody', async () => {
    const machine = scene.machineOf(5)
    await scene.hold(machine, 'power')
    const restart = await scene.world.mustAsk(machine, { kind: 'restart' })
    await scene.world.db`update machine set run_policy = 'always-on' where id = ${machine.id}::uuid`
    expect(await scene.world.ask(machine, { kind: 'stop', force: true })).toMatchObject({
      code: 'not-for-run-policy',
    })
    await scene.clear()
    await scene.ended(restart)
    await scene.expectChain([restart])
    expect(await scene.world.power(machine)).toBe('on')
  })
}

await onEachFleet('what meets at a machine', { workers: 1, conductors: 1, leaseMs: 10_000 }, ({ db }) => {
  const scene = new RaceScene()
  beforeAll(() => scene.begin(db))
  beforeEach(() => scene.lab.admin('DELETE /lab/faults'))
  chains(scene)
  moments(scene)
  interventions(scene)

  test('and after all that nothing is left and no law was broken', async () => {
    await scene.world.settled()
    await scene.world.expectWhole()
  })
})
