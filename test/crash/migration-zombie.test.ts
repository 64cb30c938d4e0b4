import { beforeAll, beforeEach, expect, test } from 'vitest'
import { nudge } from '../../src/ledger/jobs/nudge.ts'
import { createSealer } from '../../src/seal/seal.ts'
import { placeEntry, powerOf, sendTo } from '../support/entry-world.ts'
import { type Fleet, onEachFleet } from '../support/fleet.ts'
import { checkInvariants } from '../support/invariants.ts'
import { createLab, type TestLab } from '../support/lab.ts'
import { effectsOf, jobOf } from '../support/ledger.ts'
import type { TestProcess } from '../support/processes.ts'
import { createVerifyWorld, type VerifyWorld } from '../support/verify-world.ts'
import { until } from '../support/wait.ts'

/** It says so itself, and then has done whatever it wanted to. */
const wake = async (zombie: TestProcess) => {
  zombie.resume()
  await until(() => zombie.lines.some((line) => line.includes('the outcome was refused')), {
    what: 'the zombie to notice that it is one',
    withinMs: 60_000,
  })
}

/** Pauses between two looks at a machine are counted, not measured: nobody has to wait them out. */
const endsSoon = (fleet: Fleet, id: string) =>
  until(
    async () => {
      await fleet.db`update job set wait_until = now()
        where id = ${id}::uuid and state = 'waiting' and wait_until > now()`
      return (await jobOf(fleet.db, id)).finishedAt !== null
    },
    { what: 'the job to end', withinMs: 120_000, everyMs: 100 },
  )

/** Freezes one worker at a point of a job, lets another one end the job, and the first one wake up after `meanwhile`. */
const outlive = async (
  fleet: Fleet,
  point: 'target-before-start' | 'undo-before-change',
  given: { readonly send: () => Promise<string>; readonly meanwhile: () => Promise<unknown> },
) => {
  const zombie = await fleet.worker(`stop:${point}`)
  const id = await given.send()
  nudge(fleet.db)
  await zombie.frozen()
  const heir = await fleet.worker()
  await endsSoon(fleet, id)
  const job = await jobOf(fleet.db, id)
  await given.meanwhile()
  await wake(zombie)
  await Promise.all([zombie.crash(), heir.stop()])
  expect(await checkInvariants(fleet.db)).toEqual([])
  return job
}

await onEachFleet(
  'SIGSTOP of a worker right before it changes the power',
  { workers: 0, anyBell: true },
  (fleet) => {
    let lab: TestLab
    let world: VerifyWorld
    const fault = (more: Record<string, unknown>) =>
      lab.admin('POST /lab/faults', { kind: 'error', site: 'cloud', ...more })
    beforeAll(async () => {
      lab = await createLab()
      world = await createVerifyWorld(fleet.db, lab, { sealer: createSealer('5e'.repeat(32)) })
      await world.setBatch({ config: { post_migration_retries: 0 } })
      // Only what this test sends is done.
      await fleet.db`update batch set state = 'stopped'`
    })
    beforeEach(() => lab.admin('DELETE /lab/faults'))

    // promise: one-copy
    test('a target that another one has started, and that was stopped since, stays off', async () => {
      const { id, machineRef } = await world.ready('vm-101')
      const machine = machineRef ?? ''
      const job = await outlive(fleet, 'target-before-start', {
        send: () => sendTo(world, id, 'final-verify'),
        meanwhile: async () => {
          expect(await powerOf(world.to, machine)).toBe('on')
          await world.to.done(`POST /instances/${machine}/power`, { verb: 'stop' })
        },
      })
      expect(job).toMatchObject({ state: 'succeeded' })
      expect(await powerOf(world.to, machine)).toBe('off')
    })

    test('a source that another one has brought back, and that was stopped since, stays off', async () => {
      const { id, machineRef } = await placeEntry(world, 'vm-102')
      await fault({ call: 'write', machine: machineRef, code: 'platform-permission', failure: 'refused' })
      const job = await outlive(fleet, 'undo-before-change', {
        send: () => sendTo(world, id, 'cutover-instance'),
        meanwhile: async () => {
          expect(await powerOf(world.from, 'vm-102')).toBe('on')
          await world.from.done('POST /instances/vm-102/power', { verb: 'stop' })
        },
      })
      expect(job).toMatchObject({ state: 'failed', error: { code: 'platform-permission' } })
      expect((await effectsOf(fleet.db, job.id)).every(({ state }) => state === 'undone')).toBe(true)
      expect(await powerOf(world.from, 'vm-102')).toBe('off')
    })

    test('a target that another one has stopped, and that was started since, goes on running', async () => {
      const { id, machineRef } = await world.ready('vm-104')
      const machine = machineRef ?? ''
      const job = await outlive(fleet, 'undo-before-change', {
        send: async () => {
          await fault({ call: 'guest', machine, code: 'platform-permission', failure: 'refused' })
          return sendTo(world, id, 'final-verify')
        },
        meanwhile: async () => {
          expect(await powerOf(world.to, machine)).toBe('off')
          await world.to.done(`POST /instances/${machine}/power`, { verb: 'start' })
        },
      })
      expect(job).toMatchObject({ state: 'failed' })
      expect(await powerOf(world.to, machine)).toBe('on')
    })
  },
)
