import { expect, test } from 'vitest'
import type { WireTask } from '../../../src/platforms/lab/protocol.ts'
import { createLab } from '../../support/lab.ts'

const lab = await createLab()

test('a machine that was stopped and started has another boot id, and its guest counts from the start', async () => {
  const site = await lab.signIn('vcenter')
  await lab.pass(60_000)
  const before = (await site.call('GET /instances/vm-101/guest')).json as { boot_id: string; counter: number }
  expect(before.counter).toBeGreaterThanOrEqual(600)
  await site.done('POST /instances/vm-101/power', { verb: 'stop' })
  expect((await site.call('GET /instances/vm-101/power')).json).toMatchObject({ state: 'off', boot_id: '' })
  const started = await site.done('POST /instances/vm-101/power', { verb: 'start' })
  expect(started).toMatchObject({ state: 'succeeded', error: null } satisfies Partial<WireTask>)
  const after = (await site.call('GET /instances/vm-101/guest')).json as { boot_id: string; counter: number }
  expect(after.boot_id).not.toBe(before.boot_id)
  expect(after.counter).toBeLessThan(600)
  expect(after).toMatchObject({ agent: 'running', hostname: 'web-01' })
})
