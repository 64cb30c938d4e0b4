import { expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { findInstanceById } from '../../../db/queries/instances/find-instance.ts'
import { actOnEntry, type EntryVerbAsk } from '../../../src/migration/entry/entry-verbs.ts'
import { checkEntries } from '../../support/copy-invariants.ts'
import { entryOf, powerOf } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)

const act = (id: string, verb: EntryVerbAsk['verb'], force = false) =>
  db.begin((tx) => actOnEntry(tx as Tx, { id, by: 'test', verb, force, cleanup: false }))

/** An entry ready to be verified, whose instance is held as a start of its batch holds it. */
const held = async (ref: string) => {
  const entry = await world.ready(ref)
  await db`update instance set frozen_by = ${`batch/${world.batch.name}`} where id = ${entry.instanceId}::uuid`
  return entry
}

test('what made an entry fail is accepted by its retry, and the instance stays as it was recorded', async () => {
  const { id, instanceId, facts } = await held('vm-102')
  await lab.admin('PATCH /lab/sites/vcenter/instances/vm-102', { name: 'renamed' })
  await world.verify(id)
  const failed = await entryOf(db, id)
  expect(failed).toMatchObject({ state: 'error', reason: 'name-changed' })
  expect(failed.baseline).not.toBeNull()
  await world.worker.finish(failed.jobId ?? '')
  expect(await findInstanceById(db, instanceId)).toMatchObject({
    facts: { name: facts.name },
    pending: { type: 'facts', facts: { name: 'renamed' } },
  })
  await act(id, 'retry')
  expect(await entryOf(db, id)).toMatchObject({
    state: 'waiting',
    facts: { target_name: 'renamed', running: true },
    running: true,
    // What it answered before is no measure of what runs now.
    baseline: null,
  })
})

test('a service that ran is to run after a cancel and a retry, whatever a sync sees in between', async () => {
  const { id, instanceId } = await held('vm-104')
  await act(id, 'cancel', true)
  await world.inventory.sync(world.source.name)
  expect(await powerOf(world.from, 'vm-104')).toBe('off')
  expect((await findInstanceById(db, instanceId))?.facts.running).toBe(true)
  expect(await checkEntries(world)).toEqual([])
  await world.worker.finish((await entryOf(db, id)).jobId ?? '')
  expect(await powerOf(world.from, 'vm-104')).toBe('on')
  expect(await entryOf(db, id)).toMatchObject({ sourceStoppedAt: null, baseline: null })
  expect((await findInstanceById(db, instanceId))?.frozenBy).toBeNull()
  await world.from.done('POST /instances/vm-104/power', { verb: 'stop' })
  await world.inventory.sync(world.source.name)
  expect((await findInstanceById(db, instanceId))?.facts.running).toBe(false)
  await act(id, 'retry')
  expect(await entryOf(db, id)).toMatchObject({ state: 'waiting', running: true })
})
