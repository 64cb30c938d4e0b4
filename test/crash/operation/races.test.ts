import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
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

/** Machines of a lab and the processes that operate them; both are made before the first test. */
class Scene {
  lab!: TestLab
  world!: OperatedWorld

  async begin(db: Db): Promise<void> {
    this.lab = await createLab({ world: 'large', machines: 40, pace: 0.3 })
    this.world = await createOperatedWorld(db, this.lab)
  }

  machineOf(n: number): OperatedMachine {
    const machine = this.world.machines[n - 1]
    if (!machine) throw new Error(`There is no machine ${n}.`)
    return machine
  }

  becomes({ id, kind }: OperationRow, state: string): Promise<true> {
    return until(async () => (await this.world.read(id)).state === state, {
      what: `${kind} to be ${state}`,
      withinMs: 60_000,
    })
  }

  ended({ id, kind }: OperationRow): Promise<true> {
    return until(async () => (await this.world.read(id)).settledAt !== null, {
      what: `${kind} to settle`,
      withinMs: 60_000,
    })
  }

  /** Each gave way to the next, and the last one is done. */
  async expectChain(chain: readonly OperationRow[]): Promise<void> {
    for (const [at, one] of chain.entries()) {
      const newer = chain[at + 1]
      expect(await this.world.read(one.id)).toMatchObject(
        newer ? { state: 'superseded', supersededBy: newer.id } : { state: 'completed', supersededBy: null },
      )
    }
  }
}

const chains = (scene: Scene): void => {
  test('of twenty who ask at once one has the machine, and the others know who', async () => {
    const machine = scene.machineOf(1)
    const asked = await Promise.all(
      Array.from({ length: 20 }, () => scene.world.ask(machine, { kind: 'restart', force: true })),
    )
    const made = asked.filter((one): one is OperationRow => !(one instanceof DroverError))
    expect(made).toHaveLength(1)
    for (const one of asked) if (one instanceof DroverError) expect(one.message).toContain(made[0]?.id)
    for (const one of made) await scene.ended(one)
    await scene.expectChain(made)
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
    await scene.becomes(start, 'running')
    const stop = await scene.world.mustAsk(machine, { kind: 'stop' })
    const plug = await scene.world.mustAsk(machine, { kind: 'stop', force: true })
    await scene.ended(plug)
    await scene.ended(start)
    await scene.expectChain([start, stop, plug])
    expect(await scene.world.power(machine)).toBe('off')
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

const moments = (scene: Scene): void => {
  test('the older one ends while its place is taken: it has ended or it gave way, and its machine is as the last one wants', async () => {
    const machines = Array.from({ length: 8 }, (_, at) => scene.machineOf(at + 11)).filter(
      (one) => one.ref !== 'vm-20',
    )
    await Promise.all(
      machines.map(async (machine) => {
        const restart = await scene.world.mustAsk(machine, { kind: 'restart' })
        // Any moment around its end: as soon as its platform has done what was asked.
        await until(
          async () => {
            const [task] = await scene.lab.database.db`
              select from lab.task where machine = ${machine.ref} and kind = 'start' and state = 'succeeded'`
            return task !== undefined
          },
          { what: 'the machine to run anew', withinMs: 60_000, everyMs: 5 },
        )
        const stop = await scene.world.mustAsk(machine, { kind: 'stop', force: true })
        await scene.ended(stop)
        const older = await scene.world.read(restart.id)
        expect(['completed', 'superseded']).toContain(older.state)
        expect(older.supersededBy).toBe(older.state === 'superseded' ? stop.id : null)
        expect(await scene.world.power(machine)).toBe('off')
      }),
    )
  })

  test('as soon as one has ended the next is let in', async () => {
    const machine = scene.machineOf(3)
    for (const kind of ['stop', 'start', 'stop', 'start'] as const) {
      const made = await scene.world.mustAsk(machine, { kind, force: true })
      await scene.becomes(made, 'completed')
    }
    expect(await scene.world.power(machine)).toBe('on')
  })

  test('one that is canceled while it waits for the older one leaves the machine as that one left it', async () => {
    const machine = scene.machineOf(4)
    await fault(scene.lab, machine, { kind: 'stall', call: 'shutdown', ms: 3_000 })
    const older = await scene.world.mustAsk(machine, { kind: 'stop', force: false })
    await scene.becomes(older, 'running')
    const newer = await scene.world.mustAsk(machine, { kind: 'restart', force: true })
    await scene.world.cancel(newer.id)
    await scene.ended(older)
    await scene.ended(newer)
    expect(await scene.world.read(older.id)).toMatchObject({ state: 'superseded', supersededBy: newer.id })
    expect(await scene.world.read(newer.id)).toMatchObject({ state: 'canceled', startedAt: null })
  })

  test('one that makes no sense takes the place of nobody', async () => {
    const machine = scene.machineOf(5)
    await fault(scene.lab, machine, { kind: 'stall', call: 'power', ms: 1_000, times: 2 })
    const restart = await scene.world.mustAsk(machine, { kind: 'restart' })
    await scene.world.db`update machine set run_policy = 'always-on' where id = ${machine.id}::uuid`
    expect(await scene.world.ask(machine, { kind: 'stop', force: true })).toMatchObject({
      code: 'not-for-run-policy',
    })
    await scene.ended(restart)
    await scene.expectChain([restart])
    expect(await scene.world.power(machine)).toBe('on')
  })
}

await onEachFleet('what meets at a machine', { workers: 1, conductors: 1, leaseMs: 10_000 }, ({ db }) => {
  const scene = new Scene()
  beforeAll(() => scene.begin(db))
  beforeEach(() => scene.lab.admin('DELETE /lab/faults'))
  chains(scene)
  moments(scene)

  test('and after all that nothing is left and no law was broken', async () => {
    await scene.world.settled()
    await scene.world.expectWhole()
  })
})
