import { expect, test } from 'vitest'
import { ImaginedSite } from '../../support/imagined-site.ts'
import {
  createInventoryWorker,
  eventsOf,
  instanceOf,
  instancesOf,
  makeSite,
  siteOf,
} from '../../support/inventory.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

let made = 0
const setUp = async (count = 4) => {
  made += 1
  const name = `vc-${made}`
  const world = new ImaginedSite()
  // No two sources of these tests have the same machines unless a test says so.
  const base = made * 1_000
  const ref = (index: number) => `vm-${base + index}`
  for (let index = 1; index <= count; index += 1) world.put({ ref: ref(index) })
  await makeSite(db, { name, connectivity: 'ok' })
  return { name, world, ref, worker: createInventoryWorker(db, world.open) }
}

test('the first sync brings everything and tells it in one event', async () => {
  const { name, worker, ref } = await setUp()
  const { state, result } = await worker.sync(name)
  expect(state).toBe('succeeded')
  expect(result).toMatchObject({ reading: 'full', revision: 1, instances: 4, appeared: 4, vanished: 0 })
  const site = await siteOf(db, name)
  expect(site).toMatchObject({ revision: 1, syncError: null, syncFailures: 0 })
  expect(await instancesOf(db, name)).toHaveLength(4)
  const row = await instanceOf(db, name, ref(1))
  expect(row).toMatchObject({
    goneAt: null,
    revision: 1,
    osType: 'linux',
    distribution: 'debian',
    ignored: null,
  })
  expect(row.rulesVersion).not.toBe('')
  expect(await eventsOf(db, name)).toEqual(['source.synced'])
  expect(await eventsOf(db, row.id)).toEqual([])
  for (const table of ['network', 'host', 'storage'])
    expect(await db`select name from ${db(table)} where site_id = ${site.id}::uuid`).toHaveLength(1)
  expect(await db`select from inventory_stage`).toHaveLength(0)
})

test('a sync that finds nothing new changes nothing, and costs a delta', async () => {
  const { name, worker, world } = await setUp()
  await worker.sync(name)
  const before = await instancesOf(db, name)
  const { result } = await worker.sync(name)
  expect(result).toMatchObject({ reading: 'delta', revision: 1, items: 0, appeared: 0, changed: 0 })
  await worker.sync(name, { mode: 'full' })
  expect(world.scans).toEqual(['full', 'delta', 'full'])
  expect(await instancesOf(db, name)).toEqual(before)
  expect((await siteOf(db, name)).revision).toBe(1)
})

test.each(['full', 'delta'] as const)(
  'a %s sync tells of what came, changed, went and came back',
  async (mode) => {
    const { name, worker, world, ref } = await setUp()
    await worker.sync(name)
    const [changing, going] = [await instanceOf(db, name, ref(1)), await instanceOf(db, name, ref(2))]
    world.put({ ref: ref(1), name: 'renamed', cpus: 8 })
    world.remove(ref(2))
    world.put({ ref: ref(9) })
    expect((await worker.sync(name, { mode })).result).toMatchObject({
      ...{ reading: mode, revision: 2, instances: 4, appeared: 1, changed: 1, vanished: 1, returned: 0 },
    })
    expect(await instanceOf(db, name, ref(1))).toMatchObject({
      id: changing.id,
      name: 'renamed',
      revision: 2,
    })
    expect((await instanceOf(db, name, ref(2))).goneAt).not.toBeNull()
    expect(await eventsOf(db, changing.id)).toEqual(['instance.changed'])
    expect(await eventsOf(db, (await instanceOf(db, name, ref(9))).id)).toEqual(['instance.appeared'])
    world.put({ ref: ref(2) })
    expect((await worker.sync(name, { mode })).result).toMatchObject({
      revision: 3,
      instances: 5,
      returned: 1,
    })
    expect(await instanceOf(db, name, ref(2))).toMatchObject({ id: going.id, goneAt: null })
    expect(await eventsOf(db, going.id)).toEqual(['instance.vanished', 'instance.returned'])
  },
)

test.each(['full', 'delta'] as const)(
  'a machine that was registered again keeps its record in a %s sync, and what a person said of it',
  async (mode) => {
    const { name, worker, world, ref } = await setUp()
    await worker.sync(name)
    const before = await instanceOf(db, name, ref(1))
    await db`update instance set overrides = '{"comment": "mine"}' where id = ${before.id}::uuid`
    world.put({ ...before.facts, ref: ref(77) })
    world.remove(ref(1))
    expect((await worker.sync(name, { mode })).result).toMatchObject({ appeared: 0, changed: 1, vanished: 0 })
    const after = await instanceOf(db, name, ref(77))
    expect(after).toMatchObject({ id: before.id, goneAt: null, overrides: { comment: 'mine' } })
    expect(await instancesOf(db, name)).toHaveLength(4)
  },
)

test('a machine whose UUID changed keeps its record, and the change is told', async () => {
  const { name, worker, world, ref } = await setUp()
  await worker.sync(name)
  const uuid = '5fffffff-0000-4000-8000-0000000000aa'
  world.put({ ref: ref(1), uuid })
  await worker.sync(name)
  const row = await instanceOf(db, name, ref(1))
  expect([row.uuid, row.facts.uuid]).toEqual([uuid, uuid])
  const [event] = await db<
    { detail: { kinds: string[] } }[]
  >`select detail from event where subject_id = ${row.id}`
  expect(event?.detail.kinds).toContain('identity-changed')
})

test('two copies of one vanished machine do not share its record', async () => {
  const { name, worker, world, ref } = await setUp()
  await worker.sync(name)
  const { id, facts } = await instanceOf(db, name, ref(1))
  world.remove(ref(1))
  world.put({ ...facts, ref: ref(50) })
  world.put({ ...facts, ref: ref(51) })
  expect((await worker.sync(name, { mode: 'full' })).state).toBe('succeeded')
  const [one, two] = [await instanceOf(db, name, ref(50)), await instanceOf(db, name, ref(51))]
  expect([one.id, two.id].filter((other) => other === id)).toHaveLength(1)
  expect([one.ignored, two.ignored].sort()).toEqual(['duplicate-uuid', null])
})
