import { expect, test } from 'vitest'
import { actOnEntry } from '../../../src/migration/entry/entry-verbs.ts'
import { createCopyWorker } from '../../support/copy-worker.ts'
import { createEntryWorld, entryOf, placeEntry } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const world = await createEntryWorld(db, await createLab())
const worker = createCopyWorker(world)

const cancel = (id: string, cleanup: boolean) =>
  db.begin((tx) => actOnEntry(tx, { id, by: 'ada', verb: 'cancel', force: false, cleanup }))

test('what a cancel left on the target is taken away by a later one, once', async () => {
  const { id } = await placeEntry(world, 'vm-101')
  await cancel(id, false)
  const left = await entryOf(db, id)
  expect(left).toMatchObject({ state: 'canceled', machineRef: expect.any(String), jobId: null })
  const machine = () => world.to.call(`GET /instances/${left.machineRef}`)
  expect((await machine()).status).toBe(200)
  await expect(cancel(id, false)).rejects.toMatchObject({ code: 'entry-not-from-here' })
  expect(await cancel(id, true)).toMatchObject({ outcome: 'done' })
  await worker.finish((await entryOf(db, id)).jobId ?? '')
  expect((await machine()).status).toBe(404)
  expect(await entryOf(db, id)).toMatchObject({ state: 'canceled', machineRef: null, placement: null })
  await expect(cancel(id, true)).rejects.toMatchObject({ code: 'entry-not-from-here' })
})
