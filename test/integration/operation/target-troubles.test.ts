import { expect, test } from 'vitest'
import { createOperatingWorld } from '../../support/operating.ts'

const world = await createOperatingWorld()

test.each([
  ['platform-busy', 'refused', 'target-busy', 'vm-101'],
  ['platform-fault', 'unknown', 'target-fails', 'vm-102'],
])(
  '%s is outlasted and shown, and the operation is done when it passes',
  async (code, failure, reason, ref) => {
    const machine = await world.machine(ref)
    await world.fault({ kind: 'error', code, failure, call: 'stop', machine: ref })
    const asked = await world.ask(machine, 'stop', { force: true })
    expect(await world.turn(asked)).toMatchObject({ state: 'running', reason })
    await world.clearFaults()
    expect(await world.finish(asked)).toMatchObject({ state: 'completed' })
    expect((await world.power(ref)).state).toBe('off')
  },
)
