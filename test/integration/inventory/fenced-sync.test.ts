import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { FencedError } from '../../../src/errors.ts'
import { ImaginedSite, platformProblem } from '../../support/imagined-site.ts'
import { createInventoryWorker, instancesOf, makeSite, siteOf, warningsOf } from '../../support/inventory.ts'
import { addOne, contextOf, mustClaim } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

const setUp = async (name: string) => {
  const world = new ImaginedSite()
  const at = (await db`select from site`).count * 1_000
  for (const index of [1, 2, 3]) world.put({ ref: `vm-${at + index}` })
  await makeSite(db, { name, connectivity: 'ok' })
  const worker = createInventoryWorker(db, world.open)
  await worker.sync(name)
  return { world, worker, last: `vm-${at + 3}` }
}

test('what a job writes at the end of its work is taken back when the lease was lost on the way', async () => {
  const job = await mustClaim(db, await addOne(db))
  await makeSite(db, { name: 'fenced', connectivity: 'ok' })
  const writing = contextOf(db, job).lateFencedTransaction(async (tx) => {
    await tx`update site set revision = 99 where name = 'fenced'`
    await db`update job set lease_epoch = lease_epoch + 1 where id = ${job.id}::uuid`
  })
  await expect(writing).rejects.toBeInstanceOf(FencedError)
  expect((await siteOf(db, 'fenced')).revision).toBe(0)
})

test('a reading that another sync has overtaken concludes nothing', async () => {
  const { world, worker, last } = await setUp('overtaken')
  const before = await instancesOf(db, 'overtaken')
  world.remove(last)
  world.beforeChunk = async () => {
    await db`update site set sync_job_id = ${uuidv7()}::uuid where name = 'overtaken'`
  }
  const { state, error } = await worker.sync('overtaken', { mode: 'full' })
  expect([state, error.code]).toEqual(['ready', 'sync-overtaken'])
  expect(await instancesOf(db, 'overtaken')).toEqual(before)
})

test('where a machine was shown without its id, none is taken for gone', async () => {
  const { world, worker, last } = await setUp('nameless')
  world.instances.set('', { ...world.instances.get(last)!, ref: '' })
  world.broken.set('', platformProblem('platform-answer-invalid', 'It has no id.'))
  world.remove(last)
  const { result } = await worker.sync('nameless', { mode: 'full' })
  expect(result).toMatchObject({ vanished: 0, problems: 1, instances: 3 })
  expect((await warningsOf(db, 'nameless')).map(({ type }) => type)).toEqual(['instances-not-read'])
  world.broken.clear()
  world.instances.delete('')
  expect((await worker.sync('nameless')).result).toMatchObject({ reading: 'full', vanished: 1 })
})
