import { expect, test } from 'vitest'
import { ImaginedSite, platformProblem } from '../../support/imagined-site.ts'
import { createInventoryWorker, instanceOf, makeSite, siteOf, warningsOf } from '../../support/inventory.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

let made = 0
const setUp = async (count: number, settings: Record<string, unknown> = {}) => {
  made += 1
  const name = `vc-${made}`
  const world = new ImaginedSite()
  const base = made * 10_000
  const ref = (index: number) => `vm-${base + index}`
  for (let index = 1; index <= count; index += 1) world.put({ ref: ref(index) })
  await makeSite(db, { name, connectivity: 'ok', settings })
  const worker = createInventoryWorker(db, world.open)
  const hide = (index: number) => {
    world.hidden.add(ref(index))
    world.broken.set(ref(index), platformProblem('platform-permission', 'The account may not see it.'))
    world.touch(ref(index))
  }
  const show = (index: number) => {
    world.hidden.delete(ref(index))
    world.broken.delete(ref(index))
    world.touch(ref(index))
  }
  return { name, world, ref, worker, hide, show }
}

test.each(['full', 'delta'] as const)(
  'what an account may not see any more is not gone: %s',
  async (mode) => {
    const { name, worker, world, ref, hide, show } = await setUp(5)
    await worker.sync(name)
    hide(2)
    world.remove(ref(3))
    const { state, result } = await worker.sync(name, { mode })
    expect([state, result.reading, result.vanished, result.problems]).toEqual(['succeeded', mode, 1, 1])
    expect(await instanceOf(db, name, ref(2))).toMatchObject({
      goneAt: null,
      problem: { code: 'platform-permission' },
    })
    expect((await instanceOf(db, name, ref(3))).goneAt).not.toBeNull()
    expect((await warningsOf(db, name)).map(({ type }) => type)).toEqual(['instances-not-read'])
    show(2)
    expect((await worker.sync(name)).result).toMatchObject({ problems: 0, vanished: 0, appeared: 0 })
    expect(await instanceOf(db, name, ref(2))).toMatchObject({ goneAt: null, problem: null })
    expect(await warningsOf(db, name)).toEqual([])
  },
)

test('what a reading has only lost sight of is recorded as it is', async () => {
  const { name, worker, world, ref } = await setUp(3)
  await worker.sync(name)
  world.put({ ref: ref(1), cpus: 12 })
  world.hidden.add(ref(1))
  expect((await worker.sync(name, { mode: 'full' })).result).toMatchObject({ vanished: 0, changed: 1 })
  expect(await instanceOf(db, name, ref(1))).toMatchObject({ goneAt: null, facts: { cpus: 12 } })
})

test('what was moved out of the scopes goes, although it can be seen', async () => {
  const { name, worker, world, ref } = await setUp(3, { scopes: ['/Paris/vm/shop'] })
  await worker.sync(name)
  world.hidden.add(ref(1))
  expect((await worker.sync(name, { mode: 'full' })).result).toMatchObject({ vanished: 1 })
})

test('with very many hidden nothing is concluded, and the next reading is a whole one', async () => {
  const { name, worker, world, ref, hide } = await setUp(260)
  world.chunkSize = 100
  await worker.sync(name)
  world.remove(ref(260))
  for (let index = 1; index <= 250; index += 1) hide(index)
  const { result } = await worker.sync(name)
  expect(result).toMatchObject({ reading: 'delta', vanished: 0, instances: 260, problems: 200 })
  expect((await siteOf(db, name)).cursor).toBeNull()
})

test('a source that is lost while its missing machines are asked for concludes nothing', async () => {
  const { name, worker, world, ref } = await setUp(4)
  await worker.sync(name)
  world.hidden.add(ref(1))
  world.broken.set(ref(1), platformProblem('platform-unreachable', 'The line is cut.'))
  world.beforeChunk = () => {
    world.probeError = platformProblem('platform-unreachable', 'The line is cut.')
  }
  const { state } = await worker.sync(name, { mode: 'full' })
  expect(state).toBe('ready')
  expect(await siteOf(db, name)).toMatchObject({ revision: 1, syncError: { code: 'platform-unreachable' } })
  expect((await instanceOf(db, name, ref(1))).goneAt).toBeNull()
})

test('a machine that cannot be reached is its own problem while its source answers', async () => {
  const { name, worker, world, ref } = await setUp(4)
  await worker.sync(name)
  world.broken.set(ref(1), platformProblem('platform-unreachable'))
  world.touch(ref(1))
  for (const round of [1, 2])
    expect([round, (await worker.sync(name)).result]).toMatchObject([round, { problems: 1, vanished: 0 }])
  expect(await instanceOf(db, name, ref(1))).toMatchObject({ goneAt: null })
  world.broken.clear()
  expect((await worker.sync(name)).result).toMatchObject({ reading: 'delta', problems: 0 })
})
