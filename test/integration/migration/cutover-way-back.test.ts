import { expect, test } from 'vitest'
import { createCopyWorker } from '../../support/copy-worker.ts'
import { createEntryWorld, entryOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { instanceOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'

/** A source that nobody could start again is not switched off. */
const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab, { config: { guest_shutdown_limit: '4s' } })
const worker = createCopyWorker(world)

/** A machine of somebody else on the target, with the UUID of an instance; a sync has seen it. */
const makeTwin = async (ref: string, name: string): Promise<string> => {
  const { uuid } = await instanceOf(db, 'vc', ref)
  const task = await world.to.done('POST /instances', {
    ...{ name, project: 'default', host: '', folder: '', cpus: 1, memory: 1024 ** 3, uuid },
    ...{ legacy_boot: false, secure_boot: false, nics: [], disks: [], owner: {} },
  })
  await world.inventory.sync('cloud', { role: 'target' })
  return task.result ?? ''
}

// promise: one-copy
test('a source is not switched off while another machine with its UUID runs: it could not be given back', async () => {
  const twin = await makeTwin('vm-101', 'replica')
  await world.to.done(`POST /instances/${twin}/power`, { verb: 'start' })
  const { id } = await placeEntry(world, 'vm-101')
  const job = await worker.finish(await sendTo(world, id, 'cutover-instance'))
  expect(job).toMatchObject({ state: 'failed', error: { code: 'runs-elsewhere' } })
  expect(job.error?.message).toContain(`replica (${twin}) of cloud`)
  expect(await powerOf(world.from, 'vm-101')).toBe('on')
  expect(await entryOf(db, id)).toMatchObject({ sourceStoppedAt: null })
})

test('a machine with its UUID that is off keeps no source from its cutover', async () => {
  await makeTwin('vm-102', 'spare')
  const { id } = await placeEntry(world, 'vm-102')
  expect(await worker.finish(await sendTo(world, id, 'cutover-instance'))).toMatchObject({
    state: 'succeeded',
  })
  expect(await powerOf(world.from, 'vm-102')).toBe('off')
})
