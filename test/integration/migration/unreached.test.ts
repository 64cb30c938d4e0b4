import { afterEach, describe, expect, test } from 'vitest'
import { differences, entryOf, overlapsOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to, worker } = world

/** As many times as one turn asks before it comes back later. */
const turnTries = 4

/** Nothing was sent, as when a platform is restarted: the call came to nothing, and the platform has said nothing. */
const unreached = (rule: Record<string, unknown>, code = 'platform-unreachable') =>
  lab.admin('POST /lab/faults', { kind: 'error', failure: 'refused', code, times: 1, ...rule })

const callsOf = async (call: string, machine: string): Promise<number> => {
  const { json } = await lab.admin(`GET /lab/calls?call=${call}&machine=${machine}`)
  return (json as { calls: unknown[] }).calls.length
}

const expectStruck = async (struck: number): Promise<void> => {
  const { json } = await lab.admin('GET /lab/faults')
  expect((json as { faults: unknown[] }).faults).toMatchObject([{ struck }])
}

afterEach(() => lab.admin('DELETE /lab/faults'))

describe('a target that is away when its machine is to be started', () => {
  test.each([
    ['is not reached', 'vm-101', 'platform-unreachable'],
    ['is not reached in time', 'vm-102', 'platform-timeout'],
  ])('%s: it has refused nothing, and nobody has to decide', async (_how, ref, code) => {
    await world.setBatch({ config: { post_migration_retries: 0 } })
    const { id, machineRef } = await world.ready(ref)
    await unreached({ call: 'start', site: 'cloud', machine: machineRef }, code)
    expect(await world.verify(id)).toMatchObject({ state: 'succeeded' })
    await expectStruck(1)
    expect(await entryOf(db, id)).toMatchObject({ state: 'finished', retries: 0 })
    expect(await powerOf(to, machineRef ?? '')).toBe('on')
    expect(await overlapsOf(lab)).toEqual([])
  })
})

test('a guest whose platform is not reached when it is to go is asked again: no plug is pulled', async () => {
  const { id } = await placeEntry(world, 'vm-103')
  await unreached({ call: 'shutdown', site: 'vcenter', machine: 'vm-103' })
  const job = await worker.finish(await sendTo(world, id, 'cutover-instance'))
  await expectStruck(1)
  expect(job).toMatchObject({ state: 'succeeded' })
  expect(await powerOf(from, 'vm-103')).toBe('off')
  expect(await callsOf('stop', 'vm-103')).toBe(0)
})

test('a source that is away when it is asked what has changed is asked again: no disk is copied whole', async () => {
  const { id } = await placeEntry(world, 'vm-104')
  const sync = async () => worker.finish(await sendTo(world, id, 'import-instance'))
  const whole = await sync()
  await unreached({ call: 'changed-blocks', site: 'vcenter', machine: 'vm-104', times: turnTries })
  const job = await sync()
  await expectStruck(turnTries)
  expect(job).toMatchObject({ state: 'succeeded', result: { cycle: 2 } })
  expect(Number(job.result?.bytes)).toBeLessThan(Number(whole.result?.bytes) / 2)
  expect(await differences(world, await entryOf(db, id))).toEqual([])
})
