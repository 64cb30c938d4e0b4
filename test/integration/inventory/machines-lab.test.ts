import { expect, test } from 'vitest'
import type { MachineRow } from '../../../db/schema/operation.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { createInventoryWorker, makeSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'

const setUp = async () => {
  const { db } = await createDatabase()
  const lab = await createLab()
  const site = await lab.signIn('cloud')
  await makeSite(db, {
    ...{ role: 'target', name: 'cloud', connectivity: 'ok', quiet: true },
    ...{ endpoint: lab.endpoint('cloud'), password: lab.password },
  })
  const worker = createInventoryWorker(db, openLab)
  const sync = async (mode: 'full' | 'delta' = 'delta') => {
    const done = await worker.sync('cloud', { role: 'target', mode })
    expect([done.state, done.error]).toEqual(['succeeded', {}])
    return done.result
  }
  const machine = async (ref: string) => {
    const [row] = await db<MachineRow[]>`select * from machine where ref = ${ref}`
    return row
  }
  return { db, lab, site, sync, machine }
}

test('what the target says of a machine is what its row says, and its project too', async () => {
  const { site, sync, machine } = await setUp()
  await sync()
  const { json } = await site.call('GET /instances/vm-1/power')
  expect(await machine('vm-1')).toMatchObject({
    ...{ power: (json as { state: string }).state, host: 'node-1', project: 'default', origin: 'adopted' },
    savedState: null,
  })
})

test('a target tells that a machine is off, and nothing of the memory that was saved of it', async () => {
  const { db, site, sync, machine } = await setUp()
  await sync()
  const saved = await site.done('POST /instances/vm-1/save')
  expect(saved.state).toBe('succeeded')
  expect(await sync()).toMatchObject({ reading: 'delta', changed: 1 })
  expect(await machine('vm-1')).toMatchObject({ power: 'off', savedState: null })
  // What was noted by whoever has saved it stays known: no reading says otherwise.
  await db`update machine set saved_state = 's-1' where ref = 'vm-1'`
  expect(await sync('full')).toMatchObject({ changed: 0 })
  expect(await machine('vm-1')).toMatchObject({ power: 'off', savedState: 's-1' })
})

test('machines on a host that does not answer stay, and nobody says that they run', async () => {
  const { lab, sync, machine } = await setUp()
  await sync()
  await lab.admin('POST /lab/acts', { act: 'host-dead', site: 'cloud', host: 'node-1', mode: 'partition' })
  expect(await sync()).toMatchObject({ reading: 'delta', vanished: 0 })
  expect(await machine('vm-1')).toMatchObject({ power: 'unknown', goneAt: null })
  expect(await sync()).toMatchObject({ vanished: 0 })
  expect(await sync('full')).toMatchObject({ vanished: 0 })
  await lab.admin('POST /lab/acts', { act: 'host-back', site: 'cloud', host: 'node-1' })
  await sync()
  expect(await machine('vm-1')).toMatchObject({ power: 'on', goneAt: null })
})
