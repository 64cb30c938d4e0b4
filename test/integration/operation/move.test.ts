import { expect, test } from 'vitest'
import { createMovingWorld } from '../../support/moving.ts'

const world = await createMovingWorld()

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
})
