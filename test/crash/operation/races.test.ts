import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { DroverError } from '../../../src/errors.ts'
import { onEachFleet } from '../../support/fleet.ts'
import { createLab, type TestLab } from '../../support/lab.ts'
import {
  createOperatedWorld,
  type OperatedMachine,
  type OperatedWorld,
} from '../../support/operated-world.ts'
import { until } from '../../support/wait.ts'

const fault = (lab: TestLab, { ref }: OperatedMachine, rule: Record<string, unknown>) =>
  lab.admin('POST /lab/faults', { site: 'vcenter', machine: ref, ...rule })

await onEachFleet('what meets at a machine', { workers: 1, conductors: 1, leaseMs: 10_000 }, ({ db }) => {
  let lab: TestLab
  let world: OperatedWorld
  const machineOf = (n: number): OperatedMachine => {
    const machine = world.machines[n - 1]
    if (!machine) throw new Error(`There is no machine ${n}.`)
    return machine
  }
  const becomes = (made: OperationRow, state: string) =>
    until(async () => (await world.read(made.id)).state === state, {
      what: `${made.kind} to be ${state}`,
      withinMs: 60_000,
    })
  const ended = (made: OperationRow) =>
    until(async () => (await world.read(made.id)).settledAt !== null, {
      what: `${made.kind} to settle`,
      withinMs: 60_000,
    })
  const expectChain = async (chain: readonly OperationRow[]) => {
    for (const [at, one] of chain.entries()) {
      const newer = chain[at + 1]
      expect(await world.read(one.id)).toMatchObject(
        newer ? { state: 'superseded', supersededBy: newer.id } : { state: 'completed', supersededBy: null },
      )
    }
  }

  beforeAll(async () => {
    lab = await createLab({ world: 'large', machines: 40, pace: 0.3 })
    world = await createOperatedWorld(db, lab)
  })
  beforeEach(() => lab.admin('DELETE /lab/faults'))

  test('of twenty who ask at once one has the machine, and the others know who', async () => {
    const machine = machineOf(1)
    const asked = await Promise.all(
      Array.from({ length: 20 }, () => world.ask(machine, { kind: 'restart', force: true })),
    )
    const made = asked.filter((one): one is OperationRow => !(one instanceof DroverError))
    expect(made).toHaveLength(1)
    for (const one of asked) if (one instanceof DroverError) expect(one.message).toContain(made[0]?.id)
    for (const one of made) await ended(one)
    await expectChain(made)
  })

  test('start <- stop <- stop!, while the start has no host: the machine stays off', async () => {
    const machine = machineOf(10)
    await fault(lab, machine, {
      kind: 'error',
      code: 'platform-no-capacity',
      failure: 'refused',
      call: 'start',
    })
    const start = await world.mustAsk(machine, { kind: 'start' })
    await becomes(start, 'running')
    const stop = await world.mustAsk(machine, { kind: 'stop' })
    const plug = await world.mustAsk(machine, { kind: 'stop', force: true })
    await ended(plug)
    await ended(start)
    await expectChain([start, stop, plug])
    expect(await world.power(machine)).toBe('off')
  })

  test('stop <- restart! of a guest that does not hear: it runs anew, once', async () => {
    const machine = machineOf(2)
    await lab.admin(`PATCH /lab/sites/vcenter/instances/${machine.ref}`, { shutdown: 'hangs' })
    const stop = await world.mustAsk(machine, { kind: 'stop' })
    await becomes(stop, 'running')
    const restart = await world.mustAsk(machine, { kind: 'restart', force: true })
    await ended(restart)
    await expectChain([stop, restart])
    expect(await world.power(machine)).toBe('on')
  })

  test('the older one ends while its place is taken: it has ended or it gave way, and its machine is as the last one wants', async () => {
    const machines = Array.from({ length: 8 }, (_, at) => machineOf(at + 11)).filter(
      (one) => one.ref !== 'vm-20',
    )
    await Promise.all(
      machines.map(async (machine) => {
        const restart = await world.mustAsk(machine, { kind: 'restart' })
        // Any moment around its end: as soon as its platform has done what was asked.
        await until(
          async () => {
            const [task] = await lab.database.db`
              select from lab.task where machine = ${machine.ref} and kind = 'start' and state = 'succeeded'`
            return task !== undefined
          },
          { what: 'the machine to run anew', withinMs: 60_000, everyMs: 5 },
        )
        const stop = await world.mustAsk(machine, { kind: 'stop', force: true })
        await ended(stop)
        const older = await world.read(restart.id)
        expect(['completed', 'superseded']).toContain(older.state)
        expect(older.supersededBy).toBe(older.state === 'superseded' ? stop.id : null)
        expect(await world.power(machine)).toBe('off')
      }),
    )
  })

  test('as soon as one has ended the next is let in', async () => {
    const machine = machineOf(3)
    for (const kind of ['stop', 'start', 'stop', 'start'] as const) {
      const made = await world.mustAsk(machine, { kind, force: true })
      await becomes(made, 'completed')
    }
    expect(await world.power(machine)).toBe('on')
  })

  test('one that is canceled while it waits for the older one leaves the machine as that one left it', async () => {
    const machine = machineOf(4)
    await fault(lab, machine, { kind: 'stall', call: 'shutdown', ms: 3_000 })
    const older = await world.mustAsk(machine, { kind: 'stop', force: false })
    await becomes(older, 'running')
    const newer = await world.mustAsk(machine, { kind: 'restart', force: true })
    await world.cancel(newer.id)
    await ended(older)
    await ended(newer)
    expect(await world.read(older.id)).toMatchObject({ state: 'superseded', supersededBy: newer.id })
    expect(await world.read(newer.id)).toMatchObject({ state: 'canceled', startedAt: null })
  })

  test('one that makes no sense takes the place of nobody', async () => {
    const machine = machineOf(5)
    await fault(lab, machine, { kind: 'stall', call: 'power', ms: 1_000, times: 2 })
    const restart = await world.mustAsk(machine, { kind: 'restart' })
    await world.db`update machine set run_policy = 'always-on' where id = ${machine.id}::uuid`
    expect(await world.ask(machine, { kind: 'stop', force: true })).toMatchObject({
      code: 'not-for-run-policy',
    })
    await ended(restart)
    await expectChain([restart])
    expect(await world.power(machine)).toBe('on')
  })

  test('and after all that nothing is left and no law was broken', async () => {
    await world.settled()
    await world.expectWhole()
  })
})
