import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { EffectSpec } from '../../../src/ledger/effects.ts'
import { moveMachine } from '../../../src/operation/kinds/move.ts'
import { newPlan } from '../../../src/operation/kinds/move-plan.ts'

const hostOf = (name: string) => ({ ref: name, name })

/** A machine that is asked to move by a turn before which the answer to the same call was lost, and nothing came of it. */
const createScene = () => {
  const at = { host: 'node-1', moved: false }
  const move = { ...newPlan(hostOf('node-1'), 'run'), to: hostOf('node-2'), asked: true }
  const status = { id: 't', state: 'succeeded', percent: 100, result: null, error: null }
  const liveMove = {
    findTask: async () =>
      at.moved ? { found: true, value: { status: async () => status } } : { found: false },
    // The platform is done with it before it has answered.
    move: async () => {
      Object.assign(at, { host: 'node-2', moved: true })
      return { id: 't' }
    },
  }
  const power = {
    power: async () => ({ found: true, value: { state: 'on', host: at.host, boot_id: 'run' } }),
  }
  const machine = {
    ...{ id: 'm', ref: 'vm-1', name: 'web', power: 'on', savedState: null },
    get host() {
      return at.host
    },
  }
  const ctx = {
    ...{ job: { id: 'job', leaseEpoch: 2 }, clock: systemClock, signal: new AbortController().signal },
    ...{ checkpointed: { move }, confirm: () => {} },
    effect: async ({ observe, act }: EffectSpec) => {
      expect(await observe(ctx.signal)).toEqual({ found: false })
      return { id: 'e', adopted: false, ...(await act(ctx.signal)) }
    },
  }
  const capabilities = new Set(['live-move', 'power'])
  return {
    ctx,
    machine,
    ...{ target: { name: 'oslo' }, platform: { kind: 'lab', capabilities, ports: { liveMove, power } } },
    operation: { kind: 'migrate', params: { host: 'node-2' }, force: false, ranMs: 0, pastReturn: false },
  }
}

test('a machine that moves while it is asked to is seen where it is now, not where it was before the call', async () => {
  expect(await moveMachine.perform(createScene() as never)).toMatchObject({
    type: 'done',
    result: { from: 'node-1', to: 'node-2', same_run: true },
    machine: { power: 'on', host: 'node-2' },
  })
})
