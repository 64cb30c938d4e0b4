import { beforeAll, expect, test } from 'vitest'
import { type Armed, ending, onEachFleet } from '../../support/fleet.ts'
import { createLab, type TestLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import {
  createOperatedWorld,
  type OperatedMachine,
  type OperatedWorld,
} from '../../support/operated-world.ts'
import { until } from '../../support/wait.ts'

/** Long enough to be given up half-way, on any machine; `pace` makes it three quarters of a minute. */
const moveMs = 90_000
const pace = 0.5

const points: readonly Armed[] = [
  'kill:before-undo',
  'stop:before-undo',
  'kill:after-undo',
  'stop:after-undo',
]

await onEachFleet('a move that is given up', { conductors: 1, workers: 0, anyBell: true }, (fleet) => {
  let lab!: TestLab
  let world!: OperatedWorld
  const free: OperatedMachine[] = []
  beforeAll(async () => {
    lab = await createLab({ world: 'large', machines: 8, pace })
    world = await createOperatedWorld(fleet.db, lab, { oneCluster: true })
    free.push(...world.machines)
  })

  // promise: last-wish
  test.each(fleet.share(points))(
    'is aborted once and its machine restarted once where it was, when a worker comes to %s',
    async (armed) => {
      const machine = free.shift() as OperatedMachine
      await lab.admin(`PATCH /lab/sites/vcenter/instances/${machine.ref}`, { move_ms: moveMs })
      const from = await world.host(machine)
      const worker = await fleet.worker(armed)
      const move = await world.mustAsk(machine, { kind: 'migrate' })
      await until(async () => (await world.read(move.id)).reason === 'move-syncing', {
        what: 'the memory to be copied',
        withinMs: 60_000,
      })
      const restart = await world.mustAsk(machine, { kind: 'restart', force: true })
      if (armed.startsWith('kill')) expect((await ending(worker)).signal).toBe('SIGKILL')
      else await until(() => worker.isFrozen, { what: 'the worker to freeze', withinMs: 60_000 })
      const heir = await fleet.worker()
      await world.settled()
      expect(await world.read(move.id)).toMatchObject({ state: 'superseded', supersededBy: restart.id })
      expect(await world.read(restart.id)).toMatchObject({ state: 'completed' })
      expect(await effectsOf(world.db, move.jobId ?? '')).toMatchObject([
        { kind: 'operation-move', state: 'undone' },
      ])
      const tasks = () => lab.database.db<{ kind: string; state: string }[]>`
        select kind, state from lab.task where machine = ${machine.ref} and not inner_work order by n`
      const done = await tasks()
      expect(done).toEqual([
        { kind: 'move', state: 'failed' },
        { kind: 'restart', state: 'succeeded' },
      ])
      if (worker.running) {
        worker.resume()
        await until(() => worker.lines.some((line) => line.includes('the outcome was refused')), {
          what: 'the zombie to notice that it is one',
          withinMs: 60_000,
        })
        expect(await tasks()).toEqual(done)
      }
      expect(await world.power(machine)).toBe('on')
      expect(await world.host(machine)).toBe(from)
      await world.expectWhole()
      await Promise.all([heir.stop(), ...(worker.running ? [worker.stop()] : [])])
    },
  )
})
