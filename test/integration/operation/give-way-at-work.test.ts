import { expect, test } from 'vitest'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import { effectsOf, jobOf } from '../../support/ledger.ts'
import { createOperatingWorld } from '../../support/operating.ts'

/** Done while a worker asks the platform for something, before it hears of that. */
const meanwhile: { step?: () => Promise<unknown> } = {}
const alter = (platform: Platform): Platform => {
  const { power } = platform.ports
  if (!power) return platform
  const shutdownGuest: typeof power.shutdownGuest = async (call, ref) => {
    const task = await power.shutdownGuest(call, ref)
    await meanwhile.step?.()
    return task
  }
  return { ...platform, ports: { ...platform.ports, power: { ...power, shutdownGuest } } }
}
const world = await createOperatingWorld({ alter })
const { db, lab } = world

const hanging = async (ref: string) => {
  await lab.admin(`PATCH /lab/sites/vcenter/instances/${ref}`, { shutdown: 'hangs' })
  const machine = await world.machine(ref)
  return { machine, stop: await world.ask(machine, 'stop') }
}
const expectCanceled = async (jobId: string) => {
  const job = await jobOf(db, jobId)
  expect([job.state, job.error]).toEqual(['canceled', null])
  for (const { state } of await effectsOf(db, jobId)) expect(state).toBe('undone')
}

test('the job of an operation that is given up while a worker is at it ends as canceled', async () => {
  const { stop } = await hanging('vm-101')
  meanwhile.step = () => world.cancel(stop)
  expect(await world.turn(stop)).toMatchObject({ state: 'canceled' })
  await expectCanceled(stop.jobId ?? (await world.operation(stop.id)).jobId ?? '')
})

test('the job of an operation that gives way while a worker is at it ends as canceled', async () => {
  const { machine, stop } = await hanging('vm-102')
  meanwhile.step = () => world.ask(machine, 'stop', { force: true })
  expect(await world.turn(stop)).toMatchObject({ state: 'superseded' })
  await expectCanceled((await world.operation(stop.id)).jobId ?? '')
})
