import { expect, test } from 'vitest'
import { isMigrated } from '../../../db/queries/instances/is-migrated.ts'
import { askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { handleOperateMachine } from '../../../workers/handlers/operate-machine.ts'
import { handlePowerInstance } from '../../../workers/handlers/power-instance.ts'
import { createEntryWorker, entryOf, overlapsOf, powerOf } from '../../support/entry-world.ts'
import { instanceOf, moveSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { addOne } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

/** Sites that were removed and added again since a machine was migrated. */
const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { use } = world.inventory
const worker = createEntryWorker(db, [handlePowerInstance, handleOperateMachine], use)

const migrated = async (ref: string) => {
  const entry = await world.ready(ref)
  expect(await world.verify(entry.id)).toMatchObject({ state: 'succeeded' })
  return entryOf(db, entry.id)
}

const powerOn = async (ref: string) => {
  const { id } = await instanceOf(db, 'vc', ref)
  const payload = { instance: id, verb: 'start', force: false }
  return worker.finish(
    await addOne(db, { kind: 'power-instance', payload, subject: { type: 'instance', id } }),
  )
}

/** What its removal and its registration leave of a site: nothing that was known but its name. */
const addAgain = async (role: 'source' | 'target', name: string, lies: string) => {
  await db`delete from entry`
  await moveSite(db, { name, role }, { endpoint: lab.endpoint(lies) })
  const [site] = await db<{ id: string }[]>`
    update site set created_at = now(), identity = null, cursor = null, synced_at = null,
      full_synced_at = null where role = ${role} and name = ${name} returning id`
  await db`delete from ${db(role === 'target' ? 'machine' : 'instance')}
    where ${db(role === 'target' ? 'target_id' : 'site_id')} = ${site?.id ?? ''}::uuid`
}

test('a verified copy starts although its source was registered again and is switched off for good', async () => {
  const { machineRef } = await migrated('vm-102')
  await world.inventory.sync('cloud', { role: 'target' })
  await addAgain('source', 'vc', 'vcenter')
  await world.inventory.sync('vc')
  await db`update site set connectivity = 'cannot-connect' where name = 'vc'`
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', call: 'power', site: 'vcenter', code: 'platform-unreachable', failure: 'unknown' },
  })
  const [machine] = await db<{ id: string }[]>`select id from machine where ref = ${machineRef}`
  const { operation } = await db.begin((tx) =>
    askOperation(tx, {
      ...{ machineId: machine?.id ?? '', kind: 'restart', force: true, params: {}, onConflict: 'reject' },
      ...{ cause: 'person', by: 'ann', deadlineSeconds: 60, waitSeconds: 60 },
    }),
  )
  expect(await worker.finish(operation.jobId ?? '')).toMatchObject({ state: 'succeeded' })
  await lab.admin('DELETE /lab/faults')
  expect(await overlapsOf(lab)).toEqual([])
})

const isKnownMigrated = async (ref: string) =>
  (
    await db<
      { migrated: boolean }[]
    >`select ${isMigrated(db)} as migrated from instance i where i.ref = ${ref}`
  )[0]?.migrated

test('an instance is known as migrated when its source and its target were both registered again', async () => {
  const { machineRef } = await migrated('vm-104')
  await addAgain('target', 'cloud', 'cloud')
  await addAgain('source', 'vc', 'vcenter')
  await world.inventory.sync('vc')
  expect(await isKnownMigrated('vm-104')).toBe(true)
  await world.inventory.sync('cloud', { role: 'target' })
  expect(await isKnownMigrated('vm-104')).toBe(true)
  await world.to.done(`POST /instances/${machineRef}/power`, { verb: 'stop' })
  await world.to.done(`DELETE /instances/${machineRef}`)
  await world.inventory.sync('cloud', { role: 'target' })
  expect(await isKnownMigrated('vm-104')).toBe(false)
})

test('an instance is known as migrated when its target was registered again, until its copy is seen to go', async () => {
  const { machineRef } = await migrated('vm-103')
  await addAgain('target', 'cloud', 'cloud')
  expect(await isKnownMigrated('vm-103')).toBe(true)
  await world.inventory.sync('cloud', { role: 'target' })
  expect(await isKnownMigrated('vm-103')).toBe(true)
  await world.to.done(`POST /instances/${machineRef}/power`, { verb: 'stop' })
  await world.to.done(`DELETE /instances/${machineRef}`)
  await world.inventory.sync('cloud', { role: 'target' })
  expect(await isKnownMigrated('vm-103')).toBe(false)
  expect(await powerOn('vm-103')).toMatchObject({ state: 'succeeded' })
})

// promise: one-copy
test('a source stays off when another platform has been registered under the name of its target', async () => {
  const { machineRef } = await migrated('vm-101')
  // There is no machine of that id.
  await addAgain('target', 'cloud', 'vcenter')
  expect(await powerOn('vm-101')).toMatchObject({ state: 'failed', error: { code: 'migrated' } })
  expect(await powerOf(world.to, machineRef ?? '')).toBe('on')
  expect(await overlapsOf(lab)).toEqual([])
})
