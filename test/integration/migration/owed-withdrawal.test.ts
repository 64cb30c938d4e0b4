import { expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { countBusyEntries } from '../../../db/queries/batches/list-batches.ts'
import { deleteEndedEntries } from '../../../db/queries/batches/write-batch.ts'
import { actOnEntry, removeEntry } from '../../../src/migration/entry/entry-verbs.ts'
import { driveEntry, lookNow } from '../../support/drive-entry.ts'
import { entryOf, powerOf } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const batchId = world.batch.id

const act = (id: string, verb: 'cancel' | 'retry') =>
  db.begin((tx) => actOnEntry(tx as Tx, { id, by: 'test', verb, force: true, cleanup: false }))
/** Takes it off the list, with its copy. */
const remove = (id: string) => db.begin((tx) => removeEntry(tx as Tx, { id, by: 'test', cleanup: true }))
const deleteEnded = () => db.begin((tx) => deleteEndedEntries(tx as Tx, batchId, 10)) as Promise<number>

/** Takes its job to its end, and gives that. */
const endJob = async (id: string) => {
  const { jobId } = await entryOf(db, id)
  const { state, kind } = await world.worker.finish(jobId ?? '')
  return { jobId, ended: `${kind} ${state}` }
}

// promise: source-given-back
test('a withdrawal is tried until it is done, and nobody drops it meanwhile', async () => {
  const { id } = await world.ready('vm-101')
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', call: 'find-owned', site: 'cloud' },
    ...{ code: 'platform-refused', failure: 'refused' },
  })
  await act(id, 'cancel')
  const tried = new Set<string | null>()
  for (let nth = 0; nth < 3; nth += 1) {
    const { jobId, ended } = await endJob(id)
    expect(ended).toBe('withdraw-entry failed')
    tried.add(jobId)
    await expect(act(id, 'retry')).rejects.toMatchObject({ code: 'entry-being-put-right' })
    await expect(remove(id)).rejects.toMatchObject({ code: 'entry-migrating' })
    expect([await countBusyEntries(db, batchId), await deleteEnded()]).toEqual([1, 0])
    // Long after: its moment alone brings it back.
    await lookNow(world, { endedWithinSeconds: 0 })
  }
  expect(tried.size).toBe(3)
  await lab.admin('DELETE /lab/faults')
  expect((await endJob(id)).ended).toBe('withdraw-entry succeeded')
  expect(await powerOf(world.from, 'vm-101')).toBe('on')
  expect(await entryOf(db, id)).toMatchObject({ state: 'canceled', sourceStoppedAt: null, jobId: null })
  expect(await countBusyEntries(db, batchId)).toBe(0)
  expect(await remove(id)).toBe('leaving')
  await lookNow(world)
  expect((await endJob(id)).ended).toBe('withdraw-entry succeeded')
  expect(await db`select from entry where id = ${id}::uuid`).toEqual([])
})

test('a finished entry, whose source stays off for good, holds nobody back', async () => {
  const { id } = await world.ready('vm-103')
  await driveEntry(world, id, ['finished'])
  expect((await entryOf(db, id)).sourceStoppedAt).not.toBeNull()
  expect(await countBusyEntries(db, batchId)).toBe(0)
  expect(await deleteEnded()).toBe(1)
  expect(await db`select 1 from entry where id = ${id}::uuid`).toEqual([])
  expect(await powerOf(world.from, 'vm-103')).toBe('off')
})
