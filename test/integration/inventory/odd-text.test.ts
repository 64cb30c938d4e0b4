import { expect, test } from 'vitest'
import { ImaginedSite, platformProblem } from '../../support/imagined-site.ts'
import { createInventoryWorker, eventsOf, instanceOf, makeSite, siteOf } from '../../support/inventory.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

test('a name that is cut in the middle of a character stops no sync', async () => {
  const world = new ImaginedSite()
  world.put({ ref: 'vm-1' })
  world.put({ ref: 'vm-2' })
  await makeSite(db, { name: 'paris', connectivity: 'ok' })
  const worker = createInventoryWorker(db, world.open)
  await worker.sync('paris')
  const cutAt = (length: number) => `${'a'.repeat(length - 1)}\u{1f600} and on`
  const snapshot = { ref: 'snapshot-1', name: cutAt(80), created_at: null, memory: false, parent: null }
  world.put({ ref: 'vm-1', name: cutAt(100), snapshots: [snapshot] })
  world.put({ ref: 'vm-2', cpus: 12 })
  const { state, error, result } = await worker.sync('paris')
  expect([state, error, result.changed]).toEqual(['succeeded', {}, 2])
  const { id } = await instanceOf(db, 'paris', 'vm-1')
  const findings = await db<
    { evidence: string[] }[]
  >`select evidence from finding where instance_id = ${id}::uuid`
  expect(findings.flatMap(({ evidence }) => evidence).join(' ')).toContain('a\ufffd"')
})

test('an error whose text cannot be stored is recorded all the same', async () => {
  const world = new ImaginedSite()
  world.probeError = platformProblem('platform-authentication', 'No\0 \ud83d such user.')
  await makeSite(db, { name: 'lyon' })
  const worker = createInventoryWorker(db, world.open)
  await worker.run('check-connection', { role: 'source', name: 'lyon' })
  expect((await siteOf(db, 'lyon')).connectivity).toBe('authentication-error')
  expect(await eventsOf(db, 'lyon')).toContain('source.connectivity-changed')
})
