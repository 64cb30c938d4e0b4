import { expect, test } from 'vitest'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import { jobOf } from '../../support/ledger.ts'
import { createOperatingWorld } from '../../support/operating.ts'

/** Done between the look of an undo and what it writes down of that: the worker stood still there. */
const between: { step?: () => Promise<void> } = {}
const alter = (platform: Platform): Platform => {
  const { power } = platform.ports
  if (!power) return platform
  const look: typeof power.power = async (call, ref) => {
    const seen = await power.power(call, ref)
    const { step } = between
    if (step && call.name.includes('/undo/')) {
      delete between.step
      await step()
    }
    return seen
  }
  return { ...platform, ports: { ...platform.ports, power: { ...power, power: look } } }
}
const world = await createOperatingWorld({ alter })
const { db, lab, site } = world

test('who loses the lease between the look of an undo and its note writes down nothing', async () => {
  await site.done('POST /instances/vm-101/power', { verb: 'stop' })
  const machine = await world.machine('vm-101', 'off')
  await world.pace(60)
  const start = await world.ask(machine, 'start')
  await world.turn(start)
  await world.cancel(start)
  const jobId = (await world.operation(start.id)).jobId ?? ''
  between.step = async () => {
    await db`update job set lease_epoch = lease_epoch + 1 where id = ${jobId}::uuid`
    // A newer operation has been through meanwhile.
    await db`update machine set power = 'suspended', seen_at = now() - interval '1 minute' where id = ${machine}::uuid`
  }
  const before = await world.row(machine)
  const undoing = world.worker.follow(jobId)
  await world.pace(0)
  await lab.pass(200_000)
  await undoing
  expect(between.step).toBeUndefined()
  const after = await world.row(machine)
  expect(after.power).toBe('suspended')
  expect(after.seenAt.getTime()).toBeLessThan(before.seenAt.getTime())
  expect((await jobOf(db, jobId)).state).toBe('running')
})
